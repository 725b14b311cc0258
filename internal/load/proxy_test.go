package load

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"
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
	tl := mustRecord(t, one(), Options{URL: target, Proxy: proxy, HTTP2: true})
	if o := tl.Observations[0]; o.Status != http.StatusOK {
		t.Errorf("got %+v; notes %q", o, tl.Header.Notes)
	}
}

// TestATargetBehindAProxyIsConnectedToByNobodyElse: all connections go through the proxy, also to test what
// the target speaks.
func TestATargetBehindAProxyIsConnectedToByNobodyElse(t *testing.T) {
	var asked atomic.Int64
	target := loopback(t, func(net.Conn) { asked.Add(1) })
	proxy := loopback(t, func(c net.Conn) { http.ReadRequest(bufio.NewReader(c)) })
	proxy.Path = ""
	tl := mustRecord(t, one(), Options{URL: target, Proxy: proxy})
	if o := tl.Observations[0]; o.Error != "eof" || asked.Load() > 0 {
		t.Errorf("got %q, and %d connections past the proxy", o.Error, asked.Load())
	}
}
