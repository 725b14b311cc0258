package transport

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Partition says how the name of a partition becomes part of a request. The zero value leaves it out.
type Partition struct {
	// Kind is header, address, path, query, cookie or body; "" for none.
	Kind string
	// Name is the name of the header field, query parameter, cookie or body field; "" for the other kinds.
	Name string
	// Format is the value of a header field in which {key} stands for the name; "" for the name alone.
	Format string
}

// The kinds of Partition.
const (
	byNone    = ""
	ByHeader  = "header"
	ByAddress = "address"
	ByPath    = "path"
	ByQuery   = "query"
	ByCookie  = "cookie"
	ByBody    = "body"
)

// inFormat stands for the name in a Format.
const inFormat = "{key}"

// ParsePartition reads header:NAME, header:NAME: FORMAT, query:NAME, cookie:NAME, body:NAME, address or path.
// A header field must not frame the message. The error says what is wrong and what to write.
func ParsePartition(s string) (Partition, error) {
	const want = `write header:NAME, query:NAME, cookie:NAME, body:NAME, path or address`
	format := ""
	kind, name, named := strings.Cut(s, ":")
	switch kind {
	case ByAddress, ByPath:
		if named {
			return Partition{}, fmt.Errorf("partition %q: %s takes no name (write %q)", s, kind, kind)
		}
	case ByHeader:
		if name, format, named = strings.Cut(name, ":"); named && !strings.Contains(format, inFormat) {
			return Partition{}, fmt.Errorf("partition %q: the format has no %s", s, inFormat)
		}
		format = strings.TrimSpace(format)
		if err := CheckValue(format); err != nil {
			return Partition{}, fmt.Errorf("partition %q: %w", s, err)
		}
		if err := CheckName(name); err != nil {
			return Partition{}, fmt.Errorf("partition %q: %w", s, err)
		}
		name = http.CanonicalHeaderKey(name)
	case ByQuery:
		if name == "" {
			return Partition{}, fmt.Errorf("partition %q: the query parameter has no name (write query:key)",
				s)
		}
	case ByBody:
		if name == "" {
			return Partition{}, fmt.Errorf("partition %q: the field has no name (write body:user)",
				s)
		}
	case ByCookie:
		if !IsToken(name) {
			return Partition{}, fmt.Errorf("partition %q: a cookie has an HTTP token for a name (write "+
				"cookie:session)", s)
		}
	default:
		return Partition{}, fmt.Errorf("partition %q: there is no such kind (%s)", s, want)
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

// Value returns the value of the header field that names a partition. Its Kind is ByHeader.
func (p Partition) Value(name string) string {
	if p.Format == "" {
		return name
	}
	return strings.ReplaceAll(p.Format, inFormat, name)
}

// check tells whether p can be used with the target u.
func (p Partition) check(u *url.URL) error {
	if p.Kind == byNone {
		return nil
	}
	if _, err := ParsePartition(p.String()); err != nil {
		return err
	}
	if p.Kind != ByAddress || u.Hostname() == "localhost" {
		return nil
	}
	if a, err := netip.ParseAddr(u.Hostname()); err != nil || !a.Is4() || !a.IsLoopback() {
		return fmt.Errorf("partition address: %s: only 127.0.0.0/8 has many source addresses (use a target "+
			"on 127.0.0.1)", u.Hostname())
	}
	return nil
}
