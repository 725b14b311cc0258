package lab

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// stores are the stores under test. Each function opens one and closes it with the test.
var stores = map[string]func(t *testing.T) *store{
	"server": func(t *testing.T) *store {
		url, _ := startRedis(t)
		s, err := OpenStore(url)
		return opened(t, s, err)
	},
	"embedded": func(t *testing.T) *store {
		s, err := OpenStore(scenario.EmbeddedRedis)
		return opened(t, s, err)
	},
}

func opened(t *testing.T, s Store, err error) *store {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s.(*store)
}

// redisSpecs are limits that a store keeps. Windows are short, so that a short test crosses many.
var redisSpecs = []string{
	"token-bucket,rate=200/s,burst=20",
	"gcra,rate=700/3s,burst=7",
	"leaky-bucket,rate=1000/7s,burst=11",
	"fixed-window,rate=20/100ms",
	"fixed-window,rate=15/70ms,align=first",
	"fixed-window,rate=15/90ms,phase=33ms,count=all",
	"fixed-window,rate=15/5ms,align=first,refresh=all",
	"fixed-window,rate=15/5ms,align=first,refresh=admitted,ban=3ms",
	"fixed-window,rate=15/5ms,align=first,refresh=admitted,count=all,tick=1ms",
	"sliding-window-log,rate=15/80ms",
	"sliding-window-counter,rate=20/60ms",
	"sliding-window-counter,rate=9/50ms,phase=21ms",
	"token-bucket,rate=300/s,burst=20,start=empty",
	"gcra,rate=300/s,burst=20,start=7",
	"leaky-bucket,rate=300/s,burst=9,refill=interval,fill=7,start=empty",
	"token-bucket,rate=700/3s,burst=20,refill=interval,fill=30",
	"gcra,rate=900/7s,burst=11,count=all",
	"leaky-bucket,rate=300/s,burst=9,refill=interval,fill=2,count=all",
	"leaky-bucket-queue,rate=300/s,queue=6,undelayed=2",
	"leaky-bucket-queue,rate=100/333ms,queue=6,start=empty",
	"fixed-window,rate=15/70ms,align=first,count=all",
	"sliding-window-log,rate=15/80ms,boundary=closed",
	"sliding-window-log,rate=13/8ms,count=all",
	"sliding-window-counter,rate=15/60ms,align=first,rounding=nearest",
	"sliding-window-counter,rate=20/60ms,rounding=up",
	"sliding-window-counter,rate=20/9ms,align=first,rounding=down,count=all",
	"token-bucket,rate=200/s,burst=20,tick=7ms",
	"gcra,rate=200/s,burst=20,tick=100ns",
	"gcra,rate=200/s,burst=9,ban=11ms",
	"sliding-window-log,rate=9/30ms,tick=3ms,ban=10005us",
	"fixed-window,rate=9/30ms,tick=1ms,ban=11ms,count=all",
	"token-bucket,rate=300/s,burst=9 + sliding-window-log,rate=20/50ms + " +
		"sliding-window-log,rate=30/100ms,count=all + " +
		"fixed-window,rate=40/200ms,align=first + sliding-window-counter,rate=60/300ms,rounding=up",
	"gcra,rate=200/s,burst=9,ban=9ms + fixed-window,rate=30/90ms,count=all,tick=2ms + " +
		"leaky-bucket-queue,rate=400/s,queue=12",
}

// taken is one ruling and what was asked for.
type taken struct {
	key  string
	cost int64
	Ruling
}

// hammer asks d from several goroutines, over a few keys. It returns the rulings in the order in which they
// were taken. The result is nil if an answer was lost because the machine stood still.
func hammer(t *testing.T, d Decider, workers, each int) []taken {
	t.Helper()
	all := make([][]taken, workers)
	var wg sync.WaitGroup
	var lost atomic.Bool
	for w := range workers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(7, uint64(w)))
			for range each {
				q := taken{key: fmt.Sprint("k", random.IntN(2)), cost: 1 + max(0, random.Int64N(20)-16)}
				if random.IntN(50) == 0 {
					q.cost = 1000
				}
				r, err := d.Decide(t.Context(), q.key, q.cost)
				if lost.Load() || stoodStill(err) {
					lost.Store(true)
					return
				}
				if err != nil {
					t.Errorf("Decide: %v", err)
					return
				}
				q.Ruling = r
				all[w] = append(all[w], q)
				if random.IntN(30) == 0 {
					time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond)
				}
			}
		})
	}
	wg.Wait()
	if lost.Load() {
		return nil
	}
	flat := slices.Concat(all...)
	slices.SortStableFunc(flat, func(a, b taken) int { return cmp.Compare(a.At, b.At) })
	return flat
}

