package main

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/accesslog"
	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/trial"
)

// requestFlags are the flags of `rlcheck run` that say what is sent, named as in curl.
type requestFlags struct {
	header, denied, allowed               []string
	method, data, host, Cacert, Cert, Key string
	UnixSocket, proxy                     string
	insecure, http2, PastCaches           bool
	// said are the settings that were read from the flags, as standard input can be read only once.
	said []scenario.Setting
	// Config are the header fields of a configuration.
	Config []scenario.Setting
	// Curl is the command of --from-curl. curled: it says the method.
	Curl   string
	curled bool
}

// Add declares the flags.
func (f *requestFlags) Add(fl *pflag.FlagSet) {
	fl.StringArrayVarP(&f.header, "header", "H", nil, "")
	fl.StringVarP(&f.method, "method", "X", "", "")
	fl.StringVarP(&f.data, "data", "d", "", "")
	fl.StringVar(&f.host, "host", "", "")
	fl.StringVar(&f.Cacert, "cacert", "", "")
	fl.StringVar(&f.Cert, "cert", "", "")
	fl.StringVar(&f.Key, "key", "", "")
	fl.BoolVar(&f.http2, "http2", false, "")
	fl.StringVar(&f.UnixSocket, "unix-socket", "", "")
	fl.StringVar(&f.proxy, "proxy", "", "")
	fl.BoolVar(&f.PastCaches, "past-caches", false, "")
	fl.StringVar(&f.Curl, "from-curl", "", "")
	fl.BoolVar(&f.insecure, "insecure", false, "")
}

// neverEmpty are the flags whose value must not be empty.
var neverEmpty = []string{"target", "limit", "partition", "redis", "method", "data", "host", "cacert", "cert",
	"key", "from-curl", "config", "unix-socket", "proxy"}

// settings returns the flags as overrides of a scenario's target. It reports every mistake. No message
// repeats a value.
func (f *requestFlags) settings(in io.Reader) ([]scenario.Setting, error) {
	out, err := f.fields(in)
	errs := []error{err}
	say := func(path, value, flag string) {
		if value != "" {
			out = append(out, scenario.Setting{Path: path, Value: value, Flag: flag})
		}
	}
	say("target.method", f.method, "--method")
	if f.data != "" {
		body, err := templateOf(f.data, in)
		if err != nil {
			errs = append(errs, fmt.Errorf("--data: %w", err))
		}
		out = append(out, formType,
			scenario.Setting{Path: "target.body", Value: body, Flag: "--data", Secret: true})
		if f.method == "" && !f.curled {
			say("target.method", http.MethodPost, "--data")
		}
	}
	if f.host != "" {
		if strings.ContainsAny(f.host, "/?#@ \t\r\n") {
			errs = append(errs, cli.Usagef("--host %q: a host is NAME or NAME:PORT (-t takes the URL)",
				f.host))
		}
		out = append(out, scenario.Setting{Path: headerPath, Field: "Host", Value: f.host, Flag: "--host"})
	}
	if f.http2 {
		say("target.protocol", string(scenario.H2), "--http2")
	}
	say("target.unix_socket", scenario.Verbatim(f.UnixSocket), "--unix-socket")
	if f.proxy != "" {
		out = append(out, scenario.Setting{Path: "target.proxy", Value: scenario.Verbatim(f.proxy),
			Flag: "--proxy", Secret: strings.Contains(f.proxy, "@")})
	}
	denied, err := deniedSettings(f.denied)
	out, errs = append(out, denied...), append(errs, err)
	allowed, err := statusList(f.allowed)
	if err != nil {
		errs = append(errs, cli.Usagef("--allowed: %w", err))
	}
	say("allowed.status", allowed, "") // a list has no Flag
	if f.insecure {
		say("target.insecure", "true", "--insecure")
	}
	return out, errors.Join(errs...)
}

// statusList returns statuses and classes of them, such as 4xx, as a list in YAML; empty for none.
func statusList(words []string) (string, error) {
	statuses, err := accesslog.ParseStatuses(words)
	if err != nil || len(words) == 0 {
		return "", err
	}
	var list []string
	for _, status := range statuses {
		if status < 600 {
			list = append(list, strconv.Itoa(status))
		}
	}
	return "[" + strings.Join(list, ", ") + "]", nil
}

// Judged returns those of the settings, as PATH=VALUE, that matter when a recording is judged: the target,
// what answers mean, and the method, since an answer to HEAD has no body.
func (f *requestFlags) Judged() []string {
	var out []string
	for _, s := range f.said {
		if s.Path == "target.method" || s.Path == "target.url" || strings.HasSuffix(s.Path, ".status") {
			out = append(out, s.Path+"="+s.Value)
		}
	}
	return out
}

// headerPath is the path to the header fields of every request.
const headerPath = "target.header"

