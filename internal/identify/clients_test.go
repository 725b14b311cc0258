package identify

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/load"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// pipes is a listener whose connections are pairs of net.Pipe, for the virtual time of testing/synctest.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	mu    sync.Mutex
	n     int
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { return nil }
func (p *pipes) Addr() net.Addr { return from("127.0.0.1:80") }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	p.mu.Lock()
	p.n++
	client := fmt.Sprintf("127.0.0.1:%d", 20000+p.n)
	if a, ok := transport.SourceAddress(ctx); ok {
		client = fmt.Sprintf("%s:%d", a.Unmap(), 20000+p.n)
	}
	p.mu.Unlock()
	select {
	case p.conns <- piped{theirs, client}:
		return ours, nil
	case <-p.done:
		return nil, errors.New("closed")
	}
}

// from is the address of a client.
type from string

func (from) Network() string  { return "tcp" }
func (a from) String() string { return string(a) }

// piped is a pipe with the address of a client.
type piped struct {
	net.Conn
	client string
}

func (p piped) RemoteAddr() net.Addr { return from(p.client) }

// told is what Find finds out about the clients of a handler that keeps limit.
func told(t *testing.T, h http.Handler, limit string, b Budget,
	as func(*Endpoint)) (out *Found) {
	t.Helper()
	known := endpointKnown(declared(t, limit), b)
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(100 * time.Microsecond)
			h.ServeHTTP(w, r)
			time.Sleep(100 * time.Microsecond)
		})}
		go func() { _ = server.Serve(p) }()
		live := &Endpoint{Load: load.Options{Dial: p.dial, Answers: load.Answers{Classify: statuses},
			Pacer: transport.SleepingPacer(),
			URL:   &url.URL{Scheme: "http", Host: "127.0.0.1", Path: "/items"}}}
		if as != nil {
			as(live)
		}
		out = Find(t.Context(), live, known, b)
		close(p.done)
		_ = server.Close()
	})
	if n := len(out.Timeline.Observations); n > b.MaxRequests {
		t.Errorf("%d requests were sent, of at most %d", n, b.MaxRequests)
	}
	for i, obs := range out.Timeline.Observations {
		if i > 0 && obs.Sent-out.Timeline.Observations[i-1].Sent < b.Every {
			t.Errorf("request %d was sent %s after the one before, want %s", i,
				obs.Sent-out.Timeline.Observations[i-1].Sent, b.Every)
			break
		}
	}
	return out
}

func statuses(status int) timeline.Outcome {
	switch {
	case status == 429:
		return timeline.Denied
	case status < 400:
		return timeline.Allowed
	}
	return timeline.Unknown
}

// endpointKnown is what an identification would know about a limit of one policy.
func endpointKnown(l spec.Limit, b Budget) Limit {
	p := l[0]
	out := Limit{Quota: p.Full(), Spends: int(p.Full()) + 3, Recovery: p.Recovery() * 21 / 20}
	if !p.Windowed() && p.Algorithm == spec.TokenBucket { // units come back while they are used
		unit := float64(p.Rate.Per) / float64(p.Rate.N)
		out.Spends = int(float64(p.Full())/(1-min(0.75, float64(b.Every)/unit))) + 3
	}
	out.Explains = func(tl *timeline.Timeline, side result.Conformance) bool {
		no, err := check.Refuted(tl, l, side, false)
		return err != nil || !no
	}
	return out
}

