// Package scenario says what is sent to a target, under which limit, and what its answers must show. Parse
// reads the files of scenarios by tables: which keys there are, which form their values have, and which
// numbers the multiples of the limit are. The same tables make the JSON Schema for editors, so the two cannot
// disagree. Plan turns a Scenario into a schedule. The package knows what a run takes, which scenarios fit a
// budget and which must be recorded alone.
package scenario

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/claim"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Kind says whether a failure of a scenario counts.
type Kind string

// The kinds. A FAIL of a Required scenario counts, of a Recommended one with --strict, of an Informative one
// never.
const (
	Required    Kind = "required"
	Recommended Kind = "recommended"
	Informative Kind = "informative"
)

// Scenario is one scenario file that was read. It is complete: every default is filled in, and multiples of
// the limit (2x, 1.1x) are numbers.
type Scenario struct {
	// File is the name of the file.
	File string
	// ID is stable for ever, lower case with dashes. Title is a sentence that is true of a right limiter.
	ID, Title string
	Kind      Kind
	// Source says where the rule comes from, as a link or FILE#ANCHOR; may be empty.
	Source string
	// Tags select scenarios. Catches names the faults of the embedded target that the scenario is for. Needs
	// names scenarios without whose success this one says nothing. May be empty.
	Tags, Catches, Needs []string
	Target               Target
	Partition            Partition
	Limit                spec.Limit
	Denied               Denied
	// Allowed are the statuses that are admissions. Empty: all from 200 to 399 that are no denials.
	Allowed []int
	// Cost says where an answer tells what its request cost. The zero value: requests cost what was planned.
	Cost Told
	// Phases has at least one element. Each has a different name.
	Phases []Phase
	Expect Expect
	Safety Safety
	// About is a promise without which this scenario says nothing. If the target was never seen to keep it
	// and did not make it, the scenario is Inconclusive (needs-failed). Empty: the scenario says something of
	// every target.
	About result.Promise
	// Suits is what the limit must have for the title to say something. Empty: every limit has it.
	Suits Subject
	// Example: the limits of phases are those of the embedded target. Another target is not known to have
	// them.
	Example bool
	// Assumed: nobody gave the limit of the target. The file declares that of the embedded target, and the
	// requests go to another one.
	Assumed bool
	// Lacks says what the target's clients lack for this scenario. Empty: nothing. Unmet returns it.
	Lacks string
	// Unfit says which part of the scenario does not fit such a limit and is left out. If it is not run at
	// all, it says what a run would take and what it may take. Empty: all fits.
	Unfit string
	// Likely says which end of a range of the limit the durations of phases are multiples of. Empty: there is
	// no range, or no multiple of it.
	Likely string
	// rests is the length of the silences that rest added.
	rests time.Duration
	// Secrets are the values of the environment and of secret settings in header fields and the body. No
	// report may show them.
	Secrets []string
	// Keys are the keys that the target has issued, one for each client. Empty: clients invent theirs.
	// SkipKeys is how many of them other scenarios of the run use.
	Keys     []string
	SkipKeys int
}

// Promised tells whether the target promised p.
func (s *Scenario) Promised(p result.Promise) bool { return slices.Contains(s.Expect.Promised, p) }

// Shared tells whether others may use the same partitions: the file says so, or requests name no client.
func (s *Scenario) Shared() bool {
	return !s.Partition.Exclusive || slices.ContainsFunc(s.Phases, func(p Phase) bool { return p.Unnamed })
}

// Builtin is the URL of the embedded target.
const Builtin = "builtin"

// EmbeddedRedis is the word for a Redis inside this process in place of a URL.
const EmbeddedRedis = "embedded"

// BuiltinPath is the path of the embedded target for requests that spell it in several ways. The root has
// only one spelling.
const BuiltinPath = "api/items"

// Protocol is the version of HTTP of the requests.
type Protocol string

// H1 is HTTP/1.1. H2 is HTTP/2. An https target has to offer it, and an http target has to be known to speak
// it.
const (
	H1 Protocol = "h1"
	H2 Protocol = "h2"
)

// Target is where requests go and what they are.
type Target struct {
	// URL is an http or https URL, or Builtin.
	URL string
	// Origin is the server behind a proxy at URL: an http or https URL, or Builtin. Empty: there is none.
	Origin string
	// Method is GET unless the file says otherwise.
	Method string
	// Header are fields of every request. Names are in the case of the file. May be nil.
	Header map[string]string
	Body   string
	// Timeout is how long an answer is waited for.
	Timeout time.Duration
	// Tick is how coarse the target's clock may be.
	Tick time.Duration
	// Fault is the fault of the embedded target. Empty: none. RetryAfter is its form of that field, "seconds"
	// or "date".
	Fault, RetryAfter string
	// OnStoreError is how the embedded target answers while its store is gone: "allow", "deny" or "error".
	OnStoreError string
	// ClientAddress is the field from which the embedded target takes the address of a client without a key.
	// Empty: none.
	ClientAddress string
	// Insecure accepts any TLS certificate.
	Insecure bool
	Protocol Protocol
	// UnixSocket is the path of a socket to connect to instead of the host of URL. Proxy is the URL of an
	// HTTP proxy. Both may be empty.
	UnixSocket, Proxy string
	// Borrowed are the hosts of URL, Origin and Proxy, HOST or HOST:PORT, of which a value of the environment
	// is a part. It may be nil.
	Borrowed []string
}

