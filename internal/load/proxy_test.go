package load

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestATargetMaySpeakFirstInATunnel: a target of HTTP/2 sends its settings as soon as a client connects. They
// may arrive together with the answer of the proxy.
func TestATargetMaySpeakFirstInATunnel(t *testing.T) {
	proxy := loopback(t, func(c net.Conn) {
		in := bufio.NewReader(c)
		if _, err := http.ReadRequest(in); err != nil {
			return
		}
		var first strings.Builder
		io.WriteString(&first, "HTTP/1.1 200 OK\r\n\r\n")
		http2.NewFramer(&first, nil).WriteSettings()
		io.WriteString(c, first.String())
		io.CopyN(io.Discard, in, int64(len(http2.ClientPreface)))
		p := &peer{Framer: http2.NewFramer(c, in), c: c, header: block(":status", "200")}
		for id := p.next(); id != 0; id = p.next() {
			p.answer(id, true)
		}
	})
	proxy.Path = ""
	target := &url.URL{Scheme: "http", Host: "target.example", Path: "/"}
	tl := mustRecord(t, one(), Options{URL: target, Route: Route{Proxy: proxy}, HTTP2: true})
	if o := tl.Observations[0]; o.Status != http.StatusOK {
		t.Errorf("got %+v; notes %q", o, tl.Header.Notes)
	}
}

// TestASilentProxyTakesTwoTimeOuts: one while connections are opened before a burst, and one for its
// requests. However many they are, the proxy is named.
func TestASilentProxyTakesTwoTimeOuts(t *testing.T) {
	virtual(t, nil, func(t *testing.T, o Options) {
		o.Dial = func(context.Context, string, string) (net.Conn, error) {
			c, silent := net.Pipe()
			go io.Copy(io.Discard, silent)
			return c, nil
		}
		o.URL, o.Proxy = must(url.Parse("https://target.example/")), must(url.Parse("http://proxy.example"))
		o.Timeout = 3 * time.Second
		tl := mustRecord(t, schedule(timeline.Phase{Name: "b", Shape: timeline.AtOnce,
			Arrivals: each(100, 0, "k", 0)}), o)
		why, _ := transport.CauseUnreachable(tl)
		if end := tl.Header.Ended.Round(time.Second); end != 6*time.Second ||
			!strings.HasSuffix(why, "the proxy did not answer CONNECT within 3s: context deadline exceeded") {
			t.Errorf("it took %v: %s", end, why)
		}
	})
}

// TestASilentForwarderIsInDoubt: without a tunnel nobody knows whether the proxy or the target is silent.
func TestASilentForwarderIsInDoubt(t *testing.T) {
	virtual(t, nil, func(t *testing.T, o Options) {
		o.Dial = func(context.Context, string, string) (net.Conn, error) {
			c, silent := net.Pipe()
			go io.Copy(io.Discard, silent)
			return c, nil
		}
		o.URL = must(url.Parse("http://target.example/"))
		for _, proxy := range []*url.URL{nil, must(url.Parse("http://proxy.example"))} {
			o.Proxy = proxy
			mend := transport.CauseRemedy(mustRecord(t, one(), o))
			if strings.Contains(mend, "whether the proxy or the target is silent") != (proxy != nil) {
				t.Errorf("proxy %v: got %q", proxy, mend)
			}
		}
	})
}

// TestTheWayToAProxyIsNoFaultOfTheTarget: whatever ends it, the mend is about the proxy.
func TestTheWayToAProxyIsNoFaultOfTheTarget(t *testing.T) {
	for _, err := range []error{&net.DNSError{Name: "proxy.example"}, syscall.EHOSTUNREACH,
		context.DeadlineExceeded, syscall.ECONNREFUSED} {
		tl := mustRecord(t, one(), Options{URL: must(url.Parse("http://target.example/")),
			Route: Route{Proxy: must(url.Parse("http://proxy.example"))},
			Dial:  func(context.Context, string, string) (net.Conn, error) { return nil, err }})
		if mend := transport.CauseRemedy(tl); !strings.Contains(mend, "--proxy") {
			t.Errorf("%v: got %q, mend %q", err, tl.Observations[0].Error, mend)
		}
	}
}

// TestATargetBehindAProxyIsConnectedToByNobodyElse: all connections go through the proxy, also to test what
// the target speaks.
func TestATargetBehindAProxyIsConnectedToByNobodyElse(t *testing.T) {
	var asked atomic.Int64
	target := loopback(t, func(net.Conn) { asked.Add(1) })
	proxy := loopback(t, func(c net.Conn) { http.ReadRequest(bufio.NewReader(c)) })
	proxy.Path = ""
	tl := mustRecord(t, one(), Options{URL: target, Route: Route{Proxy: proxy}})
	if o := tl.Observations[0]; o.Error != "eof" || asked.Load() > 0 {
		t.Errorf("got %q, and %d connections past the proxy", o.Error, asked.Load())
	}
}
