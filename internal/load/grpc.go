package load

import (
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rlcheck/rlcheck/internal/http2"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// gRPC answers with status 200, and says in the trailers behind the body what became of a request:
//
//	HEADERS :status 200   DATA   HEADERS grpc-status 8
//	                             |- the decision is known to have been made here, not before
//
// So the interval of such a request ends with its trailers. An answer without a body has them in its one
// header block.

// grpcType begins the Content-Type of gRPC, of requests and answers.
const grpcType = "application/grpc"

// noMessage is the body of a request with an empty message: not compressed, of length 0.
var noMessage = []byte{0, 0, 0, 0, 0}

// speaksGRPC tells whether the requests of o are those of gRPC: HTTP/2, with its Content-Type.
func (o *Options) speaksGRPC() bool {
	return o.HTTP2 && strings.HasPrefix(o.Header.Get("Content-Type"), grpcType)
}

// asGRPC completes options of gRPC: a POST, with an empty message where there is no other.
func (o *Options) asGRPC() {
	if o.Method == http.MethodGet {
		o.Method = http.MethodPost
	}
	if len(o.Body) == 0 {
		o.Body = noMessage
	}
}

// valueOf returns the value of a field, empty where there is none.
func valueOf(fields []http2.Field, name string) string {
	for _, f := range fields {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// conclude writes into o what the trailers of gRPC say: the HTTP status that theirs stands for, its outcome,
// and the message as the explanation. It reports false where they have no status.
func (c *conn) conclude(o *timeline.Observation, trailers []http2.Field) bool {
	code, err := strconv.Atoi(valueOf(trailers, "grpc-status"))
	if err != nil {
		return false
	}
	o.Status, o.Outcome = grpcStatus(code), timeline.Unknown
	if code == grpcUnavailable && retryInfo(valueOf(trailers, "grpc-status-details-bin")) {
		o.Status = http.StatusTooManyRequests
	}
	if o.Status != 0 {
		o.Outcome = c.r.o.Classify(o.Status)
	}
	if text, err := url.PathUnescape(valueOf(trailers, "grpc-message")); err == nil &&
		o.Outcome == timeline.Denied {
		c.slot.body = append(c.slot.body[:0], text[:min(len(text), c.r.o.KeepBody)]...)
	}
	return true
}

const grpcUnavailable = 14

// grpcStatus returns the HTTP status that a status of gRPC stands for (google/rpc/code.proto), 0 for one that
// no limiter answers with.
func grpcStatus(code int) int {
	switch code {
	case 0:
		return http.StatusOK
	case 7: // PERMISSION_DENIED
		return http.StatusForbidden
	case 8: // RESOURCE_EXHAUSTED
		return http.StatusTooManyRequests
	case 13: // INTERNAL
		return http.StatusInternalServerError
	case grpcUnavailable:
		return http.StatusServiceUnavailable
	default:
		return 0
	}
}

// retryInfo tells whether a google.rpc.Status, as grpc-status-details-bin has it, has a
// google.rpc.RetryInfo. Of the wire format of protocol buffers it needs no more than this:
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

// eachText calls take for every text with a tag in a message, as far as it can be read.
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

// merged returns the fields of two lists, ascending by name. Of a name in both the last one counts.
func merged(a, b timeline.Fields) timeline.Fields {
	out := append(timeline.Fields(nil), b...)
	for _, f := range a {
		if _, again := b.Get(f.Name); !again {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b timeline.Field) int { return strings.Compare(a.Name, b.Name) })
	return out
}