// PartitionKind says by which part of a request the limiter tells clients apart.
type PartitionKind string

// The kinds of partition.
const (
	ByHeader  PartitionKind = "header"
	ByAddress PartitionKind = "address"
	ByPath    PartitionKind = "path"
	ByQuery   PartitionKind = "query"
	ByCookie  PartitionKind = "cookie"
	// ByBody: by a field of the body, which is a JSON object or a form.
	ByBody PartitionKind = "body"
	// ByNone: all clients share one quota, as that of a route or a server, or of the only key.
	ByNone PartitionKind = "none"
)

// Partition says how the requests of one client are marked.
type Partition struct {
	Kind PartitionKind
	// Name is the header field, the query parameter, the cookie or the field of the body. Empty for the other
	// kinds.
	Name string
	// Format is the value of a header field. {key} stands for the key. Empty: the key alone.
	Format string
	// Count is the number of partitions, at least 1.
	Count int
	// Fresh makes new partitions for every run.
	Fresh bool
	// Exclusive: nobody else uses the partitions during the run.
	Exclusive bool
}

// Denied says which answers are denials.
type Denied struct {
	// Status is empty only if Body says which answers are denials.
	Status []int
	// Unanswered: the target denies without an answer. It closes the connection, or sends nothing.
	Unanswered bool
	// Header is a field that makes an answer with the status of an admission a denial: NAME, or NAME: VALUE.
	// Empty: none.
	Header string
	// Body is the limiter's own word in a JSON body: PATH=VALUE, such as errors.0.extensions.code=THROTTLED.
	// An answer that has it is a denial, whatever its status. Empty: no body says so.
	Body string
}

// Told says where an answer tells what its request cost: at a path of its JSON body, in a header field, or at
// a path of the last server-sent event that has it. At most one of these is set. Unit is how much one unit
// is, a decimal number; empty: 1. Each is how many units every request costs, though it says nothing of it;
// 0: an answer tells.
type Told struct {
	Body, Header, Event, Unit string
	Each                      int
}

// ByAnswers tells whether answers tell costs.
func (t Told) ByAnswers() bool { return t.Body+t.Header+t.Event != "" }

// Conformance says which contradictions to the limit fail a scenario.
type Conformance string

// The conformances.
const (
	Exact         Conformance = "exact"
	UpperBound    Conformance = "upper-bound"
	LowerBound    Conformance = "lower-bound"
	NoConformance Conformance = "none"
)

// Expect is what a scenario expects of a run.
type Expect struct {
	claim.Expect
	Conformance Conformance
	Resolution  Resolution
}

// Resolution is how closely a run must measure the limit for a PASS.
type Resolution struct {
	// Windowed replaces Burst for limits with windows.
	Burst, Windowed, Rate Tolerance
}

// Tolerance is how wide the measured interval of a parameter may be. The zero value demands nothing.
type Tolerance struct {
	Demanded bool
	// Ratio is the width of the interval over the declared value, 0 for a single value.
	Ratio float64
}

// Safety are the ceilings of a run.
type Safety struct {
	MaxRequests int
	// MaxRate bounds the rate of planned requests, over all partitions.
	MaxRate        spec.Rate
	MaxDuration    time.Duration
	MaxConnections int
}

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
	Origin    bool
	// Forge names header fields that carry an invented client address in each request. May be empty.
	Forge []string
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
	// Path, Method, Header, Spelling and Connections change the requests of the phase. Empty: as the target
	// has them. Client names the clients if they are not those of Partition.
	Path, Method string
	Header       map[string]string
	Spelling     []timeline.Spelling
	Connections  Connections
	Client       string
	// Mint makes each request of the phase name another client, although all count as one: the owner of these
	// tokens, the tenant of these users, the address that tries these accounts. Empty: it does not.
	Mint Mint
	// Vary gives the phase's client two sides. Plain requests take turns with requests that differ in this
	// attribute. Requests counts each side. Empty: all requests are alike.
	Vary timeline.Attribute
	// Unnamed leaves out the key of the client. What other clients without a key have used is then not known.
	// EmptyKey sends the header field of the key without a value; the phase is then Unnamed too.
	// Addresses says which addresses Forge invents. Empty: any.
	Unnamed   bool
	EmptyKey  bool
	Addresses timeline.Addresses
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
