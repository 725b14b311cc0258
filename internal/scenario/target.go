package scenario

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

func targetKind() kind[*Target] {
	return object("a target", []field[*Target]{
		key("url", urlKind(), func(t *Target) *string { return &t.URL }),
		key("origin", urlKind(), func(t *Target) *string { return &t.Origin }),
		key("method", methodKind(), func(t *Target) *string { return &t.Method }),
		key("header", headerKind(), func(t *Target) *map[string]string { return &t.Header }),
		key("body", word("a body is text", ""), func(t *Target) *string { return &t.Body }),
		key("timeout", duration(time.Millisecond, time.Hour),
			func(t *Target) *time.Duration { return &t.Timeout }),
		key("tick", duration(0, time.Minute), func(t *Target) *time.Duration { return &t.Tick }),
		key("fault", word("a fault is a name that \"rlcheck serve --fault list\" prints", idPattern),
			func(t *Target) *string { return &t.Fault }),
		key("retry_after", choice("the form of Retry-After", "seconds", "date"),
			func(t *Target) *string { return &t.RetryAfter }),
		key("on_store_error", choice("the choice on a store error", "allow", "deny", "error"),
			func(t *Target) *string { return &t.OnStoreError }),
		key("client_address", word("a field name is an HTTP token", tokenPattern),
			func(t *Target) *string { return &t.ClientAddress }),
		key("insecure", boolean("insecure"), func(t *Target) *bool { return &t.Insecure }),
		key("protocol", choice("a protocol", H1, H2), func(t *Target) *Protocol { return &t.Protocol }),
		key("unix_socket", word("a socket is a path", `\S`),
			func(t *Target) *string { return &t.UnixSocket }),
		key("proxy", proxyKind(), func(t *Target) *string { return &t.Proxy }),
	}, func(d *decoder, n *Node, t *Target) {
		checkWay(d, n, t)
		if f := n.Get("fault"); f != nil && t.URL != Builtin {
			d.add(f, Quote(f.Text), "only the embedded target has faults, and url is "+Quote(t.URL),
				"remove it, or write url: builtin")
		}
	})
}

func proxyKind() kind[*string] {
	const rule = "a proxy is http://HOST:PORT"
	is := regexp.MustCompile(`^http://([^/?#\s@]+@)?[^/?#\s@]+/?$`)
	schema := &jsonschema.Schema{Type: "string", Pattern: is.String()}
	return kind[*string]{schema: orVariable(schema), read: func(d *decoder, n *Node, v *string) {
		if !d.wants(n, Scalar, rule) {
			return
		}
		if u, err := url.Parse(n.Text); err != nil || !is.MatchString(n.Text) || u.Hostname() == "" {
			d.add(n, "this url", rule+" or http://USER:PASSWORD@HOST:PORT",
				"") // it is not quoted, as it may hold a password
			return
		}
		*v = n.Text
	}}
}

// checkWay reports ways to the target that exclude each other.
func checkWay(d *decoder, n *Node, t *Target) {
	socket, proxy := n.Get("unix_socket"), n.Get("proxy")
	switch {
	case socket != nil && proxy != nil:
		d.add(proxy, "a proxy", "a Unix socket is connected to directly", "remove one of them")
	case socket != nil && t.Origin != "":
		d.add(socket, Quote(socket.Text), "one socket cannot be both the target and its origin",
			"remove origin")
	case socket != nil && t.URL == Builtin:
		d.add(socket, Quote(socket.Text), "the embedded target has no socket",
			"write the url of the target")
	case proxy != nil && t.URL == Builtin:
		d.add(proxy, "a proxy", "the embedded target is connected to directly", "write the url of the target")
	}
}

func methodKind() kind[*string] {
	const rule = "a method is in capitals"
	is := regexp.MustCompile(`^[A-Z][A-Z-]*$`)
	return textKind(rule, &jsonschema.Schema{Type: "string", Pattern: is.String()},
		func(s string) (string, string, string) {
			switch upper := strings.ToUpper(s); {
			case is.MatchString(s):
				return s, "", ""
			case is.MatchString(upper):
				return "", rule, fmt.Sprintf("write %q", upper)
			default:
				return "", rule + " and has no other characters", ""
			}
		})
}

// urlKind is the kind of a URL, or the word builtin.
func urlKind() kind[*string] {
	return textKind(`a url begins with http:// or https://, or is "builtin"`,
		&jsonschema.Schema{Type: "string", Pattern: `^(builtin|https?://[^/?#\s@]+([/?][^#\s]*)?)$`},
		parseURL)
}

func parseURL(s string) (string, string, string) {
	const form = `a url begins with http:// or https://, or is "builtin"`
	if s == Builtin {
		return s, "", ""
	}
	u, err := url.Parse(s)
	var bad *url.Error
	web := strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")
	switch {
	case strings.ContainsAny(s, " \t\r\n"):
		return "", "a url has no spaces", ""
	case web && errors.As(err, &bad) && strings.Contains(bad.Err.Error(), "::"):
		return "", "an IPv6 address stands in brackets", `write "http://[::1]:8080/"`
	case web && errors.As(err, &bad):
		return "", bad.Err.Error(), ""
	case !strings.Contains(s, "://") && strings.ContainsAny(s, ".:"):
		scheme, rest, slashed := strings.Cut(s, ":/")
		if !slashed || scheme != "http" && scheme != "https" {
			scheme, rest = "http", strings.TrimPrefix(s, "//")
		}
		return "", form, fmt.Sprintf("write %q", scheme+"://"+rest)
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return "", form, ""
	case u.Hostname() == "":
		return "", "a url names a host", ""
	case u.User != nil:
		return "", "a url has no user or password", "write them in target.header as Authorization"
	case strings.Contains(s, "#"):
		return "", "a fragment is not sent", "leave out what follows the #"
	}
	return s, "", ""
}

// notForFiles are the header fields that the generator writes itself.
var notForFiles = []string{"connection", "content-length", "transfer-encoding", "te", "trailer",
	"keep-alive", "proxy-connection"}

// headerKind is the kind of header fields: a mapping of names to values, both as HTTP allows them.
func headerKind() kind[*map[string]string] {
	const rule = "header fields are a mapping of names to texts"
	name := word("a field name is an HTTP token", tokenPattern)
	return kind[*map[string]string]{
		schema: &jsonschema.Schema{Type: "object", PropertyNames: pattern(tokenPattern),
			AdditionalProperties: &jsonschema.Schema{Type: "string", Pattern: `^[^\r\n]*$`}},
		read: func(d *decoder, n *Node, h *map[string]string) {
			if !d.wants(n, Mapping, rule) {
				return
			}
			*h = make(map[string]string, len(n.Keys))
			for i, k := range n.Keys {
				v, got := n.Items[i], ""
				name.read(d, k, &got)
				switch {
				case !d.wants(v, Scalar, "a field value is text"):
				case slices.Contains(notForFiles, strings.ToLower(k.Text)):
					d.add(k, Quote(k.Text), "rlcheck writes this field itself", "remove it")
				case !v.IsText():
					d.add(v, v.Describe(), "a field value is text, and YAML reads this as something else",
						"put it in quotes")
				case strings.ContainsAny(v.Text, "\r\n"):
					d.add(v, Quote(v.Raw), "a field value is one line", "")
				case strings.TrimSpace(v.Text) != v.Text:
					d.add(v, Quote(v.Raw), "a field value neither begins nor ends with a space", "")
				default:
					(*h)[k.Text] = v.Text
				}
			}
		}}
}
