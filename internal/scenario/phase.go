package scenario

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Phase is one stage. Requests, rates and ceilings of clients are those of one partition.
type Phase struct {
	Name  string
	Shape timeline.Shape
	// Requests is how many requests each partition gets: in all (at-once, constant, ramp, boundary), or at
	// most (the shapes with clients).
	Requests int
	// Rate is the rate of a constant phase. From and To are the rates of a ramp.
	Rate, From, To spec.Rate
	// Duration is zero for at-once and boundary phases, which end with their last answer.
	Duration time.Duration
	// Partition names partitions that only phases with the same name use. Empty: the common partitions.
	Partition string
	Request
	Naming
	// Clients is the number of all clients of closed, honor-retry-after and backoff phases. For an at-once
	// phase it is another word for Among.
	Clients int
	// Cost is how many units the limiter charges for each request, at least 1. Priced: requests state it.
	Cost   int64
	Priced bool
	// Aim, Lead and Window place a boundary phase. Lead is the gap on each side of the boundary, Window the
	// distance between two boundaries.
	Aim          timeline.Aim
	Lead, Window time.Duration
	// Limit is the limit of the phase's partitions. OwnLimit: it is not the scenario's. Unlimited: no limit
	// counts the requests of the phase, and Limit is only the unit of multiples. Barred: nothing may be
	// admitted, and Limit is only that unit too.
	Limit                       spec.Limit
	OwnLimit, Unlimited, Barred bool
	// Rates are the rates of a phase of steps. Each lasts an equal part of Duration.
	Rates []spec.Rate
	// Retry is how the clients of a backoff phase retry. Event is what happens in a hook phase.
	Retry timeline.Retry
	Event timeline.Event
	// Among is how many partitions take part, 0 for all.
	Among int
}

// Request is how the requests of a phase differ from those of the target. Empty: they are as the target has
// them.
type Request struct {
	// Origin: they go to the origin behind a proxy.
	Origin       bool
	Path, Method string
	Header       map[string]string
	Spelling     []timeline.Spelling
	Connections  Connections
}

// Naming is how the requests of a phase name their client, if not by its partition.
type Naming struct {
	// Client names the clients if they are not those of Partition.
	Client string
	// Mint makes each request of the phase name another client, although all count as one: the owner of these
	// tokens, the tenant of these users, the address that tries these accounts. Empty: it does not.
	Mint Mint
	// Vary gives the phase's client two sides. Plain requests take turns with requests that differ in this
	// attribute. Requests counts each side. Empty: all requests are alike.
	Vary timeline.Attribute
	// Unnamed leaves out the key of the client. What other clients without a key have used is then not known.
	// EmptyKey sends the header field of the key without a value; the phase is then Unnamed too.
	Unnamed, EmptyKey bool
	// Forge names header fields that carry an invented client address in each request. May be empty.
	// Addresses says which addresses it invents. Empty: any.
	Forge     []string
	Addresses timeline.Addresses
}

// Mint is what the other clients are that each request of a phase names.
type Mint string

// The kinds of Mint. MintTokens belong to one owner. For a target that is not embedded, they are those of
// --api-keys.
const (
	MintTokens   Mint = "tokens"
	MintUsers    Mint = "users"
	MintAccounts Mint = "accounts"
)

// Connections says which connections the requests of a phase use.
type Connections string

// The connections. Kept is the default.
const (
	Kept             Connections = "kept"
	FreshConnections Connections = "fresh"
)

// Quiet tells whether the phase sends nothing.
func (p *Phase) Quiet() bool { return p.Shape.Quiet() }

// Observed returns the names of phases that requests of p have in a recording: its own, and another for
// requests that find a boundary.
func (p *Phase) Observed() []string {
	if p.Shape == timeline.Boundary {
		return []string{p.Name, timeline.AimPhase(p.Name)}
	}
	return []string{p.Name}
}

// Counted tells whether a limit counts the requests of the phase: it sends some, and is neither unlimited nor
// barred.
func (p *Phase) Counted() bool { return !p.Quiet() && !p.Unlimited && !p.Barred }

// Plain tells whether the requests of the phase ask about nothing but the declared limit: each is the request
// of the target, of one unit, from a client that names itself as it always does.
func (p *Phase) Plain() bool {
	return p.Counted() && !p.OwnLimit && !p.Unnamed && p.Vary == "" && p.Mint == "" && p.Path == "" &&
		p.Method == "" && len(p.Forge)+len(p.Spelling)+len(p.Header) == 0 && !p.Priced
}
