package transport

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	ours "github.com/rlcheck/rlcheck/internal/http2"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// tardyEnd is a connection whose end is read late.
type tardyEnd struct {
	net.Conn
	late <-chan struct{}
}

func (c tardyEnd) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == io.ErrClosedPipe {
		<-c.late
	}
	return n, err
}

// two serves a connection of HTTP/2 with room for two streams, and answers each after a second.
func two(c net.Conn) {
	if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	f, ids := http2.NewFramer(c, c), make(chan uint32, 9)
	defer close(ids)
	go func() { // a pipe has no buffer, so a writer waits
		_ = f.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 2})
		var ok bytes.Buffer
		_ = hpack.NewEncoder(&ok).WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
		for id := range ids {
			time.Sleep(time.Second)
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: ok.Bytes(),
				EndHeaders: true, EndStream: true})
		}
	}()
	for {
		got, err := f.ReadFrame()
		if err != nil {
			return
		}
		if h, is := got.(*http2.HeadersFrame); is {
			ids <- h.StreamID
		}
	}
}

// TestWhatCouldNotBeWrittenTogetherIsSentOnce: a connection ends while a burst is about to leave on it. The
// requests leave on another connection, and the reader that reaches their streams later does not end them.
func TestWhatCouldNotBeWrittenTogetherIsSentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := make(chan struct{})
		dial := func(context.Context, string, string) (net.Conn, error) {
			a, b := net.Pipe()
			go two(b)
			return tardyEnd{a, late}, nil
		}
		o, err := Options{URL: &url.URL{Scheme: "http", Host: "h"}, Dial: dial, HTTP2: true,
			Pacer: SleepingPacer()}.Complete()
		if err != nil {
			t.Fatal(err)
		}
		x := New(t.Context(), o, Clock{Start: time.Now()}, nil, nil, func() {})
		pool, by := x.Pool(false, "k"), &heard{}
		x.Keep(pool)
		x.Warm(map[*Pool]int{pool: 4})
		var shots [2]*Shot
		var burst []Loaded
		for i := range shots {
			shots[i] = &Shot{Obs: &timeline.Observation{}, Pool: pool, Owner: by,
				Request: NewRequests(o).Of(Wish{Partition: "k"})}
			loaded, ok := x.Arm(shots[i])
			if !ok {
				t.Fatal("it was not armed")
			}
			burst = append(burst, loaded)
		}
		if Align(burst); burst[0].c.link != burst[1].c.link {
			t.Fatal("they have a connection each")
		}
		burst[0].c.giveUp(ours.ErrGoneAway) // as the reader does, one stream after the other
		x.Fire(burst)
		synctest.Wait()
		close(late) // the reader comes to the other stream
		time.Sleep(3 * time.Second)
		x.Abort()
		x.Wait()
		sent, over := x.Counts()
		if by.ended != 2 || sent != 2 || over[timeline.Allowed] != 2 || over[timeline.Unknown] != 0 {
			t.Errorf("%d ended, %d were sent, by outcome %v; notes %q", by.ended, sent, over, x.Notes())
		}
	})
}

// TestWhoWaitedForAConnectionIsToldWhyItFailed: the first request spends all of its time on a silent target.
// The one behind it has no time left to look up a name, and its error is not one of names.
func TestWhoWaitedForAConnectionIsToldWhyItFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			if ctx.Err() != nil {
				return nil, &net.DNSError{Err: ctx.Err().Error()}
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		o, err := Options{URL: &url.URL{Scheme: "http", Host: "h"}, Dial: dial, HTTP2: true,
			Pacer: SleepingPacer()}.Complete()
		if err != nil {
			t.Fatal(err)
		}
		x := New(t.Context(), o, Clock{Start: time.Now()}, nil, nil, func() {})
		pool := x.Pool(false, "k")
		_, first := x.dial(pool)
		late, cancel := context.WithDeadline(t.Context(), time.Now())
		defer cancel()
		if _, err := x.join(late, pool); first == nil || CauseWord(err) != CauseTimeout {
			t.Errorf("got %v after %v, want a timeout", err, first)
		}
	})
}
