package load

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// grpcHeader returns the header of a gRPC request.
func grpcHeader() http.Header { return http.Header{"Content-Type": {"application/grpc+proto"}} }

// comeBack is a google.rpc.Status of UNAVAILABLE with a google.rpc.RetryInfo of three seconds.
const comeBack = "CA4SCXNsb3cgZG93bhowCih0eXBlLmdvb2dsZWFwaXMuY29tL2dvb2dsZS5y" +
	"cGMuUmV0cnlJbmZvEgQKAggD"

// The outcome is the one in the trailers of gRPC, also if they are in the only header block. Without a status
// there is no outcome.
func TestStatusesOfGRPC(t *testing.T) {
	said := func(code string, more ...string) []string {
		return append([]string{"grpc-status", code}, more...)
	}
	for name, tt := range map[string]struct {
		trailers []string
		alone    bool // the trailers are the only header block
		status   int
		outcome  timeline.Outcome
		word     string
	}{
		"admitted":         {trailers: said("0"), status: 200, outcome: timeline.Allowed},
		"exhausted":        {trailers: said("8"), status: 429, outcome: timeline.Denied},
		"exhausted, alone": {trailers: said("8"), alone: true, status: 429, outcome: timeline.Denied},
		"unavailable":      {trailers: said("14"), status: 503},
		"come back": {trailers: said("14", "grpc-status-details-bin", comeBack), status: 429,
			outcome: timeline.Denied},
		"not found":         {trailers: said("5")},
		"no status":         {trailers: []string{"x-a", "1"}, word: "malformed"},
		"a status of words": {trailers: said("ok"), word: "malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := loopback(t, func(c net.Conn) {
				p := speak(c)
				answer := []string{":status", "200", "content-type", "application/grpc"}
				if tt.alone {
					p.header = block(append(answer, tt.trailers...)...)
					p.answer(1, true)
					p.listen()
					return
				}
				p.header = block(answer...)
				p.answer(1, false)
				p.WriteData(1, false, make([]byte, 5))
				p.header = block(append(tt.trailers, "grpc-message", "slow%20down")...)
				p.answer(1, true)
				p.listen()
			})
			o := mustRecord(t, one(), Options{URL: u, HTTP2: true, Header: grpcHeader(),
				Answers: Answers{KeepBody: 4}}).Observations[0]
			if o.Status != tt.status || o.Outcome != tt.outcome || o.Error != tt.word ||
				o.Answered != (tt.word == "") {
				t.Errorf("got status %d, %v, error %q, want %d, %v, %q", o.Status, o.Outcome, o.Error,
					tt.status, tt.outcome, tt.word)
			}
			if got, _ := o.Fields.Get("Grpc-Status"); tt.word == "" && got != tt.trailers[1] {
				t.Errorf("got grpc-status %q", got)
			}
			if explained := tt.outcome == timeline.Denied && !tt.alone; explained != (o.Body == "slow") {
				t.Errorf("got body %q", o.Body)
			}
		})
	}
}

// A page is no answer to a call: a server of other things admits nothing.
func TestAPageIsNoAnswerToGRPC(t *testing.T) {
	u := loopback(t, func(c net.Conn) {
		p := speak(c)
		p.header = block(":status", "200", "content-type", "text/html")
		p.answer(1, true)
		p.listen()
	})
	for name, header := range map[string]http.Header{"page": nil, "call": grpcHeader()} {
		tl := mustRecord(t, one(), Options{URL: u, HTTP2: true, Header: header})
		want := map[string]timeline.Outcome{"page": timeline.Allowed, "call": timeline.Unknown}[name]
		o, notes := tl.Observations[0], strings.Join(tl.Header.Notes, "; ")
		if o.Outcome != want || o.Status != 200 || strings.Contains(notes, "not gRPC") != (name == "call") {
			t.Errorf("%s: got %+v, notes %q", name, o, notes)
		}
	}
}

// An answer of gRPC that ends before its trailers does not count: the decision is unknown.
func TestAnAnswerOfGRPCWithoutItsEndIsNone(t *testing.T) {
	u := loopback(t, func(c net.Conn) {
		p := speak(c)
		p.header = block(":status", "200", "content-type", "application/grpc")
		p.answer(1, false)
		p.WriteRSTStream(1, 2)
		p.listen()
	})
	o := mustRecord(t, one(), Options{URL: u, HTTP2: true, Header: grpcHeader()}).Observations[0]
	if o.Answered || o.Outcome != timeline.Unknown || o.Error != "reset" || o.Status != 0 {
		t.Errorf("got %+v", o)
	}
}

// A limiter behind a stream decides after the header block of its answer. So the interval ends with the
// trailers.
func TestTheDecisionLiesInTheIntervalOfGRPC(t *testing.T) {
	var mu sync.Mutex
	at := map[string]time.Time{}
	o, _ := way{h2: true}.serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/grpc")
		w.(http.Flusher).Flush()
		time.Sleep(2 * time.Millisecond)
		mu.Lock()
		at[r.Header.Get("X-Api-Key")] = time.Now()
		mu.Unlock()
		if string(body) != string(transport.GRPCNoMessage) || r.Method != http.MethodPost ||
			r.Header.Get("Te") != "trailers" {
			t.Errorf("got %s %q, TE %q", r.Method, body, r.Header.Get("Te"))
		}
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
	})
	o.Header, o.Partition = grpcHeader(), Partition{Kind: transport.ByHeader, Name: "X-Api-Key"}
	arrivals := each(200, time.Millisecond, "", 0)
	for i := range arrivals {
		arrivals[i].Partition = strings.Repeat("k", i+1)
	}
	r := newRecorder(schedule(timeline.Phase{Name: "p", Shape: timeline.Constant, Arrivals: arrivals}),
		must(o.Complete()))
	tl := r.record(t.Context())
	sane(t, tl)
	for _, x := range tl.Observations {
		if decided := at[x.Partition].Sub(r.clock.Start); x.Answered &&
			(x.Outcome != timeline.Allowed || decided < x.Sent || decided > x.FirstByte) {
			t.Errorf("seq %d: %v, decided at %v, outside [%v, %v]", x.Seq, x.Outcome, decided, x.Sent,
				x.FirstByte)
		}
	}
}

// Over HTTP/1.1 there is no gRPC, and other requests stay unchanged.
func TestOnlyGRPCIsGRPC(t *testing.T) {
	u := must(url.Parse("http://t.example/"))
	for name, o := range map[string]Options{
		"HTTP/1.1":   {URL: u, Header: grpcHeader()},
		"other type": {URL: u, HTTP2: true, Header: http.Header{"Content-Type": {"text/plain"}}},
	} {
		if done := must(o.Complete()); done.Method != http.MethodGet || len(done.Body) != 0 {
			t.Errorf("%s: got %s with a body of %d", name, done.Method, len(done.Body))
		}
	}
}
