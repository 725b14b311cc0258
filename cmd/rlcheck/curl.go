package main

import (
	"cmp"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/trial"
)

// curlRequest is what a command sends.
type curlRequest struct {
	// URL is http or https, without user, password and fragment.
	URL string
	// Method is the method in the command, or else the one that curl would use; never empty.
	Method string
	// Header has each name once, in the order of the command; may be empty.
	Header []curlField
	Body   string
	// Insecure tells that any certificate is accepted. CACert, Cert and Key are file names, "" for none.
	Insecure          bool
	CACert, Cert, Key string
	// Notes say which parts of the command were left out, a sentence each; may be empty.
	Notes []string
}

type curlField struct{ Name, Value string }

// problem is a part of a command that cannot be read, or cannot be sent. what is the option or the character:
// it never quotes the value of a field or a body.
func problem(what, why, mend string) error { return text.NewProblem(what, why, mend) }

// parseCurl reads one command line of curl as a shell would. lookup finds variables; it may be nil. Errors
// are a *text.Problem.
func parseCurl(text string, lookup curlLookup) (*curlRequest, error) {
	if strings.Contains(text, "^\"") || strings.Contains(text, "^\n") || strings.Contains(text, "^\r\n") {
		return nil, problem("^", "this is a command for Windows", `choose "Copy as cURL (bash)"`)
	}
	words, err := split(text, lookup)
	if err != nil {
		return nil, err
	}
	if len(words) > 0 && words[0] == "$" { // the prompt
		words = words[1:]
	}
	if len(words) == 0 || words[0] != "curl" {
		return nil, problem("the command", "it must begin with the word curl", `choose "Copy as cURL"`)
	}
	p := curlParser{words: words[1:]}
	for len(p.words) > 0 {
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	return p.finish()
}

// curlParser reads the options of a command.
type curlParser struct {
	words []string
	r     curlRequest
	urls  []string
	// data are the parts of the body. inQuery tells that they go into the URL.
	data    []string
	inQuery bool
	// form is the Content-Type of data, accept the Accept of the request, unless the command has those
	// fields.
	form, accept string
}

// next reads one option, a word of several short options, or a URL.
func (p *curlParser) next() error {
	word := p.words[0]
	p.words = p.words[1:]
	switch {
	case word == "--":
		p.urls, p.words = append(p.urls, p.words...), nil
	case strings.HasPrefix(word, "--"):
		at := slices.IndexFunc(options, func(o option) bool { return o.has(word) })
		if at < 0 {
			return unknown(word)
		}
		return p.read(word, options[at], "", false)
	case len(word) > 1 && word[0] == '-':
		return p.short(word[1:])
	default:
		p.urls = append(p.urls, word)
	}
	return nil
}

// short reads the letters of a word such as -sSXPOST.
func (p *curlParser) short(letters string) error {
	for i := range letters {
		name := "-" + letters[i:i+1]
		at := slices.IndexFunc(options, func(o option) bool { return o.has(name) })
		if at < 0 {
			return unknown("-" + letters[i:])
		}
		o, rest := options[at], letters[i+1:]
		if !o.value || rest == "" {
			if err := p.read(name, o, "", false); err != nil || o.value {
				return err
			}
			continue
		}
		return p.read(name, o, rest, true)
	}
	return nil
}

// read applies one option. Its value is the one found in the same word, or else the next word.
func (p *curlParser) read(name string, o option, value string, found bool) error {
	if o.value && !found {
		if len(p.words) == 0 {
			return problem(name, "it needs a value", "")
		}
		value, p.words = p.words[0], p.words[1:]
	}
	switch {
	case o.refused != "":
		return problem(name, o.refused, o.mend)
	case o.note != "":
		p.r.Notes = append(p.r.Notes, name+": "+o.note)
	case o.apply != nil:
		return o.apply(p, name, value)
	}
	return nil
}

// set adds a header field. It returns an error for a name that is there already.
func (p *curlParser) set(name, value string) error {
	if slices.ContainsFunc(p.r.Header, func(f curlField) bool { return strings.EqualFold(f.Name, name) }) {
		return problem(strconv.Quote(name), "it is given twice, and a field is sent once", "remove one")
	}
	p.r.Header = append(p.r.Header, curlField{name, value})
	return nil
}

// unset adds a header field, unless it is there already.
func (p *curlParser) unset(name, value string) { _ = p.set(name, value) }

// ownFields are fields about the connection or the length of the message, which rlcheck sets itself.
var ownFields = []string{"accept-encoding", "connection", "content-length", "keep-alive", "proxy-connection",
	"te", "trailer", "transfer-encoding"}

func (p *curlParser) field(_, text string) error {
	if strings.HasPrefix(text, "@") {
		return problem("-H @", "rlcheck reads no file for curl options",
			"write its fields with -H after the command")
	}
	name, value, found := strings.Cut(text, ":")
	value = strings.TrimSpace(value)
	switch {
	case !found:
		return problem("-H", "a field is NAME: VALUE", "")
	case name == "":
		p.r.Notes = append(p.r.Notes, "-H with a pseudo-header of HTTP/2: left out")
		return nil
	case value == "", slices.Contains(ownFields, strings.ToLower(name)):
		p.r.Notes = append(p.r.Notes, "-H "+strconv.Quote(name)+": left out, rlcheck sends its own or none")
		return nil
	}
	return p.set(name, value)
}

// finish makes the request from its parts.
func (p *curlParser) finish() (*curlRequest, error) {
	switch {
	case len(p.urls) == 0:
		return nil, problem("the command", "it has no URL", "")
	case len(p.urls) > 1:
		return nil, problem("the command", "it has "+strconv.Itoa(len(p.urls))+" URLs, but one is loaded",
			"put a word with spaces into quotes")
	}
	if err := p.setURL(p.urls[0]); err != nil {
		return nil, err
	}
	if p.data != nil && !p.inQuery {
		p.r.Body = strings.Join(p.data, "&")
		p.unset("Content-Type", cmp.Or(p.form, "application/x-www-form-urlencoded"))
		p.r.Method = cmp.Or(p.r.Method, http.MethodPost)
	}
	if p.accept != "" {
		p.unset("Accept", p.accept)
	}
	p.r.Method = cmp.Or(p.r.Method, http.MethodGet)
	return &p.r, nil
}

// setURL keeps the parts of a URL that are sent.
func (p *curlParser) setURL(text string) error {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return problem("the URL", "it must begin with http:// or https:// and name a host", "")
	}
	if u.User != nil {
		password, _ := u.User.Password()
		p.unset("Authorization", basic(u.User.Username()+":"+password))
		u.User = nil
	}
	if p.inQuery && p.data != nil {
		u.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+strings.Join(p.data, "&"), "&")
	}
	u.Fragment, u.RawFragment = "", ""
	p.r.URL = u.String()
	return nil
}

