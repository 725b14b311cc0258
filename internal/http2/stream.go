package http2

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/net/http2"
)

// Field is one header field. Names are in lower case. Pseudo fields begin with a colon.
type Field struct{ Name, Value string }

// Value returns the value of the first field called name; "" for none.
func Value(fields []Field, name string) string {
	for _, f := range fields {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// Request is what is sent on a stream. All sends of it share it.
type Request struct {
	// Fields are the header block, pseudo fields first.
	Fields []Field
	// Body may be empty.
	Body []byte
}

// Answer is the final header block of an answer. Fields has no pseudo fields and is valid only during the
// call.
type Answer struct {
	Status int
	Fields []Field
	// At is the clock after the read that brought the first byte of the block.
	At time.Duration
}

// Owner is told what becomes of a stream. The goroutine that runs Serve calls Answer, then Body as often as
// needed, then End. It may call Broken at any time instead. The owner may send other streams from these
// calls.
type Owner interface {
	// Answer is called once, with the final header block.
	Answer(a Answer)
	// Body gets the next bytes of the body, and reports whether it wants more.
	Body(p []byte) (more bool)
	// End is called with the trailers of a whole answer, which may be empty, and the clock after its end.
	End(trailers []Field, at time.Duration)
	// Broken ends a stream whose answer did not end. err is an ErrReset, ErrGoneAway, ErrMalformed or
	// ErrTooLarge.
	Broken(err error)
}

// Stream is one request and its answer. The zero value with an Owner and a Request can be sent. After its end
// it may be sent again.
type Stream struct {
	Owner   Owner
	Request *Request

	id uint32
	// window is how much of rest, the unsent part of the body, may be sent. Both are guarded by Conn.writing.
	window int64
	rest   []byte
	// interim counts interim answers, got the bytes of the body. final tells that the final header block
	// came. They belong to the reader.
	interim, got int
	final        bool
	// begun tells that the owner was told of the send. Frames that came before answer nothing. It is guarded
	// by Conn.mu.
	begun bool
}

// The errors of streams and connections.
var (
	// ErrReset tells that the peer reset a stream before its answer ended.
	ErrReset = errors.New("the target reset the stream")
	// ErrRefused is the ErrReset of a peer that has not processed the stream at all (RFC 9113 section 8.7).
	ErrRefused = fmt.Errorf("%w: %v", ErrReset, http2.ErrCodeRefusedStream)
	// ErrGoneAway tells that the peer is ending the connection (GOAWAY) and has not taken this stream.
	ErrGoneAway = errors.New("the target ended the connection before it took the stream")
	// ErrMalformed tells that the peer broke a rule of the protocol.
	ErrMalformed = errors.New("the target broke the rules of HTTP/2")
	// ErrTwice is the ErrMalformed of a peer whose trailers have a status (RFC 9113 section 8.1).
	ErrTwice = fmt.Errorf("%w: it sent a second status", ErrMalformed)
	// ErrTooLarge tells of a header block, a body, or a number of interim answers beyond what is read.
	ErrTooLarge = errors.New("more bytes than rlcheck reads of an answer")
	// ErrFull tells that the connection takes no new stream: it is ending, or carries as many as it may.
	ErrFull = errors.New("the connection takes no more streams")
)

// reset is ErrReset with the peer's code.
func reset(code http2.ErrCode) error {
	if code == http2.ErrCodeRefusedStream {
		return ErrRefused
	}
	return fmt.Errorf("%w: %v", ErrReset, code)
}

// goneAway is ErrGoneAway with the peer's code.
func goneAway(code http2.ErrCode) error { return fmt.Errorf("%w: %v", ErrGoneAway, code) }

// malformed is ErrMalformed with a reason.
func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// NotSpoken tells that the peer did not begin with the settings of HTTP/2. First is what it sent instead, at
// most 1 KiB. First is empty if the peer closed the connection or sent nothing.
type NotSpoken struct {
	First []byte
	Err   error
}

// Error says what the peer sent instead.
func (n *NotSpoken) Error() string {
	if len(n.First) == 0 {
		return "the target did not begin HTTP/2: " + n.Err.Error()
	}
	return fmt.Sprintf("the target did not begin HTTP/2: it said %q", n.First[:min(len(n.First), 60)])
}

// Unwrap returns the error that ended the exchange.
func (n *NotSpoken) Unwrap() error { return n.Err }
