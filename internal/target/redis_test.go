package target

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rlcheck/rlcheck/internal/reference"
)

// startRedis starts a redis-server on a free loopback port and returns its URL and what stops it. Without the program the
// test is skipped, or fails where servers are required.
func startRedis(t *testing.T) (url string, stop func()) {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("CI") == "true" || os.Getenv("RLCHECK_REQUIRE_SERVERS") == "1" {
			t.Fatal("redis-server is not installed, and servers are required here")
		}
		t.Skip("redis-server is not installed")
	}
	// Between asking the kernel for a port and using it another program may take it; then the server ends at once.
	for range 5 {
		port := freePort(t)
		c := exec.Command(program, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir())
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			// It is killed: the error says so and nothing else.
			_ = c.Wait()
			close(ended)
		}()
		stop := sync.OnceFunc(func() {
			if err := c.Process.Kill(); err != nil {
				t.Logf("stopping redis-server: %v", err)
			}
			<-ended
		})
		if accepts("127.0.0.1:"+port, ended) {
			t.Cleanup(stop)
			return "redis://127.0.0.1:" + port + "/0", stop
		}
		stop()
	}
	t.Fatal("redis-server did not start on any of 5 ports")
	return "", nil
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// accepts waits until an address takes connections, or ended is closed.
func accepts(addr string, ended <-chan struct{}) bool {
	for range 500 {
		select {
		case <-ended:
			return false
		default:
		}
		if c, err := net.Dial("tcp", addr); err == nil {
			return c.Close() == nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

// stores are the stores under test; each opens one and closes it with the test.
var stores = map[string]func(t *testing.T) *redisStore{
	"server": func(t *testing.T) *redisStore {
		url, _ := startRedis(t)
		s, err := RedisStore(url)
		return opened(t, s, err)
	},
	"embedded": func(t *testing.T) *redisStore {
		s, err := EmbeddedRedis()
		return opened(t, s, err)
	},
}

func opened(t *testing.T, s Store, err error) *redisStore {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s.(*redisStore)
}

// redisSpecs are limits that a store keeps. Windows are short, so that a short test crosses many.
var redisSpecs = []string{
	"token-bucket,rate=200/s,burst=20",
	"gcra,rate=700/3s,burst=7",
	"leaky-bucket,rate=1000/7s,burst=11",
	"fixed-window,rate=20/100ms",
	"fixed-window,rate=15/70ms,align=first",
	"fixed-window,rate=15/90ms,phase=33ms,count=all",
	"sliding-window-log,rate=15/80ms",
	"sliding-window-counter,rate=20/60ms",
	"sliding-window-counter,rate=9/50ms,phase=21ms",
}

// taken is one ruling and what was asked.
type taken struct {
	key  string
	cost int64
	Ruling
}

// hammer asks d from several goroutines, over a few keys, and returns the rulings in the order in which they were taken.
func hammer(t *testing.T, d Decider, workers, each int) []taken {
	t.Helper()
	all := make([][]taken, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(7, uint64(w)))
			for range each {
				q := taken{key: fmt.Sprint("k", random.IntN(2)), cost: 1 + max(0, random.Int64N(20)-16)}
				if random.IntN(50) == 0 {
					q.cost = 1000
				}
				r, err := d.Decide(t.Context(), q.key, q.cost)
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
	flat := slices.Concat(all...)
	slices.SortStableFunc(flat, func(a, b taken) int { return cmp.Compare(a.At, b.At) })
	return flat
}

// TestStoreEqualsReference asks each script from several goroutines at once and holds every ruling, taken at a time of the
// server's clock, against the reference at that time: what is decided, what is left, and both times to the nanosecond.
func TestStoreEqualsReference(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			store := open(t)
			for _, spec := range redisSpecs {
				t.Run(spec, func(t *testing.T) {
					limit := parse(t, spec)
					d, err := store.Decider(limit)
					if err != nil {
						t.Fatal(err)
					}
					compareRulings(t, hammer(t, d, 8, 90), limit)
				})
			}
		})
	}
}

// compareRulings replays rulings, ascending by time, on the reference.
func compareRulings(t *testing.T, all []taken, limit reference.Limit) {
	t.Helper()
	limiter, err := reference.NewLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]reference.State{}
	allowed := 0
	for i, q := range all {
		if states[q.key] == nil {
			states[q.key] = limiter.Init()
		}
		var want reference.Decision
		states[q.key], want = limiter.Step(states[q.key], q.At, q.cost)
		if diff := gocmp.Diff(want, q.Decision); diff != "" {
			t.Fatalf("ruling %d of %d, %s, cost %d, at %v: (-want +got)\n%s", i, len(all), q.key, q.cost, q.At, diff)
		}
		if q.Allow {
			allowed++
		}
	}
	if allowed < 30 || len(all)-allowed < 30 {
		t.Errorf("got %d of %d allowed, want at least 30 allowed and 30 denied: the test says too little", allowed, len(all))
	}
}