// TestStoreEqualsReference asks each script from several goroutines at once. It compares every ruling with
// the reference at the same time of the server's clock: what is decided, what is left, and both times to the
// nanosecond.
func TestStoreEqualsReference(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			store := open(t)
			specs := redisSpecs
			if name == "embedded" && testing.Short() {
				specs = specs[:2] // TestScriptsAtExactInstants has them all
			}
			for _, spec := range specs {
				t.Run(spec, func(t *testing.T) {
					limit := redisParse(t, spec)
					d, err := store.Decider(limit)
					if err != nil {
						t.Fatal(err)
					}
					each := 90
					if name == "embedded" {
						each = 20
					}
					equalsReference(t, d, limit, 8, each)
				})
			}
		})
	}
}

// equalsReference compares rulings of d with the reference until at least ten were admitted and two denied.
// That may take several rounds: a slow machine or the embedded server may ask so slowly that the limit admits
// most or all.
func equalsReference(t *testing.T, d Decider, limit spec.Limit, workers, each int) {
	t.Helper()
	allowed, denied := 0, 0
	for n := range recordings {
		a, b := compareRulings(t, hammer(t, renamed{d, fmt.Sprint("compared", n, ":")}, workers, each), limit)
		if allowed, denied = allowed+a, denied+b; t.Failed() || allowed >= 10 && denied >= 2 {
			return
		}
	}
	t.Errorf("got %d allowed and %d denied, want at least 10 allowed and 2 denied: the test says too little",
		allowed, denied)
}

// compareRulings replays rulings, ascending by time, on the reference, and counts them.
func compareRulings(t *testing.T, all []taken, limit spec.Limit) (allowed, denied int) {
	t.Helper()
	limiter, err := reference.NewLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]reference.State{}
	for i, q := range all {
		if states[q.key] == nil {
			states[q.key] = limiter.Init()
		}
		var want reference.Decision
		states[q.key], want = limiter.Step(states[q.key], q.At, q.cost)
		if diff := gocmp.Diff(want, q.Decision); diff != "" {
			t.Fatalf("ruling %d of %d, %s, cost %d, at %v: (-want +got)\n%s", i, len(all), q.key, q.cost,
				q.At, diff)
		}
		if q.Allow {
			allowed++
		}
	}
	return allowed, len(all) - allowed
}

// TestStoreWithinBounds asks a store for one partition from many clients at once. It admits as many as the
// reference does at the instants of its decisions, however long they took.
func TestStoreWithinBounds(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			limit := redisParse(t, "token-bucket,rate=50/s,burst=40")
			d, err := open(t).Decider(limit)
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			rulings := make([][]Ruling, 16)
			for w := range rulings {
				wg.Go(func() {
					for range 40 {
						r, err := d.Decide(t.Context(), "one", 1)
						if err != nil {
							t.Errorf("Decide: %v", err)
							return
						}
						rulings[w] = append(rulings[w], r)
					}
				})
			}
			wg.Wait()
			all := slices.Concat(rulings...)
			slices.SortFunc(all, func(a, b Ruling) int { return cmp.Compare(a.At, b.At) })
			limiter, err := reference.NewLimit(limit)
			if err != nil {
				t.Fatal(err)
			}
			state := limiter.Init()
			got, want := 0, 0
			for _, r := range all {
				if r.Allow {
					got++
				}
				var decision reference.Decision
				if state, decision = limiter.Step(state, r.At, 1); decision.Allow {
					want++
				}
			}
			if got != want || len(all) != 640 {
				t.Errorf("got %d of %d allowed, want %d of 640", got, len(all), want)
			}
		})
	}
}

// admitted sends n requests of one client and returns how many were admitted.
func admitted(h http.Handler, n int) (allowed int) {
	for range n {
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil)); w.Code == http.StatusOK {
			allowed++
		}
	}
	return allowed
}

// redisParse reads a limit.
func redisParse(t testing.TB, text string) spec.Limit {
	t.Helper()
	limit, err := spec.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return limit
}

// TestStoreServesReplicas puts two targets in front of one store. Together they admit one quota. A third
// target with another limit has a quota of its own.
func TestStoreServesReplicas(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			store := open(t)
			targets := make([]*Target, 3)
			for i, spec := range []string{"gcra,rate=1/1h,burst=30", "gcra,rate=1/1h,burst=30",
				"gcra,rate=1/1h,burst=31"} {
				target, err := New(Options{Limit: redisParse(t, spec), Store: store})
				if err != nil {
					t.Fatal(err)
				}
				targets[i] = target
			}
			count := map[int]int{}
			for i := range 180 {
				count[i%3] += admitted(targets[i%3], 1)
			}
			if count[0]+count[1] != 30 || count[2] != 31 {
				t.Errorf("allowed: got %d + %d and %d, want 30 together and 31", count[0], count[1], count[2])
			}
		})
	}
}

// TestStoreReloadsScripts makes the server forget the scripts between two decisions.
func TestStoreReloadsScripts(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			store := open(t)
			d, err := store.Decider(redisParse(t, "fixed-window,rate=2/1d,align=first"))
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range []bool{true, true, false} {
				if err := store.client.ScriptFlush(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
				r, err := d.Decide(t.Context(), "k", 1)
				if err != nil || r.Allow != want {
					t.Errorf("decision %d: got %v, %v, want %v", i, r.Allow, err, want)
				}
			}
		})
	}
}

