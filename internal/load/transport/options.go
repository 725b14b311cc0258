package transport

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// DefaultMaxConnections is the default of Options.MaxConnections, and defaultTimeout that of Options.Timeout.
const (
	DefaultMaxConnections = 512
	defaultTimeout        = 5 * time.Second
)

// Options say where and how a schedule is sent. The zero value of a member means its default; only URL is
// required.
type Options struct {
	// URL is the target, http or https. Origin is where phases with Phase.Origin go; nil if there are none.
	URL, Origin *url.URL
	// Method is GET by default.
	Method string
	// Header holds extra fields, with names in canonical form. Host, User-Agent and Accept replace the
	// default ones.
	Header http.Header
	// Body is sent with every request, with its Content-Length. It may be empty.
	Body []byte
	// CostHeader names the field that carries the cost of requests with cost > Each; "" for none.
	CostHeader string
	// Each is how many units a request costs that says nothing of it, at least 1.
	Each int64
	// Partition says how the name of a partition becomes part of a request.
	Partition Partition
	// Keys maps names of partitions to the names sent on the wire in their place. It may be nil.
	Keys map[string]string
	// Minted are the names that requests of phases with Mint use in turn on the wire. If it is empty, names
	// are invented.
	Minted []string
	// Timeout bounds the time from the send of a request to the end of its answer, and the time of a dial.
	// The default is 5 s.
	Timeout time.Duration
	// TLS is used for https; nil verifies against the roots of the system. Its ServerName defaults to the
	// host of the URL.
	TLS *tls.Config
	// HTTP2 sends over HTTP/2. An https target must offer it (ALPN); plain http uses prior knowledge. The
	// streams of a partition share one connection as far as the target allows. With a Content-Type of
	// application/grpc, GET becomes POST and an empty Body becomes an empty message. Answers of gRPC then get
	// the HTTP status that their grpc-status stands for.
	HTTP2 bool
	// PastCaches, if not empty, sends requests past caches. Each request gets a query parameter with this
	// value and a unique number. It also gets Cache-Control: no-cache, unless Header has that field.
	PastCaches string
	// MaxConnections is the most connections open at once in all, 512 by default. Over HTTP/2 it bounds the
	// streams.
	MaxConnections int
	// Dial opens a connection; nil uses a net.Dialer. It must give up when ctx ends. With partitions by
	// source address, SourceAddress(ctx) is the address to dial from.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Pacer is how the sending goroutine waits; nil uses PrecisePacer().
	Pacer Pacer
	// Economical makes the precise pacer sleep to the end of every wait instead of spinning.
	Economical bool
	// Do carries out the event of a Hook phase; it may be nil if there is none. It must give up when ctx
	// ends. An error ends the run with a note.
	Do func(ctx context.Context, e timeline.Event) error
	// Next is asked when a request of an open-loop phase is due. It may wait; all later requests are then due
	// later too. If it returns false, the rest of the phase is not sent. Nil sends everything as planned.
	Next func() bool
	// Share makes the recorder one of several that send a schedule together; nil for a single recorder.
	Share *Share
	Route
	Answers
	Ceilings
	Keeping
}

// Route is which way connections take.
type Route struct {
	// Socket is the path of a Unix socket to connect to in place of the host of each URL; "" for none.
	Socket string
	// Proxy is an HTTP proxy, http://[USER:PASSWORD@]HOST[:PORT]; nil for none. Requests for https or over
	// HTTP/2 go through a tunnel (CONNECT). The environment is never asked for a proxy.
	Proxy *url.URL
	// Families keeps connections on one version of IP; nil: those of each recording on their own.
	Families *Families
	// Guard is called with each address before a connection is made; an error forbids the connection. It sees
	// the address that is really dialled, so a name cannot resolve to another one meanwhile. It is not used
	// together with Dial.
	Guard func(netip.Addr) error
}

