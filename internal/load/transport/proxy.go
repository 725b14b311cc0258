package transport

import (
	"encoding/base64"
	"net/url"
	"strings"
)

// Authorization returns the value of Proxy-Authorization for the URL of a proxy; "" for none.
func Authorization(p *url.URL) string {
	if p.User == nil {
		return ""
	}
	password, _ := p.User.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(p.User.Username()+":"+password))
}

// viaProxy gives m the form that a proxy reads: an absolute target (RFC 9112 section 3.2.2).
func (m *message) viaProxy(p, u *url.URL) {
	m.target = u.Scheme + "://" + hostOf(u) + m.target
	if c := Authorization(p); c != "" {
		m.add("Proxy-Authorization", c)
	}
}

// hostOf returns the host of u as a Host field has it. The zone of an IPv6 address is left out: only this
// machine knows it (RFC 6874 section 4).
func hostOf(u *url.URL) string {
	host, end := u.Host, strings.IndexByte(u.Host, ']')
	if zone := strings.IndexByte(host, '%'); zone >= 0 && end > zone {
		return host[:zone] + host[end:]
	}
	return host
}