// TestStoreKeepsStateLongEnough compares the time to live of each state with the time for which it is needed.
func TestStoreKeepsStateLongEnough(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			store := open(t)
			for _, text := range []string{
				"token-bucket,rate=7/1m,burst=20", "fixed-window,rate=5/1h",
				"fixed-window,rate=5/1h,align=first", "sliding-window-log,rate=5/1m",
				"sliding-window-counter,rate=5/1m", "gcra,rate=5/1m,burst=5,ban=1h",
				"sliding-window-log,rate=5/1m + fixed-window,rate=9/1h",
				"gcra,rate=7/1m,burst=20,start=empty",
				"token-bucket,rate=7/1m,burst=20,refill=interval,fill=3",
			} {
				limit := redisParse(t, text)
				d, err := store.Decider(limit)
				if err != nil {
					t.Fatal(err)
				}
				// the second one is denied, and begins a ban if there is one
				var r Ruling
				for range 2 {
					if r, err = d.Decide(t.Context(), "k", 3); err != nil {
						t.Fatal(err)
					}
				}
				keys, err := store.client.Keys(t.Context(), d.(*decider).prefix+"*").Result()
				slices.Sort(keys)
				want := d.(*decider).prefix + "k}"
				if limit[0].Algorithm == spec.SlidingWindowLog {
					want += " " + want + ":1"
				}
				if err != nil || strings.Join(keys, " ") != want {
					t.Fatalf("%s: keys: got %q, %v, want %q", limit, keys, err, want)
				}
				for _, key := range keys {
					left := func() time.Duration { return r.Reset - time.Since(time.Unix(0, int64(r.At))) }
					most := left()
					ttl, err := store.client.PTTL(t.Context(), key).Result()
					// The state is kept a second longer than needed. Either less than that has passed, or the
					// machine stood still.
					need := left()
					switch {
					case err != nil:
						t.Error(err)
					case limit[0].Start == spec.StartEmpty || limit[0].Refill == spec.RefillInterval:
						if ttl != -1 {
							t.Errorf("%s: time to live: got %v, want none: such a state is never as good "+
								"as new", limit, ttl)
						}
					case ttl < need || ttl > 2*most+2*time.Second+(most-need):
						t.Errorf("%s: time to live of %s: got %v, want %v or a little more", limit, key, ttl,
							need)
					}
				}
			}
		})
	}
}

// TestStoreGone stops the server. A decision then ends with an error, even for a client that has left.
func TestStoreGone(t *testing.T) {
	url, stop := startRedis(t)
	s, err := OpenStore(url)
	d, err := opened(t, s, err).Decider(redisParse(t, "gcra,rate=1/1h,burst=5"))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := d.Decide(t.Context(), "k", 1); err != nil || !r.Allow {
		t.Fatalf("before: got %+v, %v, want an admission", r, err)
	}
	stop()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, ctx := range map[string]context.Context{"waits": t.Context(), "has left": ctx} {
		if _, err := d.Decide(ctx, "k", 1); err == nil {
			t.Errorf("a client that %s: got no error", name)
		}
	}
}

// TestStoreRefuses: errors name what the stores cannot keep, and a store that is not there.
func TestStoreRefuses(t *testing.T) {
	store := stores["embedded"](t)
	for spec, want := range map[string]string{
		"fixed-window,rate=1/1500ns":                               "whole microseconds",
		"fixed-window,rate=1/s,phase=10ns":                         "whole microseconds",
		"gcra,rate=1/s,burst=3,tick=1500ns":                        "whole microseconds",
		"fixed-window,rate=9007199254740993/1s":                    "2^53",
		"gcra,rate=1/s,burst=1 + gcra,rate=1/9ns,burst=1":          "whole microseconds",
		"gcra,rate=1/s,burst=3,ttl=1s":                             "forgets an idle client early",
		"gcra,rate=1/s,burst=1,count=own + fixed-window,rate=5/9s": "counts what another policy denies",
	} {
		if _, err := New(Options{Limit: redisParse(t, spec), Store: store}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want one that says %q", spec, err, want)
		}
	}
	limit := redisParse(t, "gcra,rate=1/s,burst=3")
	faulty := Options{Limit: limit, Store: store, Fault: "never-recovers"}
	if _, err := New(faulty); err == nil ||
		!strings.Contains(err.Error(), "memory") {
		t.Errorf("a fault of the memory store: got error %v, want one that says so", err)
	}
	for _, url := range []string{"http://127.0.0.1/", "redis://user:secret@[::1", "redis://127.0.0.1:1/0"} {
		if _, err := OpenStore(url); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("Open(%q): got error %v, want one without the password", url, err)
		}
	}
}
