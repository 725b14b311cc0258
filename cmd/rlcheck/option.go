package main

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rlcheck/rlcheck/internal/text"
)

// option is what an option of curl means here. An option without apply, note and refused does not change the
// request.
type option struct {
	// value tells that the option has a value.
	value bool
	apply func(p *curlParser, name, value string) error
	// note says why the option is left out, refused why it cannot be left out. mend goes with refused.
	note, refused, mend string
}

// names gives several spellings the same meaning.
func names(all map[string]option, o option, spellings ...string) {
	for _, s := range spellings {
		all[s] = o
	}
}

var options = allOptions()

func allOptions() map[string]option {
	all := make(map[string]option)
	takes := func(apply func(p *curlParser, name, value string) error, spellings ...string) {
		names(all, option{value: true, apply: apply}, spellings...)
	}
	text := func(at func(*curlRequest) *string) func(*curlParser, string, string) error {
		return func(p *curlParser, _, value string) error { *at(&p.r) = value; return nil }
	}
	field := func(name string) func(*curlParser, string, string) error {
		return func(p *curlParser, _, value string) error { return p.set(name, value) }
	}
	takes((*curlParser).field, "-H", "--header")
	takes(text(func(r *curlRequest) *string { return &r.Method }), "-X", "--request")
	takes(text(func(r *curlRequest) *string { return &r.CACert }), "--cacert")
	takes(text(func(r *curlRequest) *string { return &r.Cert }), "-E", "--cert")
	takes(text(func(r *curlRequest) *string { return &r.Key }), "--key")
	takes(field("User-Agent"), "-A", "--user-agent")
	takes(field("Referer"), "-e", "--referer")
	takes((*curlParser).cookie, "-b", "--cookie")
	takes((*curlParser).user, "-u", "--user")
	takes((*curlParser).body, "-d", "--data", "--data-ascii", "--data-binary", "--json")
	takes(func(p *curlParser, _, value string) error { p.data = append(p.data, value); return nil },
		"--data-raw")
	takes((*curlParser).encoded, "--data-urlencode")
	takes(func(p *curlParser, _, value string) error { p.urls = append(p.urls, value); return nil }, "--url")
	switches(all)
	refusals(all)
	return all
}

// switches adds the options without a value, and those that only change how curl itself works.
func switches(all map[string]option) {
	does := func(change func(p *curlParser)) option {
		return option{apply: func(p *curlParser, _, _ string) error { change(p); return nil }}
	}
	names(all, does(func(p *curlParser) { p.r.Insecure = true }), "-k", "--insecure")
	names(all, does(func(p *curlParser) { p.inQuery = true }), "-G", "--get")
	names(all, does(func(p *curlParser) { p.r.Method = http.MethodHead }), "-I", "--head")
	names(all, option{note: "left out, rlcheck asks for no compression"}, "--compressed")
	names(all, option{note: "left out, rlcheck follows no redirect"}, "-L", "--location")
	names(all, option{note: "left out, rlcheck sends HTTP/1.1"}, "--http3", "-0", "--http1.0")
	names(all, option{note: "left out, rlcheck sends HTTP/1.1 (give --http2 to rlcheck for HTTP/2)"},
		"--http2", "--http2-prior-knowledge")
	names(all, option{}, "-s", "--silent", "-S", "--show-error", "-i", "--include", "-v", "--verbose",
		"-f", "--fail", "--fail-with-body", "-N", "--no-buffer", "-#", "--progress-bar", "-g", "--globoff",
		"--http1.1", "-O", "--remote-name")
	names(all, option{value: true},
		"-o", "--output", "-w", "--write-out", "-D", "--dump-header", "-c", "--cookie-jar")
	names(all, option{value: true, note: "left out (--set target.timeout=DURATION)"},
		"-m", "--max-time", "--connect-timeout")
	names(all, option{value: true, note: "left out, rlcheck repeats no request"},
		"--retry", "--retry-delay", "--retry-max-time")
}

// refusals adds the options that cannot be ignored: without them another request would be sent.
func refusals(all map[string]option) {
	refuse := func(why, mend string, spellings ...string) {
		names(all, option{value: true, refused: why, mend: mend}, spellings...)
	}
	refuse("forms with files cannot be sent", "write the body into a file, and -d @FILE", "-F", "--form")
	refuse("an upload cannot be sent", "write -X PUT, and -d @FILE", "-T", "--upload-file")
	refuse("with this option requests go to the target without a proxy", "", "-x", "--proxy")
	refuse("the address is the one in the URL", "write the address in the URL, and the name with --host",
		"--resolve", "--connect-to", "--unix-socket")
	refuse("rlcheck reads no options from a file", "", "-K", "--config")
	names(all, option{refused: "one command sends one request"}, "-:", "--next")
}

// unknown refuses an option that is not in the table. It shows only the name: the text behind it may be a
// secret.
func unknown(word string) error {
	name, _, _ := strings.Cut(word, "=")
	if !strings.HasPrefix(name, "--") {
		name = "-" + string([]rune(name[1:])[:1])
	}
	best, least := "", 3
	for _, o := range slices.Sorted(maps.Keys(options)) {
		if d := text.Edits(name, o); d < least && len(name) > 4 {
			best, least = o, d
		}
	}
	mend := ""
	if best != "" {
		mend = fmt.Sprintf("did you mean %q?", best)
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

// body reads a part of the body.
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