func declared(t *testing.T, limit string) spec.Limit {
	t.Helper()
	l, err := spec.Parse(limit)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// served is the embedded target with a fault.
func served(t *testing.T, limit, fault string) http.Handler {
	t.Helper()
	s, err := lab.New(lab.Options{Limit: declared(t, limit), Fault: fault})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const (
	separate, shared    = Separate, Shared
	unlimited, notShown = Unlimited, NotShown
)

var plenty = Budget{MaxRequests: 1000, Every: 10 * time.Millisecond, MaxTime: 10 * time.Minute}

// usual is what tells clients of the embedded target apart, whatever its limit.
var usual = []string{"header X-Api-Key", "address"}

func TestWhatTellsClientsApart(t *testing.T) {
	for _, limit := range []string{"fixed-window,rate=5/1s,align=first", "token-bucket,rate=5/s,burst=10",
		"sliding-window-log,rate=1/1s", "token-bucket,rate=20/s,burst=30"} {
		for fault, more := range map[string][]string{
			"":                      usual,
			"forwarded-for-trusted": {"header X-Api-Key", "X-Forwarded-For", "address"},
			"forwarded-trusted":     {"header X-Api-Key", "address", "Forwarded"},
			"real-ip-trusted":       {"header X-Api-Key", "address", "X-Real-IP and such"},
			"key-by-method":         {"header X-Api-Key", "address", "method"},
			"key-by-query":          {"header X-Api-Key", "address", "query"},
			"key-by-path": {"header X-Api-Key", "address", "path", "path in upper case",
				"path percent-encoded", "slash at the end", "two slashes", "dot segment"},
			"keys-shared": {"address"},
		} {
			t.Run(limit+"/"+fault, func(t *testing.T) {
				t.Parallel()
				got := told(t, served(t, limit, fault), limit, plenty, nil)
				if !slices.Equal(got.Named(separate), more) {
					t.Errorf("told apart by %q, want %q\n%s", got.Named(separate), more,
						strings.Join(got.Lines(), "\n"))
				}
				j, err := check.Judge(got.Timeline, declared(t, limit), check.Options{SkipMeasure: true})
				if err != nil || j.Verdict == result.Fail {
					t.Errorf("the recording is judged %s: %v", j.Verdict, err)
				}
				if n := len(got.Named(shared)) + len(more); n < len(got.Rows) {
					t.Errorf("%d of %d are shown\n%s", n, len(got.Rows), strings.Join(got.Lines(), "\n"))
				}
			})
		}
	}
}

// Only what is proved is reported.
func TestWhatDoesNotTellClientsApart(t *testing.T) {
	const limit = "fixed-window,rate=5/1s,align=first"
	before := func(path string, status int) http.Handler { // answers one path in front of the limiter
		right := served(t, limit, "")
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == path {
				w.WriteHeader(status)
				return
			}
			right.ServeHTTP(w, r)
		})
	}
	for name, x := range map[string]struct {
		h        http.Handler
		way      string
		observed string
		detail   string
	}{
		"a method that is not limited": {served(t, limit, "head-unlimited"), "method", unlimited, "in a row"},
		"a method that drops the quota": {&dropping{}, "method", notShown,
			"the plain requests beside it do not keep the limit"},
		"a path that is not there":      {before("/", 404), "path", notShown, "answered 404"},
		"a path that leads elsewhere":   {before("/", 302), "path", notShown, "answered 302 instead of 200"},
		"a path that others use up":     {before("/", 429), "path", notShown, "denied although"},
		"a path behind the limiter":     {missing{served(t, limit, "")}, "path", shared, "denied 2 times"},
		"a quota for each connection":   {served(t, limit, "key-by-connection"), "connection", separate, ""},
		"an address of such a limiter":  {served(t, limit, "key-by-connection"), "address", notShown, ""},
		"one quota for all that differ": {&crowded{plain: 5, other: 5}, "query", separate, ""},
		"a quota that is never spent":   {refusing(2), "query", notShown, ""},
		"a header of one that has none": {served(t, limit, "keys-shared"), "header X-Api-Key", shared, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := told(t, x.h, limit, plenty, nil)
			for _, row := range got.Rows {
				if row.Attribute == x.way && row.Observed == x.observed &&
					strings.Contains(row.Detail, x.detail) {
					return
				}
			}
			t.Errorf("got %s, want %s %s (%s)", strings.Join(got.Lines(), "\n"), x.way, x.observed, x.detail)
		})
	}
}

// dropping has one counter. It resets it whenever the method differs from that of the previous request.
type dropping struct {
	mu     sync.Mutex
	method string
	n      int
	opened time.Time
}

