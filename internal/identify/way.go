package identify

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/load"
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

// Teller is a Sender whose requests can be those of clients that differ from the plain one.
type Teller interface {
	Sender
	// Ways are those in which they can differ, in the order in which they are asked.
	Ways() []Way
	// Turns is silent for a rest, and then sends the turns one after the other, each request after the answer
	// to the one before. A request that differs has the partition of Way.Side.
	// None is sent later than until, since the start of the recording.
	Turns(ctx context.Context, rest, until time.Duration, turns []Turn) ([]timeline.Observation, error)
}

// Turn is a part of a round: requests one after the other, of the plain client or of one that differs.
type Turn struct {
	// Name is that of the phase. Requests are sent Every apart, until Denials are denied; 0: all are sent.
	Name     string
	Requests int
	Every    time.Duration
	Denials  int
	// Way is in what they differ; nil: the plain client.
	Way *Way
}

// Side is the partition of a client that differs.
func (w *Way) Side(plain string) string { return timeline.OtherSide(plain + "-" + w.ID) }

// wire is the name of a client that differs, where the plain one has plain: requests with one name share
// connections.
func (w *Way) wire(p load.Partition, plain string) string {
	switch {
	case w.Address != "":
		return w.Address
	case w.Key:
		return w.Side(plain)
	case w.Moves && p.Kind == "address":
		return "::ffff:" + plain // the same address
	case w.Moves:
		return plain + "-2"
	}
	return plain
}

// plainSource is where the plain client asks from, where addresses tell clients apart.
const plainSource = "127.71.0.8"

// Turns sends the turns of a round in one recording, so that the plain client keeps its connection.
func (l *Live) Turns(ctx context.Context, rest, until time.Duration,
	turns []Turn) ([]timeline.Observation, error) {
	if l.Now(); !l.silent(ctx, rest) { // the first phase starts the recording
		return nil, nil
	}
	o, plan, n := l.taking(turns), &timeline.Schedule{}, 0
	plain := l.plain(turns, &o)
	o.Keys = maps.Clone(o.Keys)
	if o.Keys == nil {
		o.Keys = map[string]string{}
	}
	for _, a := range turns {
		p, client := timeline.Phase{Name: a.Name, Shape: timeline.Constant}, l.Partition
		wire := plain
		if a.Way != nil {
			p.Request, client = a.Way.Request, a.Way.Side(l.Partition)
			if wire = a.Way.wire(o.Partition, plain); a.Way.ID == wayConnection { // with the same key
				o.Keys[wire] = cmp.Or(l.Load.Keys[plain], plain)
			}
		}
		p.Request.Keys = map[string]string{client: wire}
		for i := range a.Requests {
			p.Arrivals = append(p.Arrivals, timeline.Arrival{Seq: n, Partition: client, Phase: a.Name,
				At: time.Duration(i+1) * a.Every, Cost: 1})
			n++
		}
		plan.Phases = append(plan.Phases, p)
	}
	return l.record(ctx, plan, o, until)
}

// plain returns the name of the plain client. Where some turn has another address, that is an address too.
func (l *Live) plain(turns []Turn, o *load.Options) string {
	if o.Partition.Kind == "address" {
		return plainSource
	}
	for _, a := range turns {
		if a.Way != nil && a.Way.Address != "" {
			o.Partition = load.Partition{Kind: "address"}
			return "127.0.0.1"
		}
	}
	return l.Partition
}

// taking returns the options of a round: one request at a time, and no more of a turn than it asks for.
func (l *Live) taking(turns []Turn) load.Options {
	var mu sync.Mutex
	at, asked, denied := 0, 0, 0
	answered := make(chan struct{}, 1)
	o := l.round(&mu, answered, func(out timeline.Outcome) {
		if out == timeline.Denied {
			denied++
		}
	})
	o.Next = func() bool {
		mu.Lock()
		if asked == turns[at].Requests { // all of a turn were sent, and answered
			at, asked, denied = at+1, 0, 0
		}
		first := asked == 0
		asked++
		mu.Unlock()
		select {
		case <-answered:
		case <-time.After(map[bool]time.Duration{false: lostAfter}[first]):
		}
		mu.Lock()
		defer mu.Unlock()
		over := turns[at].Denials > 0 && denied >= turns[at].Denials
		if over {
			at, asked, denied = at+1, 0, 0
		}
		return !over
	}
	return o
}

// round is what was seen of the plain client and, by the ID of its way, of each other.
type round struct {
	plain []timeline.Observation
	other map[string][]timeline.Observation
}

func newRound(seen []timeline.Observation) round {
	r := round{other: map[string][]timeline.Observation{}}
	for _, o := range seen {
		id := strings.TrimPrefix(o.Phase, apartPhase)
		if id == "plain" || id == "quota" {
			r.plain = append(r.plain, o)
			continue
		}
		r.other[id] = append(r.other[id], o)
	}
	return r
}

// drawn tells whether a client that differs was denied because the plain one spent its quota: that one was
// denied before, and the other never got anything. Nor did those with which the other may share a quota use
// it up: in a round there are no more of them than a quota has units.
func (r round) drawn(own []timeline.Observation) bool {
	spent := func(p timeline.Observation) bool {
		return p.Outcome == timeline.Denied && p.FirstByte <= own[0].Sent
	}
	return len(own) > 1 && count(own, answeredAs(timeline.Denied)) == len(own) &&
		slices.ContainsFunc(r.plain, spent)
}
