package transport

import (
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/rlcheck/rlcheck/internal/http2"
)

// GRPCNoMessage is the body of a request with one empty message: not compressed, of length 0.
var GRPCNoMessage = []byte{0, 0, 0, 0, 0}

// GRPCIs tells whether the Content-Type of a request or an answer is that of gRPC.
func GRPCIs(contentType string) bool { return strings.HasPrefix(contentType, "application/grpc") }

const unavailable = 14

// GRPCStatus returns the HTTP status that the grpc-status in trailers stands for. It returns 0 for a status
// that no limiter uses; ok is false if there is none.
func GRPCStatus(trailers []http2.Field) (status int, ok bool) {
	code, err := strconv.Atoi(http2.Value(trailers, "grpc-status"))
	if err != nil {
		return 0, false
	}
	if code == unavailable && retryInfo(http2.Value(trailers, "grpc-status-details-bin")) {
		return http.StatusTooManyRequests, true
	}
	return ofHTTP(code), true
}

// GRPCMessage returns the message in trailers, which may be empty. ok is false if it cannot be decoded.
func GRPCMessage(trailers []http2.Field) (text string, ok bool) {
	text, err := url.PathUnescape(http2.Value(trailers, "grpc-message"))
	return text, err == nil
}

// ofHTTP returns the HTTP status that a gRPC status stands for (google/rpc/code.proto). It returns 0 for a
// status that no limiter uses.
func ofHTTP(code int) int {
	switch code {
	case 0:
		return http.StatusOK
	case 7: // PERMISSION_DENIED
		return http.StatusForbidden
	case 8: // RESOURCE_EXHAUSTED
		return http.StatusTooManyRequests
	case 13: // INTERNAL
		return http.StatusInternalServerError
	case unavailable:
		return http.StatusServiceUnavailable
	default:
		return 0
	}
}

// retryInfo tells whether grpc-status-details-bin, a google.rpc.Status, has a google.rpc.RetryInfo. It reads
// only this much of the wire format of protocol buffers:
//
//	Status   3: details, each Any
//	Any      1: type URL
func retryInfo(details string) (found bool) {
	status, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(details, "="))
	if err != nil {
		return false
	}
	eachText(status, 3, func(detail []byte) {
		eachText(detail, 1, func(kind []byte) {
			found = found || strings.HasSuffix(string(kind), "/google.rpc.RetryInfo")
		})
	})
	return found
}

// eachText calls take for every length-delimited field with this tag, as far as the message can be read.
func eachText(message []byte, tag uint64, take func([]byte)) {
	number := func() (v uint64, ok bool) {
		v, n := binary.Uvarint(message)
		if ok = n > 0; ok {
			message = message[n:]
		}
		return v, ok
	}
	const varint, text = 0, 2
	for len(message) > 0 {
		key, _ := number()
		n, ok := number()
		switch {
		case !ok || key&7 != varint && (key&7 != text || n > uint64(len(message))):
			return
		case key&7 == varint:
			continue
		case key>>3 == tag:
			take(message[:n])
		}
		message = message[n:]
	}
}