// basic returns the credentials of HTTP Basic authentication (RFC 7617).
func basic(user string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(user)) }

// curlLookup finds a variable, as os.LookupEnv does.
type curlLookup func(name string) (value string, set bool)

// Get returns a variable.
func (l curlLookup) Get(name string) expand.Variable {
	if l == nil || name == "IFS" { // no word is split at the spaces of a variable
		return expand.Variable{Set: l != nil, Kind: expand.String}
	}
	value, set := l(name)
	return expand.Variable{Set: set, Kind: expand.String, Str: value}
}

// Each names no variable: only those in the command are asked for.
func (curlLookup) Each(func(string, expand.Variable) bool) {}

// split returns the words of one command, as bash reads it. It replaces variables, but runs nothing and
// expands no file patterns.
func split(text string, lookup curlLookup) (words []string, err error) {
	file, err := syntax.NewParser().Parse(strings.NewReader(strings.ReplaceAll(text, "\r\n", "\n")), "")
	var bad syntax.ParseError
	switch {
	case errors.As(err, &bad):
		return nil, problem("the command", bad.Text, "")
	case err != nil:
		return nil, problem("the command", err.Error(), "")
	case len(file.Stmts) == 0:
		return nil, nil
	}
	s := file.Stmts[0]
	call, simple := s.Cmd.(*syntax.CallExpr)
	if !simple || len(file.Stmts) > 1 || len(s.Redirs)+len(call.Assigns) > 0 || s.Background || s.Negated {
		return nil, problem("the command", "it is more than the curl command, and rlcheck runs no other",
			"put a URL with & or ; into quotes, and leave out everything after the command")
	}
	words, err = expand.Fields(&expand.Config{Env: lookup, NoUnset: true}, call.Args...)
	var unset expand.UnsetParameterError
	switch {
	case errors.As(err, &unset):
		err = problem("$"+unset.Node.Param.Value, "the variable is not set", "export it, or write its value")
	case errors.As(err, new(expand.UnexpectedCommandError)):
		err = problem("$", "a shell would run a command here, and rlcheck runs none",
			"write its output, or a variable")
	case err != nil:
		err = problem("$", err.Error(), "")
	}
	return words, err
}

// curlFlag is the flag that takes a command of curl.
const curlFlag = "--from-curl"

