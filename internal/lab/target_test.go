package lab

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// parse returns the limit of a SPEC.
func parse(t testing.TB, text string) spec.Limit {
	t.Helper()
	l, err := spec.Parse(text)
	if err != nil {
		t.Fatalf("SPEC %q: %v", text, err)
	}
	return l
}

// open returns a target that is closed with the test.
func open(t testing.TB, o Options) *Target {
	t.Helper()
	target, err := New(o)
	if err != nil {
		t.Fatalf("New(%v, fault %q): %v", o.Limit, o.Fault, err)
	}
	t.Cleanup(func() {
		if err := target.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return target
}

// request is one request of a test.
type request struct {
	method, path, key string
	body              string
	cost              int64
	fields            map[string]string
	ctx               context.Context
}

// ask sends one request to h without a network.
func ask(h http.Handler, q request) *http.Response {
	if q.method == "" {
		q.method = http.MethodGet
	}
	if q.path == "" {
		q.path = "/"
	}
	r := httptest.NewRequest(q.method, q.path, strings.NewReader(q.body))
	if q.key != "" {
		r.Header.Set("X-Api-Key", q.key)
	}
	if q.cost != 0 {
		r.Header.Set("X-Cost", strconv.FormatInt(q.cost, 10))
	}
	for name, value := range q.fields {
		r.Header.Set(name, value)
	}
	if q.ctx != nil {
		r = r.WithContext(q.ctx)
	}
	w := httptest.NewRecorder()
	if hangsUp(h, w, r) {
		return &http.Response{Body: http.NoBody}
	}
	return w.Result()
}

// specs are limits of every algorithm and most axes.
var specs = []string{
	"token-bucket,rate=10/s,burst=20",
	"token-bucket,rate=3/7s,burst=2,start=empty",
	"token-bucket,rate=6/1m,burst=6,refill=interval,fill=3",
	"gcra,rate=100/1m,burst=5",
	"gcra,rate=7/s,burst=1,count=all",
	"leaky-bucket,rate=10/s,burst=21,tick=100ms",
	"leaky-bucket-queue,rate=10/s,queue=5",
	"leaky-bucket-queue,rate=10/s,queue=5,undelayed=3",
	"fixed-window,rate=10/s",
	"fixed-window,rate=5/3s,align=first",
	"fixed-window,rate=5/3s,phase=1s,ban=2s",
	"sliding-window-log,rate=10/s",
	"sliding-window-log,rate=4/2500ms,boundary=closed,count=all",
	"sliding-window-counter,rate=10/s",
	"sliding-window-counter,rate=6/3s,align=first,rounding=up",
	"token-bucket,rate=10/s,burst=5 + fixed-window,rate=30/10s",
}

// toldSpecs are limits that are told when requests are complete.
var toldSpecs = []string{
	"concurrency,limit=4,hold=30ms..1s",
	"sliding-window-counter,rate=10/s,charge=completion,hold=30ms..",
	"concurrency,limit=4,hold=30ms.. + gcra,rate=10/s,burst=5",
}

// TestRightTargetEqualsReference compares a target without a fault with the reference, decision by decision
// and with its fields. Requests of several partitions and costs come at random times.
func TestRightTargetEqualsReference(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	for _, spec := range specs {
		t.Run(spec, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limit := parse(t, spec)
				want, err := reference.NewLimit(limit)
				if err != nil {
					t.Fatal(err)
				}
				target := open(t, Options{Limit: limit})
				random := rand.New(rand.NewPCG(1, 2))
				states := map[string]reference.State{}
				allowed, denied := 0, 0
				for i := range 3000 {
					time.Sleep(gap(random, limit))
					// Few partitions stay in use. The many others must not disturb them, nor stay for ever.
					key := fmt.Sprintf("k%d", random.IntN(3))
					if random.IntN(8) == 0 {
						key = fmt.Sprintf("once%d", i)
					}
					q := request{key: key, cost: 1 + max(0, random.Int64N(8)-5)}
					at := time.Duration(time.Now().UnixNano())
					state, ok := states[key]
					if !ok {
						state = want.Init()
					}
					var d reference.Decision
					states[key], d = want.Step(state, at, q.cost)
					if d.Allow {
						allowed++
					} else {
						denied++
					}
					// A queue holds requests back, so that each needs a goroutine of its own.
					go func() { compareAnswer(t, ask(target, q), d, at, limit) }()
					synctest.Wait()
					if t.Failed() {
						t.Fatalf("seed 1,2: request %d of %s, cost %d, at %v: %+v", i, key, q.cost, at, d)
					}
				}
				time.Sleep(limit[0].Recovery())
				if allowed < 300 || denied < 300 {
					t.Errorf("got %d allowed, %d denied, want at least 300 of each: the test says too little",
						allowed, denied)
				}
			})
		})
	}
}

