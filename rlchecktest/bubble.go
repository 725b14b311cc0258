package rlchecktest

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/trial"
)

const (
	// anywhere is the URL of a scenario until its handler listens, beyond that of its origin.
	anywhere, beyond = "http://127.0.0.1/", "http://127.0.0.2/"
	// patience is how long a scenario may last in virtual time.
	patience = "168h"
	// settling is how long the connections of a scenario have to end.
	settling = time.Minute
	// odd is when a bubble begins where the handler is built in it, after midnight of its first day: at the
	// beginning of no window.
	odd = 7*time.Hour + 13*time.Minute + 21*time.Second + 700*time.Millisecond
)

// inBubble runs the scenarios in one bubble, one after the other, until one fails the test. before: build
// returns a handler that was built before, so time goes on from the present.
func (c *config) inBubble(t *testing.T, before bool, build func() http.Handler) []shown {
	t.Helper()
	wait, passed := make(chan time.Duration), make(chan struct{})
	defer close(wait)
	go func() { // outside of the bubble, whose time stands still while one of its goroutines waits here
		for d := range wait {
			time.Sleep(d)
			passed <- struct{}{}
		}
	}()
	build = keeping(build)
	c.real = func(d time.Duration) { wait <- d; <-passed }
	var begin time.Time
	if c.before = before; before {
		begin = c.enter()
	}
	var out []shown
	var err error
	alone(t, func() {
		if before {
			time.Sleep(time.Until(begin) + time.Second)
		} else {
			time.Sleep(odd)
		}
		c.path = cmp.Or(c.path, c.known(build))
		var all []*scenario.Scenario
		if all, err = c.scenarios(c.where(anywhere), patience); err != nil {
			return
		}
		if x, ok := c.race(build); ok {
			out = append(out, x)
		}
		for _, s := range all {
			if over(out) {
				break
			}
			out = append(out, c.play(s, build))
		}
		time.Sleep(settling)
		if before {
			leave(time.Now())
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return c.together(out)
}

// bubbles counts the bubbles of the process, and has the latest virtual time in them. A handler may be in
// several: its time never goes back, and its clients are new in each.
var bubbles struct {
	sync.Mutex
	n    int
	last time.Time
}

// enter returns the time at which a bubble begins, at present or after all others, and names its clients.
func (c *config) enter() time.Time {
	leave(time.Now())
	bubbles.Lock()
	defer bubbles.Unlock()
	if bubbles.n++; bubbles.n > 1 {
		c.run = fmt.Sprintf("test%d", bubbles.n)
	}
	return bubbles.last
}

// leave keeps the time at which a bubble ends.
func leave(at time.Time) {
	bubbles.Lock()
	defer bubbles.Unlock()
	if at.After(bubbles.last) {
		bubbles.last = at
	}
}

// where returns the URL of the requests to a server.
func (c *config) where(server string) string { return server + strings.TrimPrefix(c.path, "/") }

// known returns a path with letters, which may be spelled in several ways, or / if the handler admits nobody
// there.
func (c *config) known(build func() http.Handler) string {
	const path = "/" + scenario.BuiltinPath
	mark, ok := marker(c.partition)
	if !ok || len(c.keys) > 0 {
		return "/"
	}
	there := *c
	there.path = path
	a := ask{r: there.request(), w: httptest.NewRecorder()}
	mark(a.r, "198.51.100.78")
	if a.send(build()); a.gone || a.w.Code >= http.StatusMultipleChoices {
		return "/"
	}
	return path
}

// kept keeps the handlers that were built in bubbles. A finalizer that stops the goroutine of one runs
// outside of its bubble, and a channel of a bubble that is used outside ends the process.
var kept struct {
	sync.Mutex
	all []http.Handler
}

// keeping returns build, and keeps what it returns.
func keeping(build func() http.Handler) func() http.Handler {
	return func() http.Handler {
		h := build()
		kept.Lock()
		defer kept.Unlock()
		kept.all = append(kept.all, h)
		return h
	}
}

// alone runs f in a bubble. Goroutines that still wait when it returns wait for ever, which is no fault.
func alone(t *testing.T, f func()) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil && !strings.Contains(fmt.Sprint(p), "main bubble goroutine has exited") {
			panic(p)
		}
	}()
	synctest.Test(t, func(*testing.T) { f() })
}

// play runs one scenario against a handler that build returns.
func (c *config) play(s *scenario.Scenario, build func() http.Handler) shown {
	if why := s.Unmet(); why != "" {
		return shown{id: s.ID, text: inTest(why)}
	}
	network, h := c.network(), build()
	where, stop, err := network.Listen(h)
	if err != nil {
		return shown{id: s.ID, verdict: open, text: err.Error()}
	}
	here := *s
	here.Target.URL = c.where(where)
	if c.origin != nil {
		if here.Target.Origin, _, err = network.Listen(c.origin); err != nil {
			return shown{id: s.ID, verdict: open, text: err.Error()}
		}
	}
	out := trial.Scenario(context.Background(), &here, trial.Options{ID: c.run + "-" + s.ID, Seed: 1,
		Version: "test", Network: network, Pacer: transport.SleepingPacer(), SameClock: true,
		Events: c.events})
	if err := stop(); err != nil {
		return shown{id: s.ID, verdict: open, text: err.Error()}
	}
	doubt := ""
	if out.Verdict == result.Fail && !out.Overruns() {
		doubt = c.otherClock(h)
	}
	return c.weigh(&out, doubt)
}

// outside names a goroutine that the code under test started outside of the bubble and that waits there.
// Empty: there is none. It keeps real time, so a limiter that needs it stands still while virtual hours
// pass.
func (c *config) outside() string {
	mend := "an earlier bubble or the process has it: run this test alone, or serve the handler with " +
		"httptest.NewServer, and test that with rlchecktest.URL"
	if c.before {
		mend = "build the handler in the function given to rlchecktest.Make"
	}
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	for one := range strings.SplitSeq(string(buf), "\n\n") {
		head, _, _ := strings.Cut(one, "\n")
		_, from, created := strings.Cut(one, "\ncreated by ")
		if !created || strings.Contains(head, "synctest bubble") || strings.Contains(head, "running") ||
			ours(from) {
			continue
		}
		name, place, _ := strings.Cut(from, " in goroutine")
		_, at, _ := strings.Cut(place, "\n\t")
		at, _, _ = strings.Cut(at, " +")
		return fmt.Sprintf("a goroutine that %s started (%s) is outside of the bubble and keeps real time "+
			"(%s)", name, at, mend)
	}
	return ""
}

// ours tells whether a function that started a goroutine is of the standard library.
func ours(creator string) bool {
	for _, of := range []string{"testing.", "testing/", "runtime.", "runtime/", "os/signal.", "net/http.",
		"net.", "internal/", "context.", "crypto/",
		"github.com/rlcheck/rlcheck/rlchecktest.(*config)."} {
		if strings.HasPrefix(creator, of) {
			return true
		}
	}
	return false
}