// settingsOf returns the settings of a configuration, of --from-curl, and of the other flags. Later ones win.
// They do not replace a target that is given otherwise.
func settingsOf(e *cli.Env, f *requestFlags, target string) ([]scenario.Setting, error) {
	if f.said != nil {
		return f.said, nil
	}
	curled, err := curlSettings(e, f, target)
	if err != nil {
		return nil, err
	}
	given, err := f.settings(e.In)
	f.said = slices.Concat(f.Config, curled, given)
	return f.said, err
}

// curlSettings reads --from-curl. Its certificates count if no flag gives others.
func curlSettings(e *cli.Env, f *requestFlags, target string) ([]scenario.Setting, error) {
	if f.Curl == "" {
		return nil, nil
	}
	text, err := valueOf(f.Curl, e.In)
	if err != nil {
		return nil, cli.Usagef("%s: %w", curlFlag, err)
	}
	r, err := parseCurl(text, e.Getenv)
	if err != nil {
		return nil, cli.Usagef("%s: %w", curlFlag, err)
	}
	for _, note := range r.Notes {
		e.Say.Notef("%s: %s", curlFlag, note)
	}
	f.curled = true
	f.insecure = f.insecure || r.Insecure
	f.Cacert, f.Cert, f.Key = cmp.Or(f.Cacert, r.CACert), cmp.Or(f.Cert, r.Cert), cmp.Or(f.Key, r.Key)
	out := []scenario.Setting{{Path: "target.method", Value: r.Method, Flag: curlFlag}}
	if target == "" {
		out = append(out, scenario.Setting{Path: "target.url", Value: r.URL, Flag: curlFlag})
	}
	for _, field := range r.Header {
		if why := notSent[strings.ToLower(field.Name)]; why != "" {
			return nil, cli.Usagef("%s: %q: %s", curlFlag, field.Name, why)
		}
		out = append(out, scenario.Setting{Path: headerPath, Field: field.Name, Value: field.Value,
			Flag: curlFlag, Secret: secretField(field.Name, "")})
	}
	if r.Body != "" {
		out = append(out, scenario.Setting{Path: "target.body", Value: r.Body, Flag: curlFlag, Secret: true})
	}
	for i := range out {
		out[i].Value = scenario.Verbatim(out[i].Value)
	}
	return out, nil
}

// withoutCurl returns the words of a command line without the command of --from-curl, as a secret in it may
// be written in many ways.
func withoutCurl(args []string) []string {
	out := append([]string(nil), args...)
	for i, word := range out {
		switch {
		case strings.HasPrefix(word, curlFlag+"=") && !strings.HasPrefix(word, curlFlag+"=@"):
			out[i] = curlFlag + "=" + trial.Redacted
		case i > 0 && args[i-1] == curlFlag && !strings.HasPrefix(word, "@"):
			out[i] = trial.Redacted
		}
	}
	return out
}

// option is what an option of curl means here. Without apply, note and refused it does not change the
// request.
type option struct {
	// spellings are separated by spaces.
	spellings string
	// value tells that the option has a value.
	value bool
	apply func(p *curlParser, name, value string) error
	// note says why the option is left out, refused why it cannot be left out: another request would be sent.
	// mend goes with refused.
	note, refused, mend string
}

// keep applies an option that is always right.
func keep(in func(p *curlParser, value string)) func(*curlParser, string, string) error {
	return func(p *curlParser, _, value string) error { in(p, value); return nil }
}

func keepField(field string) func(*curlParser, string, string) error {
	return func(p *curlParser, _, value string) error { return p.set(field, value) }
}

