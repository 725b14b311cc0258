package identify

import (
	"context"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Way is one thing in which another client may differ from the plain client.
type Way struct {
	// Name is for people. Plain and Other are what both clients send, as in timeline.AttributeRow.
	Name, Plain, Other string
	// ID stands in the names of partitions and phases.
	ID string
	// AliasOf is the ID of another way, of which this one is a second spelling; empty: it is none. A spelling
	// of the key is asked about only where the key tells clients apart. Any other is not asked about where
	// clients share the quota.
	AliasOf string
	// Request is what the requests of the other client have of their own.
	Request timeline.Request
	// Key: the other client has another key of the partition. Address is its source address; empty: that of
	// the plain client. Moves: it uses another connection.
	Key     bool
	Address string
	Moves   bool
	// Moot says why the way cannot be asked about; empty: it can.
	Moot string
}

// The IDs of ways on which other ways depend.
const (
	Connection = "connection"
	Key        = "key"
	Path       = "path"
)

// NoKey is Way.Plain where the plain client has no key.
const NoKey = "none"

// Side is the partition of the other client, where plain is that of the plain client.
func (w *Way) Side(plain string) string { return timeline.OtherSide(plain + "-" + w.ID) }

// ClientsAsker is a Sender that sends requests as clients that differ from the plain client, too.
type ClientsAsker interface {
	Sender
	// Ways returns the ways in which clients can differ, in the order to ask about them.
	Ways() []Way
	// Turns rests, and then sends phases one after the other, none later than until, each request after the
	// answer to the previous one. Requests of the other client have the partition of Way.Side. The
	// observations ascend by Sent.
	Turns(ctx context.Context, rest, until time.Duration, turns []Phase) ([]timeline.Observation, error)
}

// otherSource is an address of this machine that is not that of the plain client.
const otherSource = "127.71.0.9"

// Ways are the ways in which requests can differ, in the order to ask about them: first the key, which tells
// clients apart most often. All are safe (RFC 9110 section 9.2.1). Invented addresses belong to nobody.
func (e *Endpoint) Ways() []Way {
	rows := map[timeline.Attribute]timeline.AttributeRow{}
	for _, row := range timeline.Attributes() {
		rows[row.Attribute] = row
	}
	vary := func(name string, a timeline.Attribute, aliasOf string) Way {
		return Way{Name: name, ID: string(a), Plain: rows[a].Plain, Other: rows[a].Other,
			AliasOf: aliasOf, Request: timeline.Request{Vary: a}}
	}
	out := append(e.keyWays(), Way{Name: "connection", ID: Connection, Plain: "connection 1",
		Other: "connection 2", Moves: true})
	out = append(out, vary("X-Forwarded-For", timeline.ForwardedFor, ""), e.addressWay(), e.pathWay(),
		e.methodWay(), vary("query", timeline.QueryString, ""), vary("Forwarded", timeline.Forwarded, ""),
		vary("X-Real-IP and such", timeline.RealIP, ""))
	path := e.Load.URL.EscapedPath()
	if strings.ToUpper(path) != path {
		out = append(out, vary("path in upper case", timeline.PathCase, Path),
			vary("path percent-encoded", timeline.PathEncoding, Path))
	}
	if path != "" && !strings.HasSuffix(path, "/") {
		out = append(out, vary("slash at the end", timeline.PathLastSlash, Path),
			vary("two slashes", timeline.PathSlashes, Path),
			vary("dot segment", timeline.PathDots, Path))
	}
	if e.Load.Partition.Kind == "header" {
		out = append(out, vary("key in upper case", timeline.KeyCase, Key))
		if !e.Load.HTTP2 {
			out = append(out, vary("field name in lower case", timeline.KeyFieldCase, Key),
				vary("spaces around the key", timeline.KeySpaces, Key))
		}
	}
	return out
}

// keyWays are other keys: in the partition, else in the fields of the user, else in a usual field.
func (e *Endpoint) keyWays() []Way {
	const usual = "X-Api-Key"
	if p := e.Load.Partition; p.Kind != "" && p.Kind != "address" {
		name := strings.TrimSpace(p.Kind + " " + p.Name)
		return []Way{{Name: name, ID: Key, Plain: "its own key", Other: "another key",
			Key: true, Moves: true}}
	}
	var out []Way
	for _, name := range slices.Sorted(maps.Keys(e.Load.Header)) {
		low := strings.ToLower(name)
		if name != "Cookie" && !strings.Contains(low, "key") && !strings.Contains(low, "token") &&
			!strings.HasPrefix(low, "authorization") && !strings.Contains(low, "client") {
			continue
		}
		other := "rlcheck-other-client"
		if scheme, _, ok := strings.Cut(e.Load.Header.Get(name), " "); ok && name == "Authorization" {
			other = scheme + " " + other
		}
		out = append(out, fieldWay(name, "its own", other))
	}
	if len(out) == 0 {
		out = append(out, fieldWay(usual, NoKey, "rlcheck-other-client"))
	}
	return out
}

func fieldWay(name, plain, other string) Way {
	return Way{Name: "header " + name, ID: Key + "-" + strings.ToLower(name), Plain: plain,
		Other:   name + ": another one",
		Request: timeline.Request{Header: map[string]string{name: other}}}
}

// addressWay is another source address. Only the loopback addresses of IPv4 offer one.
func (e *Endpoint) addressWay() Way {
	w := Way{Name: "address", ID: "address", Plain: "127.0.0.1", Other: otherSource,
		Address: otherSource, Moves: true}
	a, err := netip.ParseAddr(e.Load.URL.Hostname())
	kind := e.Load.Partition.Kind
	switch {
	case err != nil || !a.Is4() || !a.IsLoopback() || e.Load.Socket != "" || e.Load.Proxy != nil:
		w.Moot = "this machine has one address to reach it from"
	case kind != "" && kind != "address":
		w.Moot = "the test needs --partition none or address"
	}
	return w
}

// pathWay is another path: the root, which exists most often.
func (e *Endpoint) pathWay() Way {
	other := "/"
	if p := e.Load.URL.EscapedPath(); p == "" || p == "/" {
		other = "/rlcheck"
	}
	if q := e.Load.URL.RawQuery; q != "" {
		other += "?" + q
	}
	w := Way{Name: "path", ID: Path, Plain: "its own", Other: other,
		Request: timeline.Request{Path: other}}
	if e.Load.Partition.Kind == "path" {
		w.Moot = "the path has the key"
	}
	return w
}

// methodWay is another safe method.
func (e *Endpoint) methodWay() Way {
	other := http.MethodHead
	if m := e.Load.Method; m != "" && m != http.MethodGet {
		other = http.MethodGet
	}
	return Way{Name: "method", ID: "method", Plain: "its own", Other: other,
		Request: timeline.Request{Method: other}}
}
