package http2

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/net/http2"
)

// Field is one header field. Names are in lower case, those of pseudo fields begin with a colon.
type Field struct{ Name, Value string }

// Value returns the value of the first field of a name, empty where there is none.
func Value(fields []Field, name string) string {
	for _, f := range fields {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// Request is what is sent on a stream; shared by all that send it.
type Request struct {
	// Fields are the header block: pseudo fields first.
	Fields []Field
	// Body may be empty.
	Body []byte
}

// Answer is the final header block of an answer. Fields, without pseudo fields, are valid until the callee
// returns.
type Answer struct {
	Status int
	Fields []Field
	// At is the clock after the read that brought its first byte.
	At time.Duration
}

// Owner is told what becomes of a stream, by the goroutine that runs Serve: Answer, then Body as often as
// needed, then End; or Broken at any time. It may send other streams from there.
type Owner interface {
	// Answer is called once, with the final header block.
	Answer(a Answer)
	// Body gets the next bytes of the body, and reports whether it wants more.
	Body(p []byte) (more bool)
	// End is called with the trailers of a whole answer, which may be none, and the clock after its end.
	End(trailers []Field, at time.Duration)
	// Broken ends a stream that has no end of its own: an ErrReset, ErrGoneAway, ErrMalformed or
	// ErrTooLarge.
	Broken(err error)
}

// Stream is one request and its answer. The zero value with an Owner and a Request can be sent once; after
// its end it may be sent again.
type Stream struct {
	Owner   Owner
	Request *Request

	id uint32
	// window is how much of rest, the body that is not sent yet, may be sent. Guarded by Conn.writing.
	window int64
	rest   []byte
	// The reader's: the interim answers, the bytes of the body, and whether the final header block came.
	interim, got int
	final        bool
	// begun tells that its owner knows that it is sent: what comes before answers nothing. Guarded by
	// Conn.mu.
	begun bool
}

// The errors of streams and connections.
var (
	// ErrReset tells that the peer ended a stream before its answer did.
	ErrReset = errors.New("the target reset the stream")
	// ErrGoneAway tells that the peer ends the connection (GOAWAY) and has not taken this stream.
	ErrGoneAway = errors.New("the target ended the connection before it took the stream")
	// ErrMalformed tells that the peer broke a rule of the protocol.
	ErrMalformed = errors.New("the target broke the rules of HTTP/2")
	// ErrTooLarge tells of a header block, or a number of interim answers, beyond what is read.
	ErrTooLarge = errors.New("more bytes than rlcheck reads of an answer")
	// ErrFull tells that no stream can be begun on a connection, since it is ending or carries as many as it
	// may.
	ErrFull = errors.New("the connection takes no more streams")
)

// reset is ErrReset with the peer's code.
func reset(code http2.ErrCode) error { return fmt.Errorf("%w: %v", ErrReset, code) }

// goneAway is ErrGoneAway with the peer's code.
func goneAway(code http2.ErrCode) error { return fmt.Errorf("%w: %v", ErrGoneAway, code) }

// malformed is ErrMalformed with a reason.
func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// NotSpoken tells that the peer did not begin with the settings of HTTP/2. First is what it said instead, at
// most 1 KiB; empty where it closed the connection or said nothing.
type NotSpoken struct {
	First []byte
	Err   error
}

// Error tells what the peer said instead.
func (n *NotSpoken) Error() string {
	if len(n.First) == 0 {
		return "the target did not begin HTTP/2: " + n.Err.Error()
	}
	return fmt.Sprintf("the target did not begin HTTP/2: it said %q", n.First[:min(len(n.First), 60)])
}

// Unwrap returns what ended the exchange.
func (n *NotSpoken) Unwrap() error { return n.Err }
