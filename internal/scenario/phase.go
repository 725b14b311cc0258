package scenario

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Phase is one stage. Requests, rates and clients' ceilings are of one partition.
type Phase struct {
	Name  string
	Shape timeline.Shape
	// Requests is how many each partition gets: in all (at-once, constant, ramp, boundary), at most (the
	// shapes with clients).
	Requests int
	// Rate is that of a constant phase, From and To those of a ramp.
	Rate, From, To spec.Rate
	// Duration is zero for at-once and boundary phases, which end with their last answer.
	Duration time.Duration
	// Partition makes the phase use partitions of its own, shared with the phases that give the same name;
	// empty for the common ones.
	Partition string
	Origin    bool
	// Forge names header fields that carry an invented client address in each request; may be empty.
	Forge []string
	// Clients is the number of clients of closed and honor-retry-after phases, in all. Of an at-once phase it
	// is the number of partitions that take part, 0 for all.
	Clients int
	// Cost is the units that the limiter charges for each request, at least 1.
	Cost int64
	// Aim, Lead and Window place a boundary phase: Lead is the gap on each side of the boundary, Window the
	// distance of two boundaries.
	Aim          timeline.Aim
	Lead, Window time.Duration
	// Path, Method, Header, Spelling and Connections change the requests of the phase; empty: those of the
	// target. Client names the clients where they are not those of Partition.
	Path, Method string
	Header       map[string]string
	Spelling     []timeline.Spelling
	Connections  Connections
	Client       string
	// Mint makes each request of the phase name another client. All are counted as one: the owner of these
	// tokens, the tenant of these users, the address that tries these accounts. Empty: it does not.
	Mint Mint
	// Vary makes two sides of the phase's client: requests as they are, and in turn others that differ in
	// this attribute. Requests are those of each side. Empty: all are alike.
	Vary timeline.Attribute
	// Unnamed leaves out what clients are told apart by; what others without a name have used is not known
	// then. Addresses is out of what those of Forge are invented; empty: any.
	Unnamed   bool
	Addresses timeline.Addresses
	// Limit is that of the phase's partitions, OwnLimit tells that it is not the scenario's. Unlimited: no
	// limit counts the requests of the phase, and Limit is only what multiples are of. Barred tells the same
	// of a limit of nothing.
	Limit                       spec.Limit
	OwnLimit, Unlimited, Barred bool
	// Rates are those of a phase of steps, each of which lasts an equal part of Duration.
	Rates []spec.Rate
	// Retry is that of a backoff phase, Event what happens in a hook phase.
	Retry timeline.Retry
	Event timeline.Event

	// some is how many partitions take part in what was a phase of shape at-once; 0 for all.
	some int
}

// Mint is what the clients are whom each request of a phase names another one of.
type Mint string

// What is minted. MintTokens are of one owner: at a target that is not embedded they are those of --keys.
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

// Observed returns the names of phases that requests of p have in a recording: its own, and for those that
// find a boundary another.
func (p *Phase) Observed() []string {
	if p.Shape == timeline.Boundary {
		return []string{p.Name, timeline.AimPhase(p.Name)}
	}
	return []string{p.Name}
}

// Counted tells whether a limit counts the requests of the phase: it sends some, and they are neither free
// nor barred.
func (p *Phase) Counted() bool { return !p.Quiet() && !p.Unlimited && !p.Barred }
