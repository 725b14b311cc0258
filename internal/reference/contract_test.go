package reference

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"pgregory.net/rapid"
)

// contractSpecs are the limiters under the contract: every algorithm, every axis, and combined limits. Quotas
// are small, so that the definition can be computed anew for every question.
var contractSpecs = []string{
	"token-bucket,rate=10/s,burst=5",
	"token-bucket,rate=3/7ns,burst=4",
	"token-bucket,rate=7/1us,burst=9,start=empty",
	"token-bucket,rate=7/1us,burst=9,start=4",
	"token-bucket,rate=3/100ns,burst=5,start=2,refill=interval,fill=3",
	"gcra,rate=3/100ns,burst=7,start=1,count=all",
	"leaky-bucket,rate=3/100ns,burst=4..6,start=3,ban=20ns..50ns",
	"leaky-bucket-queue,rate=3/100ns,queue=4..7,undelayed=1,start=2",
	"token-bucket,rate=10/1us,burst=1,count=all",
	"token-bucket,rate=3/1us,burst=6,count=all,start=empty",
	"token-bucket,rate=10/1us,burst=6,refill=interval,fill=4",
	"token-bucket,rate=3/100ns,burst=5,refill=interval,fill=1,count=all",
	"token-bucket,rate=3/100ns,burst=5,start=empty,refill=interval,fill=9",
	"token-bucket,rate=10/1us,burst=5,tick=30ns",
	"token-bucket,rate=10/1us,burst=5,ban=700ns",
	"token-bucket,rate=10/1us,burst=5,ban=70ns,growth=3,max=700ns",
	"sliding-window-log,rate=5/1us,tick=7ns,ban=70ns,growth=2,max=70ns",
	"token-bucket,rate=10/1us,burst=5,ttl=250ns",
	"sliding-window-log,rate=5/1us,ttl=400ns..500ns",
	"fixed-window,rate=5/1us,align=first,ttl=300ns,tick=7ns",
	"token-bucket,rate=3/100ns,burst=5,refill=interval,fill=2,tick=7ns,ban=50ns",
	"gcra,rate=10/s,burst=5",
	"gcra,rate=100/1m,burst=1",
	"gcra,rate=3/100ns,burst=7,start=empty",
	"gcra,rate=3/100ns,burst=7,start=unknown",
	"gcra,rate=3/100ns,burst=4,count=all,tick=13ns",
	"gcra,rate=3/100ns,burst=4,count=all,ban=90ns",
	"leaky-bucket,rate=10/s,burst=5",
	"leaky-bucket,rate=3/100ns,burst=4,start=empty",
	"leaky-bucket,rate=3/100ns,burst=4,count=all,refill=interval,fill=2",
	"leaky-bucket,rate=10/1us,burst=6,tick=100ns",
	"leaky-bucket-queue,rate=10/s,queue=5",
	"leaky-bucket-queue,rate=3/100ns,queue=4,undelayed=2",
	"leaky-bucket-queue,rate=3/100ns,queue=0",
	"leaky-bucket-queue,rate=3/100ns,queue=4,undelayed=4,start=empty,tick=9ns,ban=80ns",
	"fixed-window,rate=5/s",
	"fixed-window,rate=4/100ns,phase=33ns",
	"fixed-window,rate=4/100ns,align=first",
	"fixed-window,rate=4/100ns,align=shared",
	"fixed-window,rate=4/100ns,align=unknown,count=all",
	"fixed-window,rate=4/100ns,align=first,count=all,ban=30ns",
	"fixed-window,rate=4/100ns,slots=2",
	"fixed-window,rate=4/100ns,slots=5,phase=13ns",
	"fixed-window,rate=7/100ns,slots=100,align=shared",
	"fixed-window,rate=4/100ns,slots=4,count=all,tick=5ns",
	"fixed-window,rate=4/100ns,slots=10,align=unknown,ban=30ns,ttl=60ns",
	"fixed-window,rate=4/100ns,slots=4,count=own + token-bucket,rate=3/100ns,burst=3",
	"fixed-window,rate=4/100ns,align=first,refresh=all",
	"fixed-window,rate=4/100ns,align=first,refresh=admitted",
	"fixed-window,rate=4/100ns,align=first,refresh=all,count=all,tick=7ns",
	"fixed-window,rate=4/100ns,align=first,refresh=admitted,count=all,ban=130ns",
	"fixed-window,rate=4/100ns,align=first,refresh=admitted,ttl=60ns",
	"fixed-window,rate=4/100ns,align=first,refresh=all,ban=60ns",
	"fixed-window,rate=4/100ns,align=first,refresh=all + token-bucket,rate=3/100ns,burst=3",
	"fixed-window,rate=4/100ns,align=first,refresh=admitted,count=own + token-bucket,rate=3/100ns,burst=3",
	"fixed-window,rate=4/100ns,phase=90ns..99ns,tick=7ns",
	"sliding-window-log,rate=5/s",
	"sliding-window-log,rate=4/100ns,boundary=closed",
	"sliding-window-log,rate=4/100ns,count=all",
	"sliding-window-log,rate=4/100ns,count=all,boundary=closed,tick=6ns",
	"sliding-window-log,rate=6/300ns,ban=20ns",
	"sliding-window-counter,rate=5/s",
	"sliding-window-counter,rate=7/100ns,phase=41ns,rounding=down",
	"sliding-window-counter,rate=7/100ns,rounding=up",
	"sliding-window-counter,rate=7/101ns,rounding=nearest",
	"sliding-window-counter,rate=7/100ns,rounding=nearest,count=all",
	"sliding-window-counter,rate=7/100ns,align=first",
	"sliding-window-counter,rate=4/100ns,align=first,count=all,rounding=down",
	"sliding-window-counter,rate=4/100ns,align=first,rounding=up,tick=11ns,ban=60ns",
	"sliding-window-counter,rate=4/100ns,align=unknown,count=all,rounding=up",
	"concurrency,limit=1",
	"concurrency,limit=4",
	"token-bucket,rate=3/100ns,burst=4,charge=completion",
	"gcra,rate=3/100ns,burst=4,charge=completion",
	"leaky-bucket,rate=3/100ns,burst=4,charge=completion,tick=7ns",
	"fixed-window,rate=4/100ns,phase=33ns,charge=completion",
	"fixed-window,rate=4/100ns,charge=completion,tick=7ns",
	"sliding-window-log,rate=4/100ns,charge=completion",
	"sliding-window-log,rate=4/100ns,boundary=closed,charge=completion",
	"sliding-window-counter,rate=7/100ns,phase=41ns,charge=completion",
	"sliding-window-counter,rate=4/100ns,rounding=up,charge=completion",
	"token-bucket,rate=3/100ns,burst=4,reserve=2",
	"gcra,rate=3/100ns,burst=9,reserve=4,tick=7ns",
	"fixed-window,rate=4/100ns,phase=33ns,reserve=3",
	"fixed-window,rate=2/100ns,unit=request + token-bucket,rate=9/100ns,burst=9,charge=completion",
	"concurrency,limit=2,unit=request + gcra,rate=3/100ns,burst=4 + fixed-window,rate=9/70ns,reserve=2",
	"concurrency,limit=2 + token-bucket,rate=3/100ns,burst=4",
	"concurrency,limit=3 + sliding-window-log,rate=4/100ns,charge=completion + " +
		"fixed-window,rate=6/250ns,count=own",
	"token-bucket,rate=3/100ns,burst=3 + fixed-window,rate=8/400ns",
	"token-bucket,rate=3/100ns,burst=3,count=own + fixed-window,rate=8/400ns",
	"token-bucket,rate=3/100ns,burst=3,count=own + fixed-window,rate=8/400ns,count=own",
	"gcra,rate=3/100ns,burst=3,count=all + sliding-window-log,rate=5/200ns,ban=70ns + " +
		"leaky-bucket-queue,rate=5/100ns,queue=3",
	"fixed-window,rate=4/100ns,align=first + fixed-window,rate=6/250ns,align=first",
	"sliding-window-counter,rate=4/100ns,align=first + " +
		"token-bucket,rate=3/100ns,burst=9,refill=interval,fill=3,tick=10ns",
}

