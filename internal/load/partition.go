package load

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Partition says how the name of a partition becomes part of a request. The zero value leaves it out.
type Partition struct {
	// Kind is header, address, path, query, cookie or body; empty for none.
	Kind string
	// Name is the header field, the query parameter, the cookie or the field of the body; empty for the other
	// kinds.
	Name string
	// Format is the value of a header field, {key} standing for the name; empty: the name alone.
	Format string
}

// The kinds of Partition.
const (
	kindNone    = ""
	kindHeader  = "header"
	kindAddress = "address"
	kindPath    = "path"
	kindQuery   = "query"
	kindCookie  = "cookie"
	kindBody    = "body"
)

// inFormat stands for the name in a Format.
const inFormat = "{key}"

// ParsePartition reads header:NAME, header:NAME: FORMAT, query:NAME, cookie:NAME, body:NAME, address or
// path. The
// name of a header field must be one that does not frame the message.
func ParsePartition(s string) (Partition, error) {
	const want = `write header:NAME, query:NAME, cookie:NAME, body:NAME, path or address`
	format := ""
	kind, name, named := strings.Cut(s, ":")
	switch kind {
	case kindAddress, kindPath:
		if named {
			return Partition{}, fmt.Errorf("partition %q: %s takes no name (write %q)", s, kind, kind)
		}
	case kindHeader:
		if name, format, named = strings.Cut(name, ":"); named && !strings.Contains(format, inFormat) {
			return Partition{}, fmt.Errorf("partition %q: the format has no %s", s, inFormat)
		}
		format = strings.TrimSpace(format)
		if err := checkValue(format); err != nil {
			return Partition{}, fmt.Errorf("partition %q: %w", s, err)
		}
		if err := checkName(name); err != nil {
			return Partition{}, fmt.Errorf("partition %q: %w", s, err)
		}
		name = http.CanonicalHeaderKey(name)
	case kindQuery:
		if name == "" {
			return Partition{}, fmt.Errorf("partition %q: the query parameter has no name (write query:key)",
				s)
		}
	case kindBody:
		if name == "" {
			return Partition{}, fmt.Errorf("partition %q: the field has no name (write body:user)",
				s)
		}
	case kindCookie:
		if !isToken(name) {
			return Partition{}, fmt.Errorf("partition %q: a cookie has an HTTP token for a name (write "+
				"cookie:session)", s)
		}
	default:
		return Partition{}, fmt.Errorf("partition %q: no such kind (%s)", s, want)
	}
	return Partition{Kind: kind, Name: name, Format: format}, nil
}

// String returns what ParsePartition reads; "" for the zero value.
func (p Partition) String() string {
	if p.Name == "" {
		return p.Kind
	}
	if p.Format != "" {
		return p.Kind + ":" + p.Name + ": " + p.Format
	}
	return p.Kind + ":" + p.Name
}

// check tells whether p can be used with the target u.
func (p Partition) check(u *url.URL) error {
	if p.Kind == kindNone {
		return nil
	}
	if _, err := ParsePartition(p.String()); err != nil {
		return err
	}
	if p.Kind != kindAddress || u.Hostname() == "localhost" {
		return nil
	}
	if a, err := netip.ParseAddr(u.Hostname()); err != nil || !a.Is4() || !a.IsLoopback() {
		return fmt.Errorf("partition address: %s: only 127.0.0.0/8 has many source addresses (use a target "+
			"on 127.0.0.1)", u.Hostname())
	}
	return nil
}

// target returns the request target for the partition named name, made of a path and a query, and the header
// field it adds; ok is false where it adds none. The empty name adds nothing.
func (p Partition) target(path, query, name string) (target string, field [2]string, ok bool) {
	if name == "" {
		return join(path, query), field, false
	}
	switch p.Kind {
	case kindHeader:
		if p.Format != "" {
			name = strings.ReplaceAll(p.Format, inFormat, name)
		}
		return join(path, query), [2]string{p.Name, name}, true
	case kindCookie:
		return join(path, query), [2]string{"Cookie", p.Name + "=" + name}, true
	case kindPath:
		path = strings.TrimSuffix(path, "/") + "/" + url.PathEscape(name)
	case kindQuery:
		if query != "" {
			query += "&"
		}
		query += url.QueryEscape(p.Name) + "=" + url.QueryEscape(name)
	}
	return join(path, query), field, false
}

func join(path, query string) string {
	if path == "" {
		path = "/"
	}
	if query == "" {
		return path
	}
	return path + "?" + query
}

// source returns the loopback address of the partition with number k: its own name where that is an address,
// else the one k after 127.1.0.1, skipping those that end in 0 and 255.
func source(name string, k int) netip.Addr {
	if a, err := netip.ParseAddr(name); err == nil {
		return a
	}
	return netip.AddrFrom4([4]byte{127, byte(1 + k/254/256%254), byte(k / 254 % 256), byte(1 + k%254)})
}

// sources is how many addresses source has to give.
const sources = 254 * 256 * 254

// firstNumber returns the number of the first partition of a run, which follows from its name without the
// digits at its end: so partitions that are new in each run, and have its id in their names, have addresses
// that no run before it used.
func firstNumber(name string) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(strings.TrimRight(name, "0123456789"))) // never fails
	return int(h.Sum64() % sources)
}

// body returns the body of a request of the client named key, and its media type where the key is in it: a
// JSON object, or else a form, whose field has the key for a value. Where the key is elsewhere it is as it
// was.
func (p Partition) body(body []byte, key string) (out []byte, media string) {
	if p.Kind != kindBody || key == "" {
		return body, ""
	}
	if object := map[string]json.RawMessage{}; json.Unmarshal(body, &object) == nil {
		object[p.Name], _ = json.Marshal(key) // a string has a form in JSON
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if e.Encode(object) == nil {
			return bytes.TrimSpace(b.Bytes()), "application/json"
		}
	}
	form, _ := url.ParseQuery(string(body)) // what cannot be read is left out
	form.Set(p.Name, key)
	return []byte(form.Encode()), "application/x-www-form-urlencoded"
}

// minted returns the name on the wire of request n of a phase in which each has another one.
func (o *Options) minted(key string, n int) string {
	if len(o.Minted) > 0 {
		return o.Minted[n%len(o.Minted)]
	}
	return fmt.Sprintf("%s.%d", key, n)
}
