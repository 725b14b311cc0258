// Package clients finds out what tells the clients of a limiter apart: a header field, the source address,
// the path, the method, the connection. It lets a plain client use the quota up. Then it asks as a client
// that differs from the plain one in a single thing. It sends nothing itself: an Asker does.
package clients

import (
	"context"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Way is one thing in which a client may differ from the plain client.
type Way struct {
	// Name is for people. Plain and Other are what both clients send, as in timeline.AttributeRow.
	Name, Plain, Other string
	// ID stands in the names of partitions and phases.
	ID string
	// AliasOf is the ID of another way, of which this one is a second spelling. It is asked only where that
	// way tells clients apart or is not shown. Empty: this way is no alias.
	AliasOf string
	// Request is what the requests of the other client have of their own.
	Request timeline.Request
	// Key: the other client has another key of the partition. Address: it has this source address; empty: the
	// same. Moves: it has another connection.
	Key     bool
	Address string
	Moves   bool
	// Moot says why the way cannot be asked; empty: it can.
	Moot string
}

// The IDs of the ways that others depend on.
const (
	Connection = "connection"
	Key        = "key"
	Path       = "path"
)

// NoKey is Way.Plain where the plain client has no key.
const NoKey = "none"

// Side is the partition of the other client, where the plain one has plain.
func (w *Way) Side(plain string) string { return timeline.OtherSide(plain + "-" + w.ID) }

// Turn is a part of a round: requests of one client, each after the answer to the one before.
type Turn struct {
	// Name is that of the phase. Requests are sent Every apart, until Denials are denied; 0: all are sent.
	Name     string
	Requests int
	Every    time.Duration
	Denials  int
	// Way is what the client differs in; nil: the plain client.
	Way *Way
}

// Asker sends requests as clients that differ from the plain client. Times count from its first request.
type Asker interface {
	Now() time.Duration
	// Wait is how long nothing is sent from now on, as a denial asked.
	Wait() time.Duration
	// Header is what is known of the clocks.
	Header() timeline.Header
	// Ways are those in which clients can differ, in the order in which they are asked.
	Ways() []Way
	// Turns rests, and then sends the turns one after the other, none later than until. Requests of a client
	// that differs have the partition of Way.Side. The observations ascend by Sent.
	Turns(ctx context.Context, rest, until time.Duration, turns []Turn) ([]timeline.Observation, error)
}