// subject is a limiter under test beside its definition.
type subject struct {
	limit   spec.Limit
	limiter Limiter
	state   State
	last    time.Duration
	define  definition
}

func newSubject(t rapidOrTest, text string) *subject {
	limit, err := spec.Parse(text)
	if err != nil {
		t.Fatalf("Parse(%q): %v", text, err)
	}
	l, err := NewLimit(limit)
	if err != nil {
		t.Fatalf("NewLimit(%q): %v", text, err)
	}
	return &subject{limit: limit, limiter: l, state: l.Init(), last: math.MinInt64,
		define: definition{limit: limit}}
}

// scales returns the times that matter to the limit: each window, cell time, tick and ban.
func (s *subject) scales() []time.Duration {
	var all []time.Duration
	for _, p := range s.limit {
		all = append(all, p.Rate.Per, max(1, p.Rate.Per/time.Duration(p.Rate.N)))
		if p.Tick > 0 {
			all = append(all, p.Tick)
		}
		if p.Ban > 0 {
			all = append(all, p.Ban)
		}
	}
	return all
}

// quota returns the largest cost that any policy ever admits.
func (s *subject) quota() int64 {
	var most int64
	for _, p := range s.limit {
		most = max(most, p.Full())
	}
	return most
}

// ask steps once, compares the decision with the definition, and keeps the new state.
func (s *subject) ask(t rapidOrTest, at time.Duration, cost int64) Decision {
	before := s.state
	next, d := s.limiter.Step(before, at, cost)
	again, same := s.limiter.Step(before, at, cost)
	if next != again || d != same {
		t.Fatalf("Step twice from one state: got %v and %v, %+v and %+v", next, again, d, same)
	}
	if _, comparable := map[State]bool{next: true}[next]; !comparable {
		t.Fatalf("state %v is not equal to itself", next)
	}
	at = max(at, s.last)
	if _, clamped := s.limiter.Step(before, at, cost); clamped != d {
		t.Fatalf("at an earlier time %+v, at the largest seen %+v", d, clamped)
	}
	s.state, s.last = next, at
	if want := s.define.delay(at); d.Allow && d.Delay != want || !d.Allow && d.Delay != 0 {
		t.Fatalf("request %d at %d of cost %d: got delay %d, want %d if it is allowed\npast %+v",
			len(s.define.past), at, cost,
			d.Delay, want, s.define.past)
	}
	if want := s.define.ask(at, cost); d.Allow != want {
		t.Fatalf("request %d at %d of cost %d: got allow %v, want %v\npast %+v", len(s.define.past), at, cost,
			d.Allow, want,
			s.define.past)
	}
	return d
}