// TestStoreWithinBounds counts what a store admits of one partition under concurrency: in the span that the clients measured
// no more than a bucket holds and regains in it, and no less than what it held.
func TestStoreWithinBounds(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			limit := parse(t, "token-bucket,rate=50/s,burst=40")
			d, err := open(t).Decider(limit)
			if err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
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
			span := time.Since(begin)
			all := slices.Concat(rulings...)
			allowed := int64(0)
			for _, r := range all {
				if r.Allow {
					allowed++
				}
			}
			slices.SortFunc(all, func(a, b Ruling) int { return cmp.Compare(a.At, b.At) })
			// The reference says both bounds: the bucket asked all at once at the beginning, and once more at the end of the span.
			most := limit[0].Burst + int64(span)*limit[0].Rate.N/int64(limit[0].Rate.Per)
			least := limit[0].Burst
			if last := all[len(all)-1]; !last.Allow {
				// Denied at the end: what the bucket regained between the first and the last decision was used up, but for a unit.
				least = max(least, limit[0].Burst+int64(last.At-all[0].At)*limit[0].Rate.N/int64(limit[0].Rate.Per)-capped(all, limit[0]))
			}
			if allowed > most || allowed < least {
				t.Errorf("got %d of %d allowed in %v, want %d to %d", allowed, len(all), span, least, most)
			}
		})
	}
}

// capped returns how many units a bucket may have lost because it was full: what it regained until it had first denied.
func capped(all []Ruling, p reference.Policy) int64 {
	for _, r := range all {
		if !r.Allow {
			return 1 + int64(r.At-all[0].At)*p.Rate.N/int64(p.Rate.Per)
		}
	}
	return 0
}

// TestStoreServesReplicas has two targets before one store: together they admit one quota, and a third with another limit
// another one.
func TestStoreServesReplicas(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			store := open(t)
			targets := make([]*Target, 3)
			for i, spec := range []string{"gcra,rate=1/1h,burst=30", "gcra,rate=1/1h,burst=30", "gcra,rate=1/1h,burst=31"} {
				target, err := New(Options{Limit: parse(t, spec), Store: store})
				if err != nil {
					t.Fatal(err)
				}
				targets[i] = target
			}
			count := map[int]int{}
			for i := range 180 {
				answer := ask(targets[i%3], request{key: "shared"})
				if answer.StatusCode == http.StatusOK {
					count[i%3]++
				}
			}
			if count[0]+count[1] != 30 || count[2] != 31 {
				t.Errorf("allowed: got %d + %d and %d, want 30 together and 31", count[0], count[1], count[2])
			}
		})
	}
}