// formType is the Content-Type that curl gives a body if none is given.
var formType = scenario.Setting{Path: headerPath, Field: "Content-Type",
	Value: "application/x-www-form-urlencoded", Flag: "--data", Unset: true}

// fields returns the settings of --header.
func (f *requestFlags) fields(in io.Reader) ([]scenario.Setting, error) {
	var out []scenario.Setting
	var errs []error
	given := map[string]bool{"host": f.host != ""}
	for _, text := range f.header {
		s, err := fieldSetting(text, in)
		name := strings.ToLower(s.Field)
		if err == nil && given[name] {
			err = cli.Usagef("--header %q: the field is given twice, and is sent once (remove one)", s.Field)
		}
		given[name] = true
		out, errs = append(out, s), append(errs, err)
	}
	return out, errors.Join(errs...)
}

// notSent says why --header does not take some header fields. The scenario's decoder refuses the fields that
// frame a message, and that of the partition.
var notSent = map[string]string{
	"accept-encoding": "compressed answers cannot be read (leave the field out)",
	"x-cost":          "rlcheck writes the cost of a request in this field (write cost: in the scenario)",
}

// fieldSetting reads one --header.
func fieldSetting(text string, in io.Reader) (scenario.Setting, error) {
	name, value, found := strings.Cut(text, ":")
	value = strings.TrimSpace(value)
	s := scenario.Setting{Path: headerPath, Field: name, Flag: "--header " + name,
		Secret: secretField(name, value)}
	switch why := notSent[strings.ToLower(name)]; {
	case !found || name == "":
		return s, cli.Usagef("--header: the field has no name: a field is NAME: VALUE (write -H 'Accept: " +
			"text/html')")
	case why != "":
		return s, cli.Usagef("--header %q: %s", name, why)
	case value == "":
		return s, cli.Usagef("--header %q: the field has no value (write '%s: VALUE')", name, name)
	}
	var err error
	if s.Value, err = templateOf(value, in); err != nil {
		return s, fmt.Errorf("--header %q: %w", name, err)
	}
	s.Value = strings.TrimSpace(s.Value)
	switch {
	case strings.ContainsFunc(s.Value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		return s,
			cli.Usagef("--header %q: the value has a control character: a field is one line of text", name)
	case s.Value == "":
		return s, cli.Usagef("--header %q: %s is empty", name, value)
	}
	return s, nil
}

// openFields hold no secret, unless their value comes from a file or a variable. Their values also stand in
// answers, where a redaction would hide them.
var openFields = []string{"accept", "accept-language", "cache-control", "content-type", "host", "user-agent"}

// secretField tells whether reports hide the value of a --header.
func secretField(name, value string) bool {
	return !slices.Contains(openFields, strings.ToLower(name)) || strings.HasPrefix(value, "@")
}

// maxValue is how large a file with a value may be, in bytes.
const maxValue = 1 << 20

// templateOf is valueOf for a setting. Variables in the content of a file are not expanded.
func templateOf(text string, in io.Reader) (string, error) {
	value, err := valueOf(text, in)
	if strings.HasPrefix(text, "@") {
		value = scenario.Verbatim(value)
	}
	return value, err
}

// valueOf returns the content of @FILE (or @- for standard input), and any other text as it is.
func valueOf(text string, in io.Reader) (string, error) {
	path, isFile := strings.CutPrefix(text, "@")
	if !isFile {
		return text, nil
	}
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return "", fmt.Errorf("@%s: %w (a value after @ is the name of a file)", path, cli.Cause(err))
		}
		defer f.Close()
		in = f
	}
	value, err := io.ReadAll(io.LimitReader(in, maxValue+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("@%s: %w", path, cli.Cause(err))
	case len(value) > maxValue:
		return "", fmt.Errorf("@%s: the file is larger than %d bytes", path, maxValue)
	case len(value) == 0:
		return "", fmt.Errorf("@%s: the file is empty", path)
	}
	return string(value), nil
}