// completeSome completes some of the requests in flight at the instant at. It checks that a time that runs
// backwards is taken as the largest seen. It does nothing for limits that are not told of completions.
func (s *subject) completeSome(t *rapid.T, at time.Duration) {
	if !s.limit.Completes() {
		return
	}
	for i, a := range s.define.past {
		if !a.allow || a.done || rapid.Bool().Draw(t, "in flight") {
			continue
		}
		before := s.state
		s.state = Complete(s.limiter, before, at, a.cost)
		if s.state != Complete(s.limiter, before, at, a.cost) {
			t.Fatalf("Complete twice from one state: got two states")
		}
		if at = max(at, s.last); s.state != Complete(s.limiter, before, at, a.cost) {
			t.Fatalf("Complete at an earlier time: not the state at the largest seen")
		}
		s.define.complete(i, at)
		s.last = at
	}
}

// rapidOrTest is the part of a test that a check needs.
type rapidOrTest interface {
	Fatalf(format string, args ...any)
}

// checkAfter compares Remaining and RetryAfter of the last decision with the definition.
func (s *subject) checkAfter(t rapidOrTest, d Decision, cost int64) {
	reserves := slices.ContainsFunc(s.limit, func(p spec.Policy) bool { return p.Reserve > 0 })
	if want := s.define.remaining(s.last); d.Remaining != want && !reserves { // units, not requests, are left
		t.Fatalf("after %+v: got remaining %d, want %d", s.define.past, d.Remaining, want)
	}
	switch {
	case d.Allow && d.RetryAfter != 0:
		t.Fatalf("an admitted request has RetryAfter %d, want 0", d.RetryAfter)
	case d.Allow:
		return
	case d.RetryAfter == Never:
		for _, p := range s.limit {
			if asks := p.Asks(cost); asks > p.Full() ||
				p.Algorithm == spec.Concurrency && s.define.held(p)+asks > p.Rate.N {
				return
			}
		}
		t.Fatalf("cost %d: got RetryAfter Never, but it is admitted in time", cost)
	case d.RetryAfter <= 0:
		t.Fatalf("a denied request has RetryAfter %d, want more than 0", d.RetryAfter)
	}
	if s.last > math.MaxInt64-d.RetryAfter {
		return // Past the end of time.
	}
	then := s.last + d.RetryAfter
	for _, at := range []time.Duration{then - 1, s.last + d.RetryAfter/2, s.last} {
		if allow, _, _ := s.define.admits(at, cost); allow {
			t.Fatalf("RetryAfter %d at %d: admitted %d earlier\npast %+v", d.RetryAfter, s.last, then-at,
				s.define.past)
		}
		if _, early := s.limiter.Step(s.state, at, cost); early.Allow {
			t.Fatalf("RetryAfter %d at %d: the limiter admits %d earlier", d.RetryAfter, s.last, then-at)
		}
	}
	if allow, _, _ := s.define.admits(then, cost); !allow {
		t.Fatalf("RetryAfter %d at %d: denied then\npast %+v", d.RetryAfter, s.last, s.define.past)
	}
	if _, then := s.limiter.Step(s.state, then, cost); !then.Allow {
		t.Fatalf("RetryAfter %d at %d: the limiter denies then", d.RetryAfter, s.last)
	}
}

