package lab

import (
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"strconv"
	"strings"
)

// The statuses of gRPC that a denial may have.
const (
	GRPCExhausted   = 8
	GRPCUnavailable = 14
)

// GRPC answers gRPC requests (Content-Type: application/grpc) in their form. If h admits, the answer has an
// empty message and status 0 in its trailers. If h denies, it has the status denial and a RetryInfo, in one
// header block. h answers any other request. It needs HTTP/2.
func GRPC(h http.Handler, denial int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const grpc = "application/grpc"
		if !strings.HasPrefix(r.Header.Get("Content-Type"), grpc) {
			h.ServeHTTP(w, r)
			return
		}
		told := &unwritten{ResponseWriter: w, status: http.StatusOK}
		h.ServeHTTP(told, r)
		w.Header().Del("Content-Length")
		w.Header().Set("Content-Type", grpc)
		switch told.status {
		case http.StatusOK:
			_, _ = w.Write([]byte{0, 0, 0, 0, 0}) // a client that left is no trouble
			w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
		case http.StatusTooManyRequests, http.StatusServiceUnavailable:
			w.Header().Set("Grpc-Status", strconv.Itoa(denial))
			w.Header().Set("Grpc-Message", "quota exceeded")
			seconds, _ := strconv.Atoi(w.Header().Get("Retry-After")) // a date becomes 0
			w.Header().Set("Grpc-Status-Details-Bin", retryInfo(denial, seconds))
		default:
			w.Header().Set("Grpc-Status", "13")
		}
	})
}

// unwritten takes an answer of which only the header fields are sent.
type unwritten struct {
	http.ResponseWriter
	status int
}

// WriteHeader keeps the status.
func (u *unwritten) WriteHeader(status int) { u.status = status }

// Write drops the body.
func (u *unwritten) Write(p []byte) (int, error) { return len(p), nil }

// retryInfo returns a google.rpc.Status with a google.rpc.RetryInfo, in the wire format of protocol buffers.
func retryInfo(code, seconds int) string {
	member := func(tag byte, text string) string { return string([]byte{tag<<3 | 2, byte(len(text))}) + text }
	delay := member(1, string(binary.AppendUvarint([]byte{1 << 3}, uint64(max(seconds, 0)))))
	detail := member(1, "type.googleapis.com/google.rpc.RetryInfo") + member(2, delay)
	status := append([]byte{1 << 3, byte(code)}, member(3, detail)...)
	return base64.RawStdEncoding.EncodeToString(status)
}
