package rlchecktest

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlcheck/rlcheck"
	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/spec"
)

const (
	// racers is how many goroutines ask at the same instant, for half as many places. wide is how many
	// clients they do so for.
	racers, wide = 64, 20
	// narrow is how many clients a goroutine on each processor asks for, for one place. These are nearer
	// together than more goroutines can be: a limiter that looks before it counts is caught within
	// nanoseconds.
	narrow = 400
	// spins is how often a goroutine looks for the others before it lets them run.
	spins = 1 << 12
	// mostSpent is how many requests use up the quota of one client first, at most.
	mostSpent = 2000
)

// race asks the handler from goroutines that are let go together, for the last places of a quota. Nothing
// lies between them and the handler, so they are nearer together than over any network.
//
//	quota 100   68 requests, one after the other, then 64 together: 32 may be admitted
//	            99 requests, one after the other, then 2 together on 2 processors: 1 may be admitted
func (c *config) race(build func() http.Handler) (shown, bool) {
	mark, ok := marker(c.partition)
	quota, fits := raceQuota(c.limit)
	if !ok || !fits || c.denial.byContent() || len(c.keys) > 0 ||
		len(c.only) > 0 && !slices.Contains(c.only, "race") ||
		slices.Contains(c.skip, "race") {
		return shown{}, false
	}
	h, processors := build(), min(racers, max(2, runtime.GOMAXPROCS(0)))
	blank := c.request()
	var all []rlcheck.Request
	admitted := false
	for round := range wide + narrow*100/(100+quota) {
		together, places := racers, racers/2
		if round >= wide {
			together, places = processors, 1
		}
		client := c.racer(round)
		asks := make([]ask, max(0, quota-places)+together)
		for i := range asks {
			asks[i] = ask{r: c.copied(blank), w: httptest.NewRecorder()}
			mark(asks[i].r, client)
		}
		one := c.sendAll(h, asks, len(asks)-together, client)
		if i := slices.IndexFunc(asks, func(a ask) bool { return a.panicked != "" }); i >= 0 {
			text := "FAIL  the handler panics: " + asks[i].panicked
			return shown{id: "race", verdict: failed, text: text}, true
		}
		denied := func(r rlcheck.Request) bool { return r.Outcome != rlcheck.Allowed }
		n := len(slices.DeleteFunc(slices.Clone(one), denied))
		if admitted = admitted || n > 0; n != quota { // it is enough
			all = one
			break
		}
		if round < wide {
			all = append(all, one...)
		}
		time.Sleep(time.Millisecond)
	}
	return c.raced(all, func() bool {
		last := ask{r: c.copied(blank), w: httptest.NewRecorder()}
		mark(last.r, c.racer(2*(wide+narrow)))
		return admitted && c.sendAll(h, []ask{last}, 1, "")[0].Outcome == rlcheck.Denied
	}), true
}

// raced judges a race. alike tells whether a client that never asked is denied, though others were not.
func (c *config) raced(all []rlcheck.Request, alike func() bool) shown {
	j := c.limit.Judge(all, rlcheck.SameClock())
	x := shown{id: "race", verdict: open, text: inTest(j.String())}
	switch {
	case j.Verdict == rlcheck.Pass:
		x.verdict = passed
	case j.Verdict == rlcheck.Fail && j.Proof.Kind != rlcheck.OverAdmission && c.outside() != "":
		x.text = "INCONCLUSIVE  " + c.outside() + "\n  without that it would be a FAIL: " + x.text
	case j.Verdict == rlcheck.Fail && j.Proof.Kind != rlcheck.OverAdmission && alike():
		by := strings.Replace(cmp.Or(c.partition, "header:X-Api-Key"), ":", " ", 1)
		x.verdict, x.text = failed, "FAIL  a client that never asked before is denied too: the handler "+
			"does not tell clients apart by "+by+", or has a limit that all of them share\n  (name what it "+
			"tells them apart by, with rlchecktest.Key or Partition; Partition(\"none\") if they share the "+
			"declared limit)\n  "+j.Proof.Text
	case j.Verdict == rlcheck.Fail:
		x.verdict = failed
	}
	return x
}

// racer returns the name of the client of a round.
func (c *config) racer(round int) string {
	if strings.HasPrefix(c.partition, "address") {
		return fmt.Sprintf("127.0.%d.%d", 1+round/200, 1+round%200)
	}
	return fmt.Sprintf("%s-race-%d", c.run, round)
}

// raceQuota returns how many requests a new client is admitted at once. ok=false: a race says nothing of
// the limit, or needs too many requests.
func raceQuota(limit rlcheck.Limit) (quota int, ok bool) {
	policies, err := spec.Parse(limit.String())
	if err != nil {
		return 0, false
	}
	least := int64(mostSpent + 1)
	for _, p := range policies {
		if p.InFlight() || p.Queued() || p.Completes() || p.Start != "" && p.Start != spec.StartFull {
			return 0, false
		}
		least = min(least, p.Full())
	}
	return int(least), least > 0 && least <= mostSpent
}