func (d *dropping) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.Method != d.method || time.Since(d.opened) >= time.Second {
		d.method, d.n, d.opened = r.Method, 0, time.Now()
	}
	if d.n++; d.n > 5 {
		w.WriteHeader(http.StatusTooManyRequests)
	}
}

// crowded has one counter for plain requests and one for all others.
type crowded struct {
	plain, other int
	mu           sync.Mutex
	n            [2]int
	opened       [2]time.Time
}

func (c *crowded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	which, most := 0, c.plain
	differs := r.Method != "GET" || r.URL.RequestURI() != "/items" ||
		!strings.HasPrefix(r.RemoteAddr, "127.0.0.1:")
	for name := range r.Header {
		differs = differs || name != "User-Agent" && name != "Accept"
	}
	if differs {
		which, most = 1, c.other
	}
	if time.Since(c.opened[which]) >= time.Second {
		c.n[which], c.opened[which] = 0, time.Now()
	}
	if c.n[which]++; c.n[which] > most {
		w.WriteHeader(http.StatusTooManyRequests)
	}
}

// refusing denies the first n requests that have a query, and no others.
func refusing(n int) http.Handler {
	var mu sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.RawQuery != "" && n > 0 {
			n--
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
}

// missing answers 404 for the root, from behind the limiter.
type missing struct{ http.Handler }

func (m missing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/" {
		w = &instead{w}
	}
	m.Handler.ServeHTTP(w, r)
}

// instead turns 200 into 404.
type instead struct{ http.ResponseWriter }

func (w *instead) WriteHeader(status int) {
	if status == http.StatusOK {
		status = http.StatusNotFound
	}
	w.ResponseWriter.WriteHeader(status)
}

// With a key partition, another key is another client. So is another spelling of it, unless keys are folded.
func TestAKeyAndItsSpellings(t *testing.T) {
	const limit = "token-bucket,rate=5/s,burst=10"
	for fault, want := range map[string][]string{
		"":            {"header X-Api-Key", "key in upper case"},
		"keys-folded": {"header X-Api-Key"},
	} {
		got := told(t, served(t, limit, fault), limit, plenty, func(l *Endpoint) {
			l.Partition, l.Load.Partition = "abc", load.Partition{Kind: "header", Name: "X-Api-Key"}
		})
		if !slices.Equal(got.Named(separate), want) {
			t.Errorf("%s: told apart by %q, want %q\n%s", fault, got.Named(separate), want,
				strings.Join(got.Lines(), "\n"))
		}
	}
}

// The budget is kept, and the reason is given for what was not asked.
func TestClientsKeepTheBudget(t *testing.T) {
	const limit = "fixed-window,rate=5/1s,align=first"
	for _, b := range []Budget{
		{MaxRequests: 10, Every: time.Millisecond, MaxTime: time.Hour},
		{MaxRequests: 60, Every: 20 * time.Millisecond, MaxTime: time.Hour},
		{MaxRequests: 1000, Every: time.Millisecond, MaxTime: 500 * time.Millisecond},
		{MaxRequests: 1000, Every: time.Millisecond, MaxTime: 5 * time.Second},
	} {
		got := told(t, served(t, limit, ""), limit, b, nil)
		if end := got.Timeline.End(); end > b.MaxTime {
			t.Errorf("%+v: took %s", b, end)
		}
		if !strings.Contains(strings.Join(got.Lines(), "\n"), "of the budget are left") {
			t.Errorf("%+v: got %s, want the reason", b, strings.Join(got.Lines(), "\n"))
		}
	}
	got := told(t, http.NotFoundHandler(), limit, plenty, nil)
	if n := len(got.Named(notShown)); n != len(got.Rows) {
		t.Errorf("nothing is limited: got %s", strings.Join(got.Lines(), "\n"))
	}
	fails := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	got = told(t, fails, limit, plenty, nil)
	if n := len(got.Timeline.Observations); n > 30 || got.Stopped == "" {
		t.Errorf("%d requests were sent to what is broken, want few: %s", n, got.Stopped)
	}
}
