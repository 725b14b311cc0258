package load

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestAGreetingIsNoAnswer: a target sends an answer to nobody. It may reach the client after the first
// request, and before the answer to that.
func TestAGreetingIsNoAnswer(t *testing.T) {
	const yes, no = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n"
	virtual(t, ok, func(t *testing.T, o Options) {
		var open sync.WaitGroup
		defer open.Wait()
		var dials atomic.Int64
		o.Dial = func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			n := dials.Add(1)
			open.Go(func() {
				http.ReadRequest(bufio.NewReader(theirs))
				switch n {
				case 1: // both are read apart
					io.WriteString(theirs, yes)
					time.Sleep(time.Millisecond)
					io.WriteString(theirs, no)
				case 2: // and together
					io.WriteString(theirs, yes+no)
				default:
					io.WriteString(theirs, no)
				}
				theirs.Close()
			})
			return ours, nil
		}
		tl := mustRecord(t, schedule(timeline.Phase{Name: "p", Shape: timeline.Constant,
			Arrivals: each(3, time.Second, "k", 0)}), o)
		got := tl.Observations
		if got[0].Error != transport.CauseSurplus || got[1].Error != transport.CauseSurplus ||
			got[2].Status != 429 {
			t.Errorf("got %+v", got)
		}
	})
}

// TestAnswersThatMayBeOthersAreNone: a target answers one request twice. Each later request on the connection
// then gets the answer of the one before, until an answer comes unasked. Those answers do not count. Other
// unasked bytes cost only the connection.
func TestAnswersThatMayBeOthersAreNone(t *testing.T) {
	const yes, no = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n"
	five, doubted := []string{yes, yes, no, no, no}, "surplus surplus surplus surplus surplus"
	for name, tt := range map[string]struct {
		texts []string // sent in turn on a connection
		last  string   // sent after them
		want  string
	}{
		"one too many":        {five, no, doubted},
		"one with its length": {five, no[:9], doubted},
		"two at the end":      {[]string{yes, yes, no, no, no + no}, "", doubted},
		"two at once":         {[]string{yes + yes}, "", "200 200 200 200 200"},
		"an empty line":       {five, "\r\n", "200 200 429 429 429"},
		"the interim answer":  {five, "HTTP/1.1 100 Continue\r\n\r\n", "200 200 429 429 429"},
		"a time-out":          {five, "HTTP/1.1 408 Too Late\r\n\r\n", "200 200 429 429 429"},
	} {
		for _, spool := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, spool %v", name, spool), func(t *testing.T) {
				o := Options{}
				if spool {
					o.Spill = spillHere(t)
				}
				o.URL = loopback(t, tooMany(tt.texts, tt.last))
				if got := said(t, o, len(five)); got != tt.want {
					t.Errorf("got %s, want %s", got, tt.want)
				}
				virtual(t, ok, func(t *testing.T, v Options) { // a goroutine reads
					var open sync.WaitGroup
					defer open.Wait()
					serve := tooMany(tt.texts, tt.last)
					v.Spill, v.Dial = o.Spill, func(context.Context, string, string) (net.Conn, error) {
						ours, theirs := net.Pipe()
						open.Go(func() {
							defer theirs.Close()
							serve(theirs)
						})
						return ours, nil
					}
					if got := said(t, v, len(five)); got != tt.want {
						t.Errorf("in virtual time: got %s, want %s", got, tt.want)
					}
				})
			})
		}
	}
}

// tooMany answers the partition a with the texts in turn on each connection, and with last behind them. It
// answers other partitions once a had five answers and the connection of a ended.
func tooMany(texts []string, last string) func(net.Conn) {
	var mu sync.Mutex
	answers, over := 0, make(chan struct{})
	return func(c net.Conn) {
		br := bufio.NewReader(c)
		for i := 0; ; i++ {
			switch req, err := http.ReadRequest(br); {
			case err != nil:
				mu.Lock()
				defer mu.Unlock()
				if answers == 5 {
					answers++
					close(over)
				}
				return
			case req.Header.Get("X-Api-Key") != "a":
				<-over
				io.WriteString(c, texts[0])
				continue
			}
			mu.Lock()
			answers++
			mu.Unlock()
			time.Sleep(time.Millisecond) // so that the next bytes are read alone, in virtual time in order
			io.WriteString(c, texts[i])
			if i == len(texts)-1 {
				time.Sleep(time.Millisecond)
				io.WriteString(c, last)
			}
		}
	}
}

// said lets a client of the partition a send n requests while another client waits. It returns the record of
// each request.
func said(t *testing.T, o Options, n int) string {
	o.Partition, o.Timeout = Partition{Kind: transport.ByHeader, Name: "X-Api-Key"}, time.Minute
	s := schedule(timeline.Phase{Name: "c", Shape: timeline.Closed, Clients: 2,
		Partitions: []string{"b", "a"}, Requests: LongRecording + 1})
	r := newRecorder(s, must(o.Complete()))
	if err := r.check(); err != nil || r.long != (o.Spill != nil) {
		t.Fatalf("got long %v, %v", r.long, err)
	}
	s.Phases[0].Requests = n + 1
	tl := r.record(t.Context())
	if tl.Spool != nil {
		defer tl.Spool.Close()
	}
	var out []string
	for x := range tl.All() {
		if x.Partition == "a" {
			out = append(out, cmp.Or(x.Error, fmt.Sprint(x.Status)))
		}
	}
	return strings.Join(out, " ")
}
