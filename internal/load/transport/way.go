package transport

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
)

// carriers names what requests in flight occupy.
func carriers(o *Options) string {
	if o.HTTP2 {
		return "streams"
	}
	return "connections"
}

// via opens a connection for requests to u. It asks the proxy for a tunnel if the proxy cannot forward
// such requests itself.
func (d dialer) via(ctx context.Context, p *Pool, u *url.URL) (net.Conn, error) {
	if d.o.Proxy == nil {
		return d.raw(ctx, p, address(u))
	}
	nc, err := d.raw(ctx, p, address(d.o.Proxy))
	if err != nil {
		return nil, CauseOfProxy(err)
	}
	if u.Scheme == "http" && !d.o.HTTP2 {
		d.notes.once("forwarded", CauseForwarded)
		return nc, nil
	}
	stop := context.AfterFunc(ctx, func() { nc.Close() })
	err = tunnel(nc, address(u), Authorization(d.o.Proxy))
	if !stop() {
		err = fmt.Errorf("the proxy did not answer CONNECT within %v: %w", d.o.Timeout, ctx.Err())
	}
	if err != nil {
		nc.Close()
		return nil, CauseOfProxy(err)
	}
	return nc, nil
}

// tunnel asks a proxy for a tunnel to host:port (RFC 9110 section 9.3.6).
func tunnel(nc net.Conn, to, credentials string) error {
	ask := "CONNECT " + to + " HTTP/1.1\r\nHost: " + to + "\r\n"
	if credentials != "" {
		ask += "Proxy-Authorization: " + credentials + "\r\n"
	}
	if _, err := io.WriteString(nc, ask+"\r\n"); err != nil {
		return err
	}
	br := bufio.NewReader(byByte{io.LimitReader(nc, maxHeader)})
	resp, err := http.ReadResponse(br, &http.Request{Method: http.MethodConnect})
	switch {
	case err != nil:
		return fmt.Errorf("the proxy did not answer CONNECT: %w", err)
	case resp.ProtoMajor != 1:
		return fmt.Errorf("the proxy answered CONNECT in %s, want HTTP/1.1", resp.Proto)
	case resp.StatusCode/100 != 2:
		return fmt.Errorf("the proxy answered CONNECT with %s", resp.Status)
	}
	return nil
}

// byByte reads one byte at a time. So it takes nothing that comes through the tunnel, in which a target may
// speak first.
type byByte struct{ io.Reader }

func (r byByte) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(len(p), 1)]) }
