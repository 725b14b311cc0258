package lab

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestReplicas counts what three replicas admit of a limit of five at once, half a second later and two
// seconds later.
func TestReplicas(t *testing.T) {
	for name, c := range map[string]struct {
		options Options
		want    string
	}{
		"shared":  {Options{Counters: CountersShared}, "5, 0, 0"},
		"default": {Options{}, "5, 0, 0"},
		"private": {Options{Counters: CountersPrivate}, "15, 0, 0"},
		// after the exchange every replica knows of fifteen
		"synced":       {Options{Counters: CountersSynced}, "15, 0, 0"},
		"synced often": {Options{Counters: CountersSynced, SyncEvery: time.Millisecond}, "7, 0, 0"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.options.Limit, c.options.Replicas = parse(t, "fixed-window,rate=5/1d"), 3
				gap := time.Duration(0)
				if c.options.SyncEvery > 0 {
					gap = c.options.SyncEvery / 3
				}
				got := run(open(t, c.options), pace(30, gap), wait(500*time.Millisecond), burst(30),
					wait(2*time.Second), burst(30))
				if got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
			})
		})
	}
}

// TestReplicasByConnection asks private replicas over two connections, through our server and through
// net/http. By connection, each has a quota, however many requests it carries. By request, both share the
// quotas of two replicas.
func TestReplicasByConnection(t *testing.T) {
	for balance, want := range map[Balance]string{BalanceConnection: "[5 5]",
		BalanceRequest: "[10 0]"} {
		for _, plain := range []bool{false, true} {
			target := open(t, Options{Limit: parse(t, "fixed-window,rate=5/1d,align=first"), Replicas: 2,
				Counters: CountersPrivate, Balance: balance})
			var h http.Handler = target
			if plain {
				h = http.HandlerFunc(target.ServeHTTP)
			}
			s, err := Listen(h, "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var allowed [2]int
			for i := range allowed {
				allowed[i] = overOne(t, s.Addr(), 20)
			}
			if got := fmt.Sprint(allowed); got != want {
				t.Errorf("by %s, net/http %v: got %s, want %s", balance, plain, got, want)
			}
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}

// overOne sends n requests over one connection and returns how many were allowed.
func overOne(t *testing.T, addr string, n int) int {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	allowed, r := 0, bufio.NewReader(c)
	for range n {
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\nX-Api-Key: k\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode == http.StatusOK {
			allowed++
		}
	}
	return allowed
}

// TestReplicasRefuse: errors name options that do not go together.
func TestReplicasRefuse(t *testing.T) {
	for name, o := range map[string]Options{
		"counters":   {Counters: "own"},
		"balance":    {Balance: "random"},
		"negative":   {SyncEvery: -1},
		"with store": {Counters: CountersPrivate, Store: vanishing{}},
	} {
		o.Limit = parse(t, window)
		if _, err := New(o); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}