// request returns one that is not marked with a client.
func (c *config) request() *http.Request {
	r := httptest.NewRequest(c.target.Method, c.where(anywhere), strings.NewReader(c.target.Body))
	for name, value := range c.target.Header {
		r.Header.Set(name, value)
	}
	return r
}

// copied returns a copy of a request. A new one costs ten times as much.
func (c *config) copied(r *http.Request) *http.Request {
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(strings.NewReader(c.target.Body))
	return r
}

// ask is a request that is ready to be sent, and its answer.
type ask struct {
	r        *http.Request
	w        *httptest.ResponseRecorder
	from, to time.Time
	gone     bool   // the handler ended its connection, without an answer
	panicked string // and why, with the stack, unless it was http.ErrAbortHandler
}

// send asks h.
func (a *ask) send(h http.Handler) {
	a.from = time.Now()
	defer func() {
		a.to = time.Now()
		if p := recover(); p != nil {
			if a.gone = true; p != http.ErrAbortHandler {
				a.panicked = fmt.Sprintf("%v\n%s", p, debug.Stack())
			}
		}
	}()
	h.ServeHTTP(a.w, a.r)
}

// sendAll sends the first requests one after the other and the rest together, and returns what their client
// sees.
func (c *config) sendAll(h http.Handler, asks []ask, first int, client string) []rlcheck.Request {
	for i := range asks[:first] {
		asks[i].send(h)
	}
	var ready atomic.Int64
	var all sync.WaitGroup
	crowd := asks[first:]
	looks := spins // GOMAXPROCS takes a lock, so it is not asked in the loop
	if len(crowd) > runtime.GOMAXPROCS(0) {
		looks = 0
	}
	for i := range crowd {
		all.Go(func() {
			ready.Add(1)
			for n := 0; ready.Load() < int64(len(crowd)); n++ {
				if n >= looks { // the others may need this processor
					runtime.Gosched()
				}
			}
			crowd[i].send(h)
		})
	}
	all.Wait()
	out := make([]rlcheck.Request, len(asks))
	for i := range asks {
		out[i] = rlcheck.Request{Client: client, Sent: asks[i].from, Answered: asks[i].to,
			Status: asks[i].w.Code}
		if !asks[i].gone {
			out[i].Outcome = c.denial.outcome(asks[i].w)
		}
	}
	return out
}

// denial says which answers are denials and admissions, as the scenarios read them.
type denial struct {
	scenario.Denied
	allowed []int
}

// read returns what the options say of requests and of denials.
func (c *config) read() (scenario.Target, denial, error) {
	all, err := bundled()
	if err != nil {
		return scenario.Target{}, denial{}, err
	}
	set := slices.DeleteFunc(slices.Clone(c.set), func(x scenario.Setting) bool {
		key, _, _ := strings.Cut(x.Path, ".")
		return !slices.Contains([]string{"denied", "allowed", "target"}, key)
	})
	s, err := scenario.Parse(all[0].src, all[0].name, scenario.ParseOptions{Env: nothing, Set: set,
		Partition: c.partition})
	if err != nil {
		return scenario.Target{}, denial{}, fmt.Errorf("rlchecktest: %w", err)
	}
	return s.Target, denial{s.Denied, s.Allowed}, nil
}

// byContent tells that a status alone does not show a denial.
func (d denial) byContent() bool { return d.Unanswered || d.Header != "" || d.Body != "" }

// outcome returns what became of a request. What a cache answered is unknown: the limiter did not see it.
func (d denial) outcome(w *httptest.ResponseRecorder) rlcheck.Outcome {
	cached := new(headers.Caches).Gave(0, func(name string) (string, bool) {
		v := w.Header().Values(name)
		return strings.Join(v, ", "), len(v) > 0
	})
	switch {
	case cached:
		return rlcheck.Unknown
	case slices.Contains(d.Status, w.Code):
		return rlcheck.Denied
	case slices.Contains(d.allowed, w.Code), len(d.allowed) == 0 && w.Code < http.StatusBadRequest:
		return rlcheck.Allowed
	}
	return rlcheck.Unknown
}

// marker returns what marks a request with its client. ok=false: it is not known how.
func marker(partition string) (mark func(r *http.Request, client string), ok bool) {
	kind, name, _ := strings.Cut(partition, ":")
	switch kind {
	case "", "header":
		name = cmp.Or(name, "X-Api-Key")
		return func(r *http.Request, client string) { r.Header.Set(name, client) }, true
	case "query":
		return func(r *http.Request, client string) { r.URL.RawQuery = name + "=" + client }, true
	case "cookie":
		return func(r *http.Request, client string) {
			r.AddCookie(&http.Cookie{Name: name, Value: client})
		}, true
	case "address":
		return func(r *http.Request, client string) { r.RemoteAddr = client + ":1234" }, true
	}
	return nil, false
}
