package transport

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// heard is a driver that counts its calls.
type heard struct{ ended, dropped int }

func (d *heard) Ended(*Shot, *Conn) { d.ended++ }
func (d *heard) Dropped(*Shot)      { d.dropped++ }

// targets returns a dialler to in-memory targets that answer 200, and keeps their ends of the connections.
func targets(theirs *[]net.Conn) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		a, b := net.Pipe()
		*theirs = append(*theirs, b)
		go func() {
			for in := bufio.NewReader(b); ; {
				if _, err := http.ReadRequest(in); err != nil {
					return
				}
				_, _ = io.WriteString(b, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			}
		}()
		return a, nil
	}
}

// TestBytesBeforeAnArmedRequestDoNotAnswerIt: a target may send an answer as soon as a client connects. It
// may be read only when a request is held back there.
func TestBytesBeforeAnArmedRequestDoNotAnswerIt(t *testing.T) {
	o, err := Options{URL: &url.URL{Scheme: "http", Host: "h"}}.Complete()
	if err != nil {
		t.Fatal(err)
	}
	x, by := New(t.Context(), o, Clock{Start: time.Now()}, nil, nil, func() {}), &heard{}
	for came, answers := range map[time.Duration]bool{1: false, 3: true} {
		ours, _ := net.Pipe()
		s := &Shot{Obs: &timeline.Observation{}, Owner: by, gated: true, armedAt: 2,
			Request: NewRequests(o).Of(Wish{Partition: "k"})}
		s.state.Store(armed)
		c := &Conn{t: x, pool: x.Pool(false, "k"), nc: ours, raw: ours}
		c.in = intake{left: maxHeader, last: came}
		c.br = bufio.NewReader(strings.NewReader("HTTP/1.1 429 No\r\nContent-Length: 0\r\n\r\n"))
		c.inflight.Store(s)
		if c.receive(s) || s.Obs.Answered != answers {
			t.Errorf("armed at 2, bytes at %d: got %+v", came, s.Obs)
		}
	}
	x.Abort()
	x.Wait()
}

// TestAShotThatIsNotArmedCountsOnce: a shot whose connection ends before anything was written is sent when
// its gate opens. A ceiling of requests counts it once.
func TestAShotThatIsNotArmedCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var theirs []net.Conn
		o, err := Options{URL: &url.URL{Scheme: "http", Host: "h"}, Dial: targets(&theirs),
			Ceilings: Ceilings{MaxRequests: 1}, Pacer: SleepingPacer()}.Complete()
		if err != nil {
			t.Fatal(err)
		}
		x := New(t.Context(), o, Clock{Start: time.Now()}, nil, nil, func() {})
		pool, by := x.Pool(false, "k"), &heard{}
		x.Warm(map[*Pool]int{pool: 1})
		s := &Shot{Obs: &timeline.Observation{}, Pool: pool, Owner: by,
			Request: NewRequests(o).Of(Wish{Partition: "k"})}
		c := x.reserve(s)
		theirs[0].Close()
		synctest.Wait()
		if _, ok := x.load(c, s); ok {
			t.Error("it was armed on a connection that has ended")
		}
		x.Submit(s)
		synctest.Wait()
		if !s.Over() || by.ended != 1 || by.dropped != 0 || s.Obs.Outcome != timeline.Allowed {
			t.Errorf("got %+v and %+v, want it answered; notes %q", *by, s.Obs, x.Notes())
		}
		x.Abort()
		x.Wait()
	})
}
