package identify

import (
	"context"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Way is one thing in which another client may differ from the plain client.
type Way struct {
	// Name is for people. Plain and Other are what both clients send, as in timeline.AttributeRow.
	Name, Plain, Other string
	// ID stands in the names of partitions and phases.
	ID string
	// AliasOf is the ID of another way, of which this one is a second spelling; empty: it is none. A spelling
	// of the key is asked about only where the key tells clients apart. Any other is not asked about where
	// clients share the quota.
	AliasOf string
	// Request is what the requests of the other client have of their own.
	Request timeline.Request
	// Key: the other client has another key of the partition. Address is its source address; empty: that of
	// the plain client. Moves: it uses another connection.
	Key     bool
	Address string
	Moves   bool
	// Moot says why the way cannot be asked about; empty: it can.
	Moot string
}

// The IDs of ways on which other ways depend.
const (
	Connection = "connection"
	Key        = "key"
	Path       = "path"
)

// NoKey is Way.Plain where the plain client has no key.
const NoKey = "none"

// Side is the partition of the other client, where plain is that of the plain client.
func (w *Way) Side(plain string) string { return timeline.OtherSide(plain + "-" + w.ID) }

// ClientsAsker is a Sender that sends requests as clients that differ from the plain client, too.
type ClientsAsker interface {
	Sender
	// Ways returns the ways in which clients can differ, in the order to ask about them.
	Ways() []Way
	// Turns rests, and then sends phases one after the other, none later than until, each request after the
	// answer to the previous one. Requests of the other client have the partition of Way.Side. The
	// observations ascend by Sent.
	Turns(ctx context.Context, rest, until time.Duration, turns []Phase) ([]timeline.Observation, error)
}
