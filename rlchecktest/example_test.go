package rlchecktest_test

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/rlchecktest"
)

// limit admits 5 requests a minute of each client, in windows that its first request opens.
func limit(next http.Handler) http.Handler {
	var mu sync.Mutex
	ends, used := map[string]time.Time{}, map[string]int{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		client, now := r.Header.Get("X-Client"), time.Now()
		if !now.Before(ends[client]) {
			ends[client], used[client] = now.Add(time.Minute), 0
		}
		if used[client]++; used[client] > 5 {
			rest := ends[client].Sub(now)
			w.Header().Set("Retry-After", strconv.Itoa(int(rest.Seconds())+1))
			http.Error(w, "slow down", http.StatusTooManyRequests)
			return
		}
		next.ServeHTTP(w, r)
	})
}

var ok = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})

// spec is the limit of limit.
const spec = "fixed-window,rate=5/1m,align=first"

// quick chooses one scenario, so that the examples take no time.
var quick = rlchecktest.Only("burst")

// run runs a test function as go test does, and tells whether it passed.
func run(test func(t *testing.T)) {
	for name, value := range map[string]string{"test.v": "false", "test.count": "1"} { // the flags exist
		before := flag.Lookup(name).Value.String()
		_ = flag.Set(name, value)
		defer func() { _ = flag.Set(name, before) }()
	}
	every := func(string, string) (bool, error) { return true, nil }
	fmt.Println("passed:", testing.RunTests(every, []testing.InternalTest{{Name: "TestLimiter", F: test}}))
}

func ExampleHandler() {
	test := func(t *testing.T) { // func TestLimiter(t *testing.T)
		rlchecktest.Handler(t, limit(ok), spec, rlchecktest.Key("X-Client"),
			rlchecktest.Only("burst", "race"))
	}
	run(test)
	// Output: passed: true
}

func ExampleMake() {
	test := func(t *testing.T) {
		build := func() http.Handler { return limit(ok) }
		rlchecktest.Make(t, build, spec, rlchecktest.Key("X-Client"), quick)
	}
	run(test)
	// Output: passed: true
}

func ExampleURL() {
	test := func(t *testing.T) {
		server := httptest.NewServer(limit(ok))
		defer server.Close()
		rlchecktest.URL(t, server.URL, spec, rlchecktest.Key("X-Client"),
			rlchecktest.Only("concurrent-race"))
	}
	run(test)
	// Output: passed: true
}

func ExampleKey() {
	run(func(t *testing.T) {
		rlchecktest.Handler(t, limit(ok), spec, rlchecktest.Key("X-Client"), quick)
	})
	// Output: passed: true
}

func ExamplePartition() {
	all := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {})
	one := limit(all)
	run(func(t *testing.T) {
		rlchecktest.Handler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Set("X-Client", r.URL.Query().Get("key"))
			one.ServeHTTP(w, r)
		}), spec, rlchecktest.Partition("query:key"), quick)
	})
	// Output: passed: true
}

func ExamplePath() {
	mux := http.NewServeMux()
	mux.Handle("/login", limit(ok))
	run(func(t *testing.T) {
		rlchecktest.Handler(t, mux, spec, rlchecktest.Key("X-Client"), rlchecktest.Path("/login"), quick)
	})
	// Output: passed: true
}

// The handler knows three clients.
func ExampleKeys() {
	one := limit(ok)
	known := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.Header.Get("X-Client"), "secret-") {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		one.ServeHTTP(w, r)
	})
	run(func(t *testing.T) {
		rlchecktest.Handler(t, known, spec, rlchecktest.Key("X-Client"),
			rlchecktest.Keys("secret-1", "secret-2", "secret-3"), rlchecktest.Only("burst"))
	})
	// Output: passed: true
}

// A limiter that starts again keeps what was used.
func ExampleOn() {
	var one http.Handler
	build := func() http.Handler { one = limit(ok); return one }
	run(func(t *testing.T) {
		rlchecktest.Make(t, build, spec, rlchecktest.Key("X-Client"), rlchecktest.Only("restart"),
			rlchecktest.On("restart", func(string) error { return nil })) // it has nothing to forget
	})
	// Output: passed: true
}

// A limiter counts what it denies.
func ExampleDenials() {
	var denied atomic.Int64
	one := limit(ok)
	counting := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		if one.ServeHTTP(answer, r); answer.Code == http.StatusTooManyRequests {
			denied.Add(1)
		}
		w.WriteHeader(answer.Code)
	})
	run(func(t *testing.T) {
		rlchecktest.Handler(t, counting, spec, rlchecktest.Key("X-Client"),
			rlchecktest.Only("denial-count"), rlchecktest.Denials(denied.Load))
	})
	// Output: passed: true
}

// A handler that passes requests on may not change what a limiter says.
func ExampleOrigin() {
	origin := limit(ok)
	proxy := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { origin.ServeHTTP(w, r) })
	run(func(t *testing.T) {
		rlchecktest.Handler(t, proxy, spec, rlchecktest.Key("X-Client"), rlchecktest.Origin(origin),
			rlchecktest.Only("proxy-header-stripping"))
	})
	// Output: passed: true
}

func ExampleOnly() {
	run(func(t *testing.T) {
		rlchecktest.Handler(t, limit(ok), spec, rlchecktest.Key("X-Client"),
			rlchecktest.Only("burst", "retry-after"))
	})
	// Output: passed: true
}

func ExampleSkip() {
	run(func(t *testing.T) {
		rlchecktest.Handler(t, limit(ok), spec, rlchecktest.Key("X-Client"),
			rlchecktest.Only("burst", "race"), rlchecktest.Skip("race"))
	})
	// Output: passed: true
}

func ExampleSet() {
	run(func(t *testing.T) {
		rlchecktest.Handler(t, limit(ok), spec, rlchecktest.Key("X-Client"), quick,
			rlchecktest.Set("target.method", "POST"))
	})
	// Output: passed: true
}

func ExamplePromise() {
	run(func(t *testing.T) {
		rlchecktest.Handler(t, limit(ok), spec, rlchecktest.Key("X-Client"),
			rlchecktest.Only("retry-after"), rlchecktest.Promise("retry-after"))
	})
	// Output: passed: true
}

// The recommended scenarios count too.
func ExampleStrict() {
	run(func(t *testing.T) {
		rlchecktest.Handler(t, limit(ok), spec, rlchecktest.Key("X-Client"),
			rlchecktest.Only("replicas"), rlchecktest.Strict())
	})
	// Output: passed: true
}

// A host with a public address must be named.
func ExampleAllow() {
	run(func(t *testing.T) {
		t.Skip("nothing is sent in an example")
		rlchecktest.URL(t, "https://api.example.com/", spec, rlchecktest.Allow("api.example.com"))
	})
	// Output: passed: true
}
