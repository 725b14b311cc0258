package transport

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
	42: CauseClient, 43: CauseClient, 44: CauseClient, 45: CauseClient, 46: CauseClient, 48: CauseClient,
	49:  CauseClient,
	116: CauseClient,
	112: CauseHostName,
}

// alerted returns the word for the alert by which a target ended a connection; empty for none.
func alerted(err error) word {
	for alert, w := range alerts {
		if causeSent(err, alert) {
			return w
		}
	}
	return ""
}

// causeSent tells whether the peer ended a connection with this alert. crypto/tls shows a received alert by
// its text alone.
func causeSent(err error, alert tls.AlertError) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error" && op.Err.Error() == alert.Error()
}

// CauseOfHandshake marks an error of a TLS handshake. http2 tells whether the handshake offered HTTP/2 alone,
// or else HTTP/1.1 alone.
func CauseOfHandshake(err error, http2 bool) error {
	switch {
	case !causeSent(err, noProtocol):
		return handshake{err}
	case http2:
		return CauseTold(CauseNoHTTP2, err)
	}
	return CauseTold(CauseHTTP2, err)
}
