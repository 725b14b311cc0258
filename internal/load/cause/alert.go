package cause

import (
	"crypto/tls"
	"errors"
	"net"
)

// noProtocol is the alert of a target that speaks none of the offered protocols (RFC 7301 section 3.2).
const noProtocol = tls.AlertError(120)

// alerts are the words for TLS alerts by which a target says what it does not accept (RFC 8446 section 6.2).
// With TLS 1.3, alerts about the client certificate come after the handshake.
var alerts = map[tls.AlertError]word{
	42: Client, 43: Client, 44: Client, 45: Client, 46: Client, 48: Client, 49: Client,
	116: Client,
	112: HostName,
}

// alerted returns the word for the alert by which a target ended a connection; empty for none.
func alerted(err error) word {
	for alert, w := range alerts {
		if sent(err, alert) {
			return w
		}
	}
	return ""
}

// sent tells whether the peer ended a connection with this alert. crypto/tls shows a received alert by its
// text alone.
func sent(err error, alert tls.AlertError) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error" && op.Err.Error() == alert.Error()
}

// OfHandshake marks an error of a TLS handshake. http2 tells whether the handshake offered HTTP/2 alone, or
// else HTTP/1.1 alone.
func OfHandshake(err error, http2 bool) error {
	switch {
	case !sent(err, noProtocol):
		return handshake{err}
	case http2:
		return Told(NoHTTP2, err)
	}
	return Told(HTTP2, err)
}