// TLS reads the files of --cacert, --cert and --key. nil: none is given.
func (f *requestFlags) TLS() (*tls.Config, error) {
	switch {
	case f.Key != "" && f.Cert == "":
		return nil, cli.Usagef("--key: a key belongs to a certificate (add --cert FILE)")
	case f.insecure && f.Cacert != "":
		return nil, cli.Usagef("--insecure: it accepts any certificate, but --cacert restricts them " +
			"(leave one out)")
	case f.Cacert == "" && f.Cert == "":
		return nil, nil
	}
	c := &tls.Config{} //nolint:gosec // the lowest version is that of crypto/tls
	if f.Cacert != "" {
		pem, err := cli.ReadFile(f.Cacert, cli.MostSmall)
		if err != nil {
			return nil, fmt.Errorf("--cacert %s: %w", f.Cacert, cli.Cause(err))
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--cacert %s: the file has no certificate (it must be a PEM file)",
				f.Cacert)
		}
	}
	if f.Cert != "" {
		pair, err := keyPair(f.Cert, cmp.Or(f.Key, f.Cert))
		switch {
		case err != nil && f.Key == "" && !errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("--cert %s: the file has no certificate with its key: %w (name the "+
				"key with --key)", f.Cert, err)
		case err != nil:
			return nil, fmt.Errorf("--cert %s: %w", f.Cert, cli.Cause(err))
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

func keyPair(cert, key string) (tls.Certificate, error) {
	shown, err := cli.ReadFile(cert, cli.MostSmall)
	if err != nil {
		return tls.Certificate{}, err
	}
	private, err := cli.ReadFile(key, cli.MostSmall)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(shown, private)
}

// deniedWords says what --denied names.
const deniedWords = "statuses such as 403,429, header:NAME, header:NAME=VALUE, or body:PATH=VALUE such as " +
	"body:errors.0.extensions.code=THROTTLED"

// deniedSettings turns the values of --denied into settings. It is empty if there are none. A word of the
// body or of a field takes the place of denied as a whole: beside a word of the body, only the statuses that
// are named deny.
func deniedSettings(values []string) ([]scenario.Setting, error) {
	var statuses, marks []string
	for _, v := range values {
		kind, word, _ := strings.Cut(v, ":")
		name, value, valued := strings.Cut(word, "=")
		switch {
		case kind == "header" && name != "":
			if valued {
				name += ": " + value
			}
			marks = append(marks, "header: "+strconv.Quote(name))
		case kind == "body" && name != "" && valued:
			marks = append(marks, "body: "+strconv.Quote(word))
		case slices.Contains([]string{"header", "body"}, kind):
			return nil, cli.Usagef("--denied %s: a denial is %s", v, deniedWords)
		default:
			statuses = append(statuses, v)
		}
	}
	list, err := statusList(statuses)
	switch {
	case err != nil:
		return nil, cli.Usagef("--denied: %w", err)
	case len(values) == 0:
		return nil, nil
	case len(marks) == 0:
		return []scenario.Setting{{Path: "denied.status", Value: list}}, nil // a list has no Flag
	case list != "":
		marks = append(marks, "status: "+list)
	}
	return []scenario.Setting{{Path: "denied", Value: "{" + strings.Join(marks, ", ") + "}"}}, nil
}

// readKeys reads the keys that a target has issued, one on each line. It skips blank lines and those that
// begin with #. No error shows a key.
func readKeys(path string) ([]string, error) {
	if path == "" {
		return nil, nil
	}
	text, err := cli.ReadFile(path, cli.MostKeys)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, cli.Usagef("--api-keys %s: there is no such file%s", path, hintFile(path))
	}
	if err != nil {
		return nil, fmt.Errorf("--api-keys %s: %w", path, cli.Cause(err))
	}
	var keys []string
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		key := strings.TrimSpace(line)
		bad := func(why string) error { return fmt.Errorf("%s:%d: %s", path, number, why) }
		switch {
		case key == "" || strings.HasPrefix(key, "#"):
			continue
		case len(key) < trial.ShortestSecret:
			return nil, bad("a key needs four characters or more: a shorter key cannot be redacted")
		case strings.IndexFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7f }) >= 0:
			return nil, bad("a key is printable ASCII without spaces (text around the key belongs into " +
				"--partition)")
		case slices.Contains(keys, key):
			return nil, bad("the key is there twice: two clients with one key are one client")
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, cli.Usagef("--api-keys %s: the file has no key (write one key in each line)", path)
	}
	return keys, nil
}

// shareKeys makes the scenarios of a run take turns with the issued keys, so that they use different keys if
// there are enough.
func shareKeys(chosen []*scenario.Scenario) {
	used := 0
	for _, s := range chosen {
		if len(s.Keys) == 0 || s.Unmet() != "" {
			continue
		}
		s.SkipKeys = used
		if plan, err := s.Plan("", 1); err == nil {
			used += len(scenario.Clients(plan))
		}
	}
}

// parsePromises reads the words of --promise. A strict run also takes the recommended promises as given.
func parsePromises(words []string, strict bool) ([]result.Promise, error) {
	var out []result.Promise
	if strict {
		out = result.RecommendedPromises()
	}
	for _, word := range words {
		all := text.Words(result.Promises())
		if !slices.Contains(all, word) {
			return nil, cli.Usagef("--promise %q: a target promises %s%s", word, strings.Join(all, ", "),
				cli.Mend(text.Suggest(word, all)))
		}
		out = append(out, result.Promise(word))
	}
	return out, nil
}

// promisedOnly says what must be promised or declared for something to be the fault f. Empty for most faults.
func promisedOnly(f lab.Fault) string {
	switch {
	case f.Promise != "":
		return "\nonly if it is promised (--promise " + f.Promise +
			"): without the promise, a target that never did it is right"
	case f.Declared != "":
		return "\nonly if it is declared (--set " + f.Declared + "); for the embedded target it is known"
	default:
		return ""
	}
}
