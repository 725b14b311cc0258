package identify

import (
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Way is one thing in which a client may differ from the plain one.
type Way struct {
	// Name is how it is told. Plain and Other are what is sent, as in timeline.AttributeRow.
	Name, Plain, Other string
	// ID is a word for it, for names of partitions and phases.
	ID string
	// AliasOf is the ID of the way of which this is another spelling: it is asked where that one tells
	// clients apart, or is not shown. Empty: it is none.
	AliasOf string
	// Request is what the requests have of their own.
	Request timeline.Request
	// Key tells that the key of the partition is another one, Address is another source address; empty: the
	// same. Moves tells that the connection is another one too.
	Key     bool
	Address string
	Moves   bool
	// Moot says why it cannot be asked; empty: it can.
	Moot string
}

// The words for the ways that others depend on.
const (
	wayConnection = "connection"
	wayKey        = "key"
	wayPath       = "path"
)

// otherSource is an address of this machine that the plain client does not have.
const otherSource = "127.71.0.9"

// Ways are those in which requests can differ, in the order in which they are asked: each is safe (RFC 9110
// section 9.2.1), and invented addresses belong to nobody.
func (l *Live) Ways() []Way {
	rows := map[timeline.Attribute]timeline.AttributeRow{}
	for _, row := range timeline.Attributes() {
		rows[row.Attribute] = row
	}
	vary := func(name string, a timeline.Attribute, aliasOf string) Way {
		return Way{Name: name, ID: string(a), Plain: rows[a].Plain, Other: rows[a].Other, AliasOf: aliasOf,
			Request: timeline.Request{Vary: a}}
	}
	out := []Way{{Name: "connection", ID: wayConnection, Plain: "connection 1", Other: "connection 2",
		Moves: true}}
	out = append(out, l.keyWays()...)
	out = append(out, vary("X-Forwarded-For", timeline.ForwardedFor, ""), l.addressWay(), l.pathWay(),
		l.methodWay(), vary("query", timeline.QueryString, ""), vary("Forwarded", timeline.Forwarded, ""),
		vary("X-Real-IP and such", timeline.RealIP, ""))
	path := l.Load.URL.EscapedPath()
	if strings.ToUpper(path) != path {
		out = append(out, vary("path in upper case", timeline.PathCase, wayPath),
			vary("path percent-encoded", timeline.PathEncoding, wayPath))
	}
	if path != "" && !strings.HasSuffix(path, "/") {
		out = append(out, vary("slash at the end", timeline.PathLastSlash, wayPath),
			vary("two slashes", timeline.PathSlashes, wayPath),
			vary("dot segment", timeline.PathDots, wayPath))
	}
	if l.Load.Partition.Kind == "header" {
		out = append(out, vary("key in upper case", timeline.KeyCase, wayKey))
		if !l.Load.HTTP2 {
			out = append(out, vary("field name in lower case", timeline.KeyFieldCase, wayKey),
				vary("spaces around the key", timeline.KeySpaces, wayKey))
		}
	}
	return out
}

// noKey is the key of a client that has none.
const noKey = "none"

// keyWays are other keys: where the partition says, or in the fields that the user gave, or in a usual one.
func (l *Live) keyWays() []Way {
	const usual = "X-Api-Key"
	if p := l.Load.Partition; p.Kind != "" && p.Kind != "address" {
		name := strings.TrimSpace(p.Kind + " " + p.Name)
		return []Way{{Name: name, ID: wayKey, Plain: "its own key", Other: "another key", Key: true,
			Moves: true}}
	}
	var out []Way
	for _, name := range slices.Sorted(maps.Keys(l.Load.Header)) {
		low := strings.ToLower(name)
		if name != "Cookie" && !strings.Contains(low, "key") && !strings.Contains(low, "token") &&
			!strings.HasPrefix(low, "authorization") && !strings.Contains(low, "client") {
			continue
		}
		other := "rlcheck-other-client"
		if scheme, _, ok := strings.Cut(l.Load.Header.Get(name), " "); ok && name == "Authorization" {
			other = scheme + " " + other
		}
		out = append(out, fieldWay(name, "its own", other))
	}
	if len(out) == 0 {
		out = append(out, fieldWay(usual, noKey, "rlcheck-other-client"))
	}
	return out
}

func fieldWay(name, plain, other string) Way {
	return Way{Name: "header " + name, ID: wayKey + "-" + strings.ToLower(name), Plain: plain,
		Other:   name + ": another one",
		Request: timeline.Request{Header: map[string]string{name: other}}}
}

// addressWay is another source address, which only loopback addresses of IPv4 give.
func (l *Live) addressWay() Way {
	w := Way{Name: "address", ID: "address", Plain: "127.0.0.1", Other: otherSource, Address: otherSource,
		Moves: true}
	a, err := netip.ParseAddr(l.Load.URL.Hostname())
	kind := l.Load.Partition.Kind
	switch {
	case err != nil || !a.Is4() || !a.IsLoopback() || l.Load.Socket != "" || l.Load.Proxy != nil:
		w.Moot = "this machine has one address to reach it from"
	case kind != "" && kind != "address":
		w.Moot = "it is asked with --partition none or address"
	}
	return w
}

// pathWay is another path: the root, which is most likely to be there.
func (l *Live) pathWay() Way {
	other := "/"
	if p := l.Load.URL.EscapedPath(); p == "" || p == "/" {
		other = "/rlcheck"
	}
	if q := l.Load.URL.RawQuery; q != "" {
		other += "?" + q
	}
	w := Way{Name: "path", ID: wayPath, Plain: "its own", Other: other,
		Request: timeline.Request{Path: other}}
	if l.Load.Partition.Kind == "path" {
		w.Moot = "the path has the key"
	}
	return w
}

// methodWay is another safe method.
func (l *Live) methodWay() Way {
	other := http.MethodHead
	if m := l.Load.Method; m != "" && m != http.MethodGet {
		other = http.MethodGet
	}
	return Way{Name: "method", ID: "method", Plain: "its own", Other: other,
		Request: timeline.Request{Method: other}}
}