var options = []option{
	{spellings: "-H --header", value: true, apply: (*curlParser).field},
	{spellings: "-X --request", value: true, apply: keep(func(p *curlParser, v string) { p.r.Method = v })},
	{spellings: "--cacert", value: true, apply: keep(func(p *curlParser, v string) { p.r.CACert = v })},
	{spellings: "-E --cert", value: true, apply: keep(func(p *curlParser, v string) { p.r.Cert = v })},
	{spellings: "--key", value: true, apply: keep(func(p *curlParser, v string) { p.r.Key = v })},
	{spellings: "-A --user-agent", value: true, apply: keepField("User-Agent")},
	{spellings: "-e --referer", value: true, apply: keepField("Referer")},
	{spellings: "-b --cookie", value: true, apply: (*curlParser).cookie},
	{spellings: "-u --user", value: true, apply: (*curlParser).user},
	{spellings: "-d --data --data-ascii --data-binary --json", value: true, apply: (*curlParser).body},
	{spellings: "--data-raw", value: true,
		apply: keep(func(p *curlParser, v string) { p.data = append(p.data, v) })},
	{spellings: "--data-urlencode", value: true, apply: (*curlParser).encoded},
	{spellings: "--url", value: true,
		apply: keep(func(p *curlParser, v string) { p.urls = append(p.urls, v) })},
	{spellings: "-k --insecure", apply: keep(func(p *curlParser, _ string) { p.r.Insecure = true })},
	{spellings: "-G --get", apply: keep(func(p *curlParser, _ string) { p.inQuery = true })},
	{spellings: "-I --head", apply: keep(func(p *curlParser, _ string) { p.r.Method = http.MethodHead })},
	{spellings: "--compressed", note: "left out, rlcheck asks for no compression"},
	{spellings: "-L --location", note: "left out, rlcheck follows no redirect"},
	{spellings: "--http3 -0 --http1.0", note: "left out, rlcheck sends HTTP/1.1"},
	{spellings: "--http2 --http2-prior-knowledge",
		note: "left out, rlcheck sends HTTP/1.1 (give --http2 to rlcheck for HTTP/2)"},
	{spellings: "-s --silent -S --show-error -i --include -v --verbose -f --fail --fail-with-body -N " +
		"--no-buffer -# --progress-bar -g --globoff --http1.1 -O --remote-name"},
	{spellings: "-o --output -w --write-out -D --dump-header -c --cookie-jar", value: true},
	{spellings: "-m --max-time --connect-timeout", value: true,
		note: "left out (--set target.timeout=DURATION)"},
	{spellings: "--retry --retry-delay --retry-max-time", value: true,
		note: "left out, rlcheck repeats no request"},
	{spellings: "-F --form", value: true, refused: "forms with files cannot be sent",
		mend: "write the body into a file, and -d @FILE"},
	{spellings: "-T --upload-file", value: true, refused: "an upload cannot be sent",
		mend: "write -X PUT, and -d @FILE"},
	{spellings: "-x --proxy", value: true,
		refused: "with this option requests go to the target without a proxy"},
	{spellings: "--resolve --connect-to --unix-socket", value: true,
		refused: "the address is the one in the URL",
		mend:    "write the address in the URL, and the name with --host"},
	{spellings: "-K --config", value: true, refused: "rlcheck reads no options from a file"},
	{spellings: "-: --next", refused: "one command sends one request"},
}

func (o *option) has(word string) bool { return slices.Contains(strings.Fields(o.spellings), word) }

// unknown refuses an option that is not in the table. It shows only the name: the text behind it may be a
// secret.
func unknown(word string) error {
	name, _, _ := strings.Cut(word, "=")
	if !strings.HasPrefix(name, "--") {
		name = "-" + string([]rune(name[1:])[:1])
	}
	mend := ""
	if len(name) > 4 {
		var known []string
		for _, o := range options {
			known = append(known, strings.Fields(o.spellings)...)
		}
		slices.Sort(known)
		mend = text.Suggest(name, known)
	}
	return problem(strconv.Quote(name), "rlcheck does not know this option", mend)
}

// cookie reads -b NAME=VALUE. Several of them become one field.
func (p *curlParser) cookie(name, value string) error {
	if !strings.Contains(value, "=") {
		return problem(name, "rlcheck reads no file of cookies", "write them as NAME=VALUE")
	}
	for i := range p.r.Header {
		if strings.EqualFold(p.r.Header[i].Name, "Cookie") {
			p.r.Header[i].Value += "; " + value
			return nil
		}
	}
	return p.set("Cookie", value)
}

// user reads -u USER:PASSWORD.
func (p *curlParser) user(name, value string) error {
	if !strings.Contains(value, ":") {
		return problem(name, "it has no password, and curl would ask for one", "write USER:PASSWORD")
	}
	return p.set("Authorization", basic(value))
}

func (p *curlParser) body(name, value string) error {
	if strings.HasPrefix(value, "@") {
		return problem(name+" @", "rlcheck reads no file for curl options",
			"leave it out, and write -d @FILE behind the command")
	}
	if name == "--json" {
		p.form, p.accept = "application/json", "application/json"
	}
	p.data = append(p.data, value)
	return nil
}

// encoded reads --data-urlencode CONTENT, =CONTENT or NAME=CONTENT.
func (p *curlParser) encoded(name, value string) error {
	key, content, named := strings.Cut(value, "=")
	if !named {
		key, content = "", value
	}
	if strings.Contains(key, "@") || !named && strings.Contains(value, "@") {
		return problem(name+" @", "rlcheck reads no file for curl options", "write its content")
	}
	content = strings.ReplaceAll(url.QueryEscape(content), "+", "%20")
	if key != "" {
		content = key + "=" + content
	}
	p.data = append(p.data, content)
	return nil
}