// epochs are instants at which recordings may begin: zero, before it, the Unix time of 2027 in nanoseconds.
var epochs = []time.Duration{0, -12345, 1_800_000_000_123_456_789}

// TestContract compares every limiter with the definitions on random requests. It checks purity, comparable
// states, times that run backwards, the outcome, Remaining and RetryAfter.
func TestContract(t *testing.T) {
	for _, spec := range contractSpecs {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			var allowed, denied int
			rapid.Check(t, func(rt *rapid.T) {
				s := newSubject(t, spec)
				scales := s.scales()
				at := rapid.SampledFrom(epochs).Draw(rt, "epoch")
				for range rapid.IntRange(1, 16).Draw(rt, "requests") {
					at += gap(rt, scales)
					cost := int64(1)
					if rapid.IntRange(0, 4).Draw(rt, "weighted") == 0 {
						cost = rapid.Int64Range(1, s.quota()+1).Draw(rt, "cost")
					}
					s.completeSome(rt, at-gap(rt, scales)/2)
					d := s.ask(rt, at, cost)
					s.checkAfter(rt, d, cost)
					if d.Allow {
						allowed++
					} else {
						denied++
					}
				}
			})
			if allowed == 0 || denied == 0 {
				t.Errorf("got %d allowed and %d denied, want both", allowed, denied)
			}
		})
	}
}

// gap draws the time to the next request. It is mostly zero or near a scale, seldom negative or many scales
// long.
func gap(rt *rapid.T, scales []time.Duration) time.Duration {
	scale := rapid.SampledFrom(scales).Draw(rt, "scale")
	switch rapid.IntRange(0, 9).Draw(rt, "kind") {
	case 0, 1, 2:
		return 0
	case 3:
		return scale
	case 4:
		return scale + time.Duration(rapid.IntRange(-1, 1).Draw(rt, "beside"))
	case 5:
		return time.Duration(rapid.Int64Range(0, 5*int64(scale)).Draw(rt, "long"))
	case 6:
		return -time.Duration(rapid.Int64Range(0, int64(scale)).Draw(rt, "back"))
	default:
		return time.Duration(rapid.Int64Range(0, int64(scale)).Draw(rt, "short"))
	}
}

// TestReset checks Reset: a full cost is admitted again at that time, and not a nanosecond before. A counter
// has a rule of its own. A ban that ends later extends Reset to its end.
func TestReset(t *testing.T) {
	for _, spec := range contractSpecs {
		if strings.Contains(spec, "+") {
			continue // the parts are checked alone, and TestBoth checks their combination
		}
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				s := newSubject(t, spec)
				at := rapid.SampledFrom(epochs).Draw(rt, "epoch")
				var d Decision
				for range rapid.IntRange(1, 12).Draw(rt, "requests") {
					at += gap(rt, s.scales())
					s.completeSome(rt, at)
					d = s.ask(rt, at, rapid.Int64Range(1, 3).Draw(rt, "cost"))
				}
				if got, want := d.Reset, s.resetByDefinition(); got != want {
					rt.Fatalf("got reset %d, want %d\npast %+v", got, want, s.define.past)
				}
			})
		})
	}
}