// Answers is what answers mean, and what is kept of them.
type Answers struct {
	// Classify turns a status into an outcome. nil: timeline.StatusOutcome.
	Classify func(status int) timeline.Outcome
	// DeniedField makes an admission with this field a denial: NAME, or NAME: VALUE; "" for none.
	DeniedField string
	// DeniedBody tells whether a body makes its answer a denial, whatever the status is. It gets at most the
	// first 64 KiB. An answer whose body did not arrive whole, and that it does not call a denial, is
	// unknown. nil: no body says so.
	DeniedBody func(body []byte) bool
	// Told returns what an answer says that its request cost, in units. It gets the kept fields, and at most
	// the first 4 MiB of the body. An admission that does not say it, or is not whole, has
	// timeline.CostUnknown. ToldField is the field that it reads, which is then kept; "" for none. nil: a
	// request costs what was planned.
	Told      func(fields timeline.Fields, body []byte) (units int64, ok bool)
	ToldField string
	// SilentDenials makes a denial of a request whose connection ends, or gives no answer in time.
	SilentDenials bool
	// Record tells which fields of an answer are kept, by canonical name. By default these are Retry-After,
	// Date, Age, Cache-Control, Content-Type, Expires, Location, Server, Via, Grpc-Status,
	// Grpc-Status-Details-Bin, and those whose names suggest a quota or a wait (headers.Suggests). Fields by
	// which caches say that they gave the answer are kept too.
	Record func(name string) bool
	// KeepBody is how many bytes of the body of a denial are kept.
	KeepBody int
}

// Ceilings are where a run ends that sends too much, or takes too long.
type Ceilings struct {
	// MaxRequests and MaxDuration are ceilings; 0 for none. Reaching one ends the run with a note. Requests
	// that were planned and not sent are counted as unsent. Requests in flight are still waited for.
	MaxRequests int
	MaxDuration time.Duration
}

// Keeping is what becomes of a recording while it is made.
type Keeping struct {
	// WallError and Tick are copied into the header of the timeline.
	WallError, Tick time.Duration
	// Journal gets the recording while it is made; nil for none. The caller closes its destination.
	Journal *timeline.JournalWriter
	// Spill makes the files of a recording that is too long for memory (LongRecording). Nil keeps everything
	// in memory.
	Spill func() (timeline.Spill, error)
	// Progress is called from one goroutine at most every 100 ms, and once at the end; nil for none.
	Progress func(Progress)
}

// Progress is how far a recording has come.
type Progress struct {
	// Allowed, Denied and Unknown count the requests that are over. Sent counts those that were sent, Planned
	// the most that the schedule may send. An answer counts as it came, also one that may belong to another
	// request.
	Allowed, Denied, Unknown, Sent, Planned int
	// Late is the largest lateness so far of any request with a planned time.
	Late time.Duration
	// Phase is the name of the current phase.
	Phase string
}

// Complete returns o with its defaults filled in, or every reason why it cannot be used, joined.
func (o Options) Complete() (*Options, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.Method = cmp.Or(o.Method, http.MethodGet)
	if o.SpeaksGRPC() {
		o.asGRPC()
	}
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.MaxConnections = cmp.Or(o.MaxConnections, DefaultMaxConnections)
	if o.Each = max(o.Each, 1); o.Families == nil {
		o.Families = &Families{}
	}
	if o.Classify == nil {
		o.Classify = timeline.StatusOutcome
	}
	if o.Record == nil {
		o.Record = recorded
	}
	if keeps, name := o.Record, http.CanonicalHeaderKey(o.ToldField); name != "" {
		o.Record = func(field string) bool { return field == name || keeps(field) }
	}
	if o.Pacer == nil {
		o.Pacer = PrecisePacer()
	}
	o.Pacer = TunedPacer(o.Pacer, runtime.GOMAXPROCS(0), o.Economical)
	o.CostHeader = http.CanonicalHeaderKey(o.CostHeader)
	return &o, nil
}

// SpeaksGRPC tells whether the requests of o are gRPC calls: HTTP/2 with the Content-Type of gRPC.
func (o *Options) SpeaksGRPC() bool { return o.HTTP2 && GRPCIs(o.Header.Get("Content-Type")) }

// asGRPC completes the options of gRPC calls: POST, with an empty message if there is no body.
func (o *Options) asGRPC() {
	if o.Method == http.MethodGet {
		o.Method = http.MethodPost
	}
	if len(o.Body) == 0 {
		o.Body = GRPCNoMessage
	}
}

