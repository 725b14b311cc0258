package main

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
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

// curlField is one header field.
type curlField struct{ Name, Value string }

// curlError is a part of a command that cannot be read, or cannot be sent. It never quotes the value of a
// field or a body.
type curlError struct {
	// What is the option or the character. Why is the rule that it breaks. Mend is an edit; it may be "".
	What, Why, Mend string
}

// Error returns `what: why (mend)`.
func (e *curlError) Error() string {
	text := e.What + ": " + e.Why
	if e.Mend != "" {
		text += " (" + e.Mend + ")"
	}
	return text
}

func problem(what, why, mend string) error { return &curlError{what, why, mend} }

// parseCurl reads one command line of curl as a shell would. lookup finds variables; it may be nil. Errors
// are an *Error.
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
		o, found := options[word]
		if !found {
			return unknown(word)
		}
		return p.read(word, o, "", false)
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
		o, found := options[name]
		if !found {
			return unknown("-" + letters[i:])
		}
		rest := letters[i+1:]
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
	"te", "trailer", "transfer-encoding", "upgrade"}

// field reads a header field.
func (p *curlParser) field(_, text string) error {
	if strings.HasPrefix(text, "@") {
		return problem("-H @", "rlcheck reads no file for curl options",
			"write its fields with -H after the "+
				"command")
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
		return nil, problem("the command", "it has "+strconv.Itoa(len(p.urls))+
			" URLs, but one is loaded",
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