// gap returns a random time between two requests such that about half are denied.
func gap(random *rand.Rand, l spec.Limit) time.Duration {
	slowest := l[0]
	each := float64(slowest.Rate.Per) / float64(slowest.Rate.N)
	switch random.IntN(20) {
	case 0:
		return time.Duration(random.Float64() * 2 * float64(l[0].Recovery()))
	case 1, 2, 3, 4, 5:
		return 0
	default:
		return time.Duration(random.ExpFloat64() * each / 25)
	}
}

// compareAnswer compares an answer with the decision at an instant.
func compareAnswer(t *testing.T, got *http.Response, d reference.Decision, at time.Duration,
	limit spec.Limit) {
	t.Helper()
	check := func(name, want string) {
		t.Helper()
		if v := strings.Join(got.Header.Values(name), "|"); v != want {
			t.Errorf("%s: got %q, want %q", name, v, want)
		}
	}
	now := at + d.Delay
	if late := time.Duration(time.Now().UnixNano()) - now; late != 0 {
		t.Errorf("answered %v after the decision let it through, want at once", late)
	}
	status, reset := http.StatusOK, max(0, min(d.Reset-d.Delay, factsOf(limit).window))
	if d.Allow {
		check("Retry-After", "")
		check("Cache-Control", "")
	} else {
		status = http.StatusTooManyRequests
		check("Cache-Control", "no-store")
		if d.RetryAfter != reference.Never {
			reset = d.RetryAfter
			seconds := int64(d.RetryAfter / time.Second)
			if d.RetryAfter%time.Second != 0 {
				seconds++
			}
			check("Retry-After", strconv.FormatInt(seconds, 10))
		} else {
			check("Retry-After", "")
		}
	}
	if got.StatusCode != status {
		t.Errorf("status: got %d, want %d", got.StatusCode, status)
	}
	quota := limit[0].Full()
	for _, p := range limit {
		quota = min(quota, p.Full())
	}
	epoch := time.Unix(0, int64(now+reset))
	if epoch.Nanosecond() != 0 {
		epoch = epoch.Add(time.Second)
	}
	check("Date", time.Unix(0, int64(now)).UTC().Format(http.TimeFormat))
	check("X-RateLimit-Limit", strconv.FormatInt(quota, 10))
	check("X-RateLimit-Remaining", strconv.FormatInt(d.Remaining, 10))
	check("X-RateLimit-Reset", strconv.FormatInt(epoch.Unix(), 10))
	delta := (reset + time.Second - 1) / time.Second
	if v := got.Header.Get("RateLimit"); !strings.HasSuffix(v,
		fmt.Sprintf(`";r=%d;t=%d`, d.Remaining, delta)) {
		t.Errorf("RateLimit: got %q, want r=%d and t=%d", v, d.Remaining, delta)
	}
}

// hangsUp lets h answer r and tells whether h ended the connection instead.
func hangsUp(h http.Handler, w http.ResponseWriter, r *http.Request) (ended bool) {
	defer func() {
		switch reason := recover(); reason {
		case nil:
		case http.ErrAbortHandler:
			ended = true
		default:
			panic(reason)
		}
	}()
	h.ServeHTTP(w, r)
	return false
}