// resetByDefinition searches the time until the partition of a single policy is as good as new.
func (s *subject) resetByDefinition() time.Duration {
	p := s.limit[0]
	if p.Algorithm == spec.Concurrency {
		if s.define.held(p) > 0 {
			return Never
		}
		return 0
	}
	asNew := func(after time.Duration) bool {
		at := s.last + after
		if p.Ban > 0 && s.define.inBan(0, at) {
			return false
		}
		switch {
		case p.Refreshes():
			return s.define.refreshed(0, at).Sign() == 0
		case p.Windowed():
			prev, cur, _ := s.define.windows(0, at)
			begin := windowAt(p, s, at)
			if p.Algorithm == spec.FixedWindow {
				return begin != windowAt(p, s, s.last) || p.Align == spec.AlignFirst && cur.Sign() == 0
			}
			return prev.Sign() == 0 && cur.Sign() == 0
		case p.Algorithm == spec.SlidingWindowLog:
			return s.define.logged(0, at).Sign() == 0
		default:
			return s.define.level(0, at).Sign() == 0
		}
	}
	low, high := time.Duration(-1), p.Recovery()+p.Rate.Per
	if p.Missing() > 0 || p.Refill == spec.RefillInterval {
		high *= 2
	}
	if p.Charge == spec.ChargeCompletion {
		high *= 20 // of a debt
	}
	for high-low > 1 {
		if mid := low + (high-low)/2; asNew(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// windowAt names the window of the instant at.
func windowAt(p spec.Policy, s *subject, at time.Duration) string {
	_, _, x := s.define.windows(0, at)
	return x.Sub(clock(p, at), x).String()
}

// TestDenialsLeaveNoTrace checks that a denied request that is not counted changes nothing that comes later.
func TestDenialsLeaveNoTrace(t *testing.T) {
	for _, text := range contractSpecs {
		s := newSubject(t, text)
		traces := false
		for _, p := range s.limit {
			traces = traces || p.Count != spec.CountAdmitted || p.Ban > 0 || p.TTL > 0 ||
				p.Refresh == spec.RefreshAll
		}
		if traces {
			continue
		}
		t.Run(text, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				all, few := newSubject(t, text), newSubject(t, text)
				at := time.Duration(0)
				for range 20 {
					at += max(0, gap(rt, all.scales()))
					if len(all.define.past) == 0 {
						few.state, _ = few.limiter.Step(few.state, at, 1)
						all.ask(rt, at, 1)
						continue // the first request creates the partition, even if it is denied
					}
					next, d := all.limiter.Step(all.state, at, 1)
					all.state = next
					fewNext, other := few.limiter.Step(few.state, at, 1)
					if d != other {
						rt.Fatalf("at %d: %+v after all requests, %+v after the admitted ones", at, d, other)
					}
					if d.Allow {
						few.state = fewNext
					}
				}
			})
		})
	}
}

// TestRecovery checks that after a silence of Policy.Recovery a partition decides as a new one.
func TestRecovery(t *testing.T) {
	for _, text := range contractSpecs {
		s := newSubject(t, text)
		// a combined limit or a limit on requests in flight does not recover by itself
		if len(s.limit) > 1 || s.limit[0].Algorithm == spec.Concurrency {
			continue
		}
		p := s.limit[0]
		if p.Bucketed() && p.Charge == spec.ChargeCompletion {
			continue // a debt may be of any size
		}
		p.Start, p.Level, p.LevelTo = spec.StartFull, 0, 0
		t.Run(text, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				s, fresh := newSubject(t, text), newSubject(t, p.String())
				at := time.Duration(0)
				for range rapid.IntRange(1, 12).Draw(rt, "requests") {
					at += max(0, gap(rt, s.scales()))
					cost := rapid.Int64Range(1, 3).Draw(rt, "cost")
					var d Decision
					if s.state, d = s.limiter.Step(s.state, at, cost); d.Allow {
						s.state = Complete(s.limiter, s.state, at, cost)
					}
				}
				at += p.Recovery()
				for i := range p.Full() + 1 {
					var got, want Decision
					s.state, got = s.limiter.Step(s.state, at, 1)
					fresh.state, want = fresh.limiter.Step(fresh.state, at, 1)
					if got.Allow != want.Allow || got.Remaining != want.Remaining || got.Delay != want.Delay {
						rt.Fatalf("request %d after recovery: got %+v, want %+v", i, got, want)
					}
				}
			})
		})
	}
}

// TestStepRefuses checks the programming mistakes that Step panics on.
func TestStepRefuses(t *testing.T) {
	for _, spec := range contractSpecs {
		l := newSubject(t, spec).limiter
		for name, f := range map[string]func(){
			"a cost of 0":              func() { l.Step(l.Init(), 0, 0) },
			"a negative cost":          func() { l.Step(l.Init(), 0, -1) },
			"the state of another one": func() { l.Step("other", 0, 1) },
			"a completion of cost -1":  func() { Complete(l, l.Init(), 0, -1) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: %s: got no panic", spec, name)
					}
				}()
				f()
			}()
		}
	}
}