// check returns every reason why o cannot be used, joined; nil if there is none.
func (o *Options) check() error {
	var errs []error
	add := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	if o.URL == nil {
		return errors.New("url: it is missing (name the target)")
	}
	add(checkURL("url", o.URL))
	add(o.Partition.check(o.URL))
	if o.Origin != nil {
		add(checkURL("origin", o.Origin))
		add(o.Partition.check(o.Origin))
	}
	add(o.checkWay())
	add(checkMethod(o.Method))
	add(CheckHeader(o.Header))
	if o.CostHeader != "" {
		if err := CheckName(o.CostHeader); err != nil {
			add(fmt.Errorf("cost header: %w", err))
		}
	}
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"timeout", int64(o.Timeout)}, {"kept body", int64(o.KeepBody)},
		{"connections", int64(o.MaxConnections)},
		{"ceiling of requests", int64(o.MaxRequests)}, {"ceiling of time", int64(o.MaxDuration)},
	} {
		if n.value < 0 {
			add(fmt.Errorf("%s %d: the value may not be negative", n.name, n.value))
		}
	}
	return errors.Join(errs...)
}

// checkWay tells whether the socket, the proxy and the partition can be used together.
func (o *Options) checkWay() error {
	switch p := o.Proxy; {
	case o.Socket != "" && o.Partition.Kind == ByAddress:
		return errors.New("partition address: a Unix socket has no address (use a header, the path or " +
			"the query)")
	case p == nil:
		return nil
	case o.Socket != "":
		return errors.New("proxy: a Unix socket is connected to directly (leave one of them out)")
	case p.Scheme != "http" || p.Hostname() == "" || strings.Trim(p.Path, "/") != "" || p.RawQuery != "":
		return errors.New("proxy: a proxy is http://HOST:PORT or http://USER:PASSWORD@HOST:PORT")
	case o.Partition.Kind == ByAddress:
		return errors.New("partition address: the proxy has one address for all clients (use a header, " +
			"the path or the query)")
	}
	return nil
}

func checkURL(what string, u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%s %q: the scheme is http or https (write http://host/)", what, u.Redacted())
	case u.Hostname() == "":
		return fmt.Errorf("%s %q: there is no host (write http://host/)", what, u.Redacted())
	case u.User != nil:
		return fmt.Errorf("%s %q: a user in a url is not sent (use a header Authorization)", what,
			u.Redacted())
	case strings.ContainsAny(u.Host+u.RawQuery, " \r\n\t\x00"):
		return fmt.Errorf("%s %q: white space is escaped in a url (write %%20)", what, u.Redacted())
	}
	return nil
}

// recorded is the default of Options.Record.
func recorded(name string) bool {
	switch name {
	case "Retry-After", "Date", "Age", "Content-Type", "Via", "Cache-Control", "Expires", "Location",
		"Server", "Grpc-Status", "Grpc-Status-Details-Bin",
		"Cache-Status", "X-Cache", "X-Cache-Status", "X-Proxy-Cache", "Cf-Cache-Status":
		return true
	}
	return headers.Suggests(name)
}

// Outcome returns the outcome that an answer stands for: by its status, and by the field that marks an
// admission as a denial.
func (o *Options) Outcome(status int, h http.Header) timeline.Outcome {
	out := o.Classify(status)
	name, value, valued := strings.Cut(o.DeniedField, ":")
	if name == "" || out != timeline.Allowed {
		return out
	}
	for _, v := range h.Values(name) {
		if !valued || strings.EqualFold(strings.TrimSpace(v), strings.TrimSpace(value)) {
			return timeline.Denied
		}
	}
	return out
}

// sourceKey is the context key of SourceAddress.
type sourceKey struct{}

// SourceAddress returns the address that a connection is to be dialled from, and whether there is one. A Dial
// function uses it with partitions by source address.
func SourceAddress(ctx context.Context) (netip.Addr, bool) {
	a, ok := ctx.Value(sourceKey{}).(netip.Addr)
	return a, ok
}

// WithSource returns a context in which a is the SourceAddress.
func WithSource(ctx context.Context, a netip.Addr) context.Context {
	return context.WithValue(ctx, sourceKey{}, a)
}
