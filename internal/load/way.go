package load

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/rlcheck/rlcheck/internal/load/cause"
)

// checkWay tells whether the way to the target can be gone.
func (o *Options) checkWay() error {
	switch p := o.Proxy; {
	case o.Socket != "" && o.Partition.Kind == kindAddress:
		return errors.New("partition address: a Unix socket has none (use a header, the path or the query)")
	case p == nil:
		return nil
	case o.Socket != "":
		return errors.New("proxy: a Unix socket is connected to directly (leave one of them out)")
	case p.Scheme != "http" || p.Hostname() == "" || strings.Trim(p.Path, "/") != "" || p.RawQuery != "":
		return errors.New("proxy: it is http://HOST:PORT or http://USER:PASSWORD@HOST:PORT")
	case o.Partition.Kind == kindAddress:
		return errors.New("partition address: the proxy has one for all (use a header, the path or the " +
			"query)")
	}
	return nil
}

// carriers names what requests are in flight on.
func (o *Options) carriers() string {
	if o.HTTP2 {
		return "streams"
	}
	return "connections"
}

// dialVia opens a connection for requests to u: through a tunnel of the proxy where it would not understand
// them.
func (r *recorder) dialVia(ctx context.Context, p *pool, u *url.URL) (net.Conn, error) {
	if r.o.Proxy == nil {
		return r.dialRaw(ctx, p, address(u))
	}
	nc, err := r.dialRaw(ctx, p, address(r.o.Proxy))
	if errors.Is(err, syscall.ECONNREFUSED) {
		return nil, cause.Told(cause.NoProxy, err)
	}
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	if u.Scheme == "http" && !r.o.HTTP2 {
		return nc, nil
	}
	stop := context.AfterFunc(ctx, func() { nc.Close() })
	err = tunnel(nc, address(u), authorization(r.o.Proxy))
	if !stop() {
		err = fmt.Errorf("the proxy did not answer CONNECT: %w", ctx.Err())
	}
	if err != nil {
		nc.Close()
		return nil, cause.Told(cause.Proxy, err)
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
	br := bufio.NewReader(io.LimitReader(nc, maxHeader))
	resp, err := http.ReadResponse(br, &http.Request{Method: http.MethodConnect})
	switch {
	case err != nil:
		return fmt.Errorf("the proxy did not answer CONNECT: %w", err)
	case resp.ProtoMajor != 1:
		return fmt.Errorf("the proxy answered CONNECT in %s, want HTTP/1.1", resp.Proto)
	case resp.StatusCode/100 != 2:
		return fmt.Errorf("the proxy answered CONNECT with %s", resp.Status)
	case br.Buffered() > 0:
		return errors.New("the proxy sent more than its answer to CONNECT")
	}
	return nil
}

// authorization returns the credentials of a proxy's URL, empty for none.
func authorization(p *url.URL) string {
	if p.User == nil {
		return ""
	}
	password, _ := p.User.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(p.User.Username()+":"+password))
}

// viaProxy gives m the form that a proxy reads (RFC 9112 section 3.2.2).
func (m *message) viaProxy(p, u *url.URL) {
	m.target = u.Scheme + "://" + hostOf(u) + m.target
	if c := authorization(p); c != "" {
		m.add("Proxy-Authorization", c)
	}
}

// hostOf returns the host of u as a Host field has it: without the zone of an IPv6 address, which is ours
// alone (RFC 6874 section 4).
func hostOf(u *url.URL) string {
	host, end := u.Host, strings.IndexByte(u.Host, ']')
	if zone := strings.IndexByte(host, '%'); zone >= 0 && end > zone {
		return host[:zone] + host[end:]
	}
	return host
}