// TestStoreReloadsScripts forgets the scripts on the server between two decisions.
func TestStoreReloadsScripts(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			store := open(t)
			d, err := store.Decider(parse(t, "fixed-window,rate=2/1d"))
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

// TestStoreKeepsStateLongEnough compares the time to live of each state with what the state needs.
func TestStoreKeepsStateLongEnough(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			store := open(t)
			for _, spec := range []string{
				"token-bucket,rate=7/1m,burst=20", "fixed-window,rate=5/1h", "fixed-window,rate=5/1h,align=first",
				"sliding-window-log,rate=5/1m", "sliding-window-counter,rate=5/1m",
			} {
				limit := parse(t, spec)
				d, err := store.Decider(limit)
				if err != nil {
					t.Fatal(err)
				}
				r, err := d.Decide(t.Context(), "k", 3)
				if err != nil {
					t.Fatal(err)
				}
				keys, err := store.client.Keys(t.Context(), d.(*redisDecider).prefix+"*").Result()
				if err != nil || len(keys) != 1 || !strings.HasSuffix(keys[0], "{k}") {
					t.Fatalf("%s: keys: got %q, %v, want one that ends in {k}", limit, keys, err)
				}
				ttl, err := store.client.PTTL(t.Context(), keys[0]).Result()
				// The state is a second older than it needs to be; less of it has passed, or the machine stood still.
				if need := r.Reset - time.Since(time.Unix(0, int64(r.At))); err != nil || ttl < need || ttl > 2*need+2*time.Second {
					t.Errorf("%s: time to live: got %v, %v, want %v or a little more", limit, ttl, err, need)
				}
			}
		})
	}
}

// TestStoreGone stops the server: requests are answered 500, in a bounded time, and the target can still be closed.
func TestStoreGone(t *testing.T) {
	url, stop := startRedis(t)
	store, err := RedisStore(url)
	if err != nil {
		t.Fatal(err)
	}
	target := open(t, Options{Limit: parse(t, "gcra,rate=1/s,burst=5"), Store: store})
	if got := ask(target, request{}).StatusCode; got != http.StatusOK {
		t.Fatalf("before: got status %d, want 200", got)
	}
	stop()
	answer := ask(target, request{})
	if answer.StatusCode != http.StatusInternalServerError || answer.Header.Get("RateLimit") != "" {
		t.Errorf("after: got status %d, RateLimit %q, want 500 and none", answer.StatusCode, answer.Header.Get("RateLimit"))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := target.decider.Decide(ctx, "k", 1); err == nil {
		t.Error("Decide without a server: got no error")
	}
}

// TestStoreRefuses names what the stores cannot keep, and where there is none.
func TestStoreRefuses(t *testing.T) {
	store := stores["embedded"](t)
	for spec, want := range map[string]string{
		"gcra,rate=1/s,burst=1 + gcra,rate=9/s,burst=1":        "several policies",
		"leaky-bucket-queue,rate=1/s,queue=3":                  "no script",
		"token-bucket,rate=1/s,burst=3,start=empty":            "start \"empty\"",
		"token-bucket,rate=1/s,burst=3,refill=interval,fill=1": "refill \"interval\"",
		"token-bucket,rate=1/s,burst=3,tick=1ms":               "no tick",
		"gcra,rate=1/s,burst=3,ban=1s":                         "no ban",
		"gcra,rate=1/s,burst=3,count=all":                      "count \"all\"",
		"fixed-window,rate=1/1500ns":                           "whole microseconds",
		"fixed-window,rate=1/s,phase=10ns":                     "whole microseconds",
		"sliding-window-log,rate=3/s,boundary=closed":          "half-open",
		"sliding-window-counter,rate=3/s,align=first":          "aligned to the clock",
		"sliding-window-counter,rate=3/s,rounding=up":          "compares exactly",
	} {
		if _, err := New(Options{Limit: parse(t, spec), Store: store}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want one that says %q", spec, err, want)
		}
	}
	limit := parse(t, "gcra,rate=1/s,burst=3")
	if _, err := New(Options{Limit: limit, Store: store, Fault: "never-recovers"}); err == nil || !strings.Contains(err.Error(), "memory") {
		t.Errorf("a fault of the memory store: got error %v, want one that says so", err)
	}
	for _, url := range []string{"http://127.0.0.1/", "redis://user:secret@[::1", "redis://127.0.0.1:1/0"} {
		if _, err := RedisStore(url); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("RedisStore(%q): got error %v, want one without the password", url, err)
		}
	}
}
