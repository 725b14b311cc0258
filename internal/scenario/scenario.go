// Package scenario says what is sent to a target, under which limit, and what its answers must show. It suits
// a scenario to its target, tells what a run takes, which scenarios fit a budget and which are recorded
// alone, and plans a run: Plan turns a Scenario into a schedule. Package grammar reads scenarios from files.
package scenario

import (
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/claim"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// Kind is how much a scenario weighs.
type Kind string

// The kinds. A FAIL of a Required scenario counts, of a Recommended one with --strict, of an Informative one
// never.
const (
	Required    Kind = "required"
	Recommended Kind = "recommended"
	Informative Kind = "informative"
)

// Scenario is one scenario file, read. It is complete: every default is filled in, and what is written as a
// multiple of the limit (2x, 1.1x) is a number.
type Scenario struct {
	// File is the name of the file.
	File string
	// ID is stable for ever, lower case with dashes. Title is a sentence that is true of a right limiter.
	ID, Title string
	Kind      Kind
	// Source says where the rule comes from, as a link or FILE#ANCHOR; may be empty.
	Source string
	// Tags select scenarios; Catches names the faults of the embedded target that the scenario is for; Needs
	// names scenarios without whose success this one says nothing. May be empty.
	Tags, Catches, Needs []string
	Target               Target
	Partition            Partition
	Limit                spec.Limit
	Denied               Denied
	// Allowed are the statuses that are admissions; empty: all from 200 to 399 that are no denials.
	Allowed []int
	// Phases has at least one element, each with a name of its own.
	Phases []Phase
	Expect Expect
	Safety Safety
	// About is what this scenario says nothing without: where its target was never seen to have it and did
	// not promise it, the scenario is Inconclusive (needs-failed). Empty: it says something of every
	// target.
	About verdict.Promise
	// Example tells that the limits of phases are those of the embedded target, and that another one is not
	// known to have them.
	Example bool
	// Assumed tells that nobody said the limit of the target: the file declares its limit of the embedded
	// target, and the requests go to another one.
	Assumed bool
	// Lacks says what the target's clients lack for this scenario; empty for nothing. Unmet returns it.
	Lacks string
	// Unfit says what of the scenario does not fit such a limit: what is not waited for, or, of one that is
	// not run at all, what it would take and what it may. Empty where all fits.
	Unfit string
	// Likely says of which end of a range of the limit the durations of phases are multiples; empty where
	// there is no range, or no multiple of it.
	Likely string
	// rests is the length of the silences that rest put in.
	rests time.Duration
	// Secrets are the values of the environment and of secret settings in header fields and the body: no
	// report may show them.
	Secrets []string
	// Keys are the keys that the target has issued to clients, one each; empty: clients invent theirs.
	// SkipKeys is how many of them other scenarios of the run use.
	Keys     []string
	SkipKeys int
}

// Promised tells whether the target promised p.
func (s *Scenario) Promised(p verdict.Promise) bool { return slices.Contains(s.Expect.Promised, p) }

// Shared tells whether others may use the same partitions: it is said so, or requests name no client.
func (s *Scenario) Shared() bool {
	return !s.Partition.Exclusive || slices.ContainsFunc(s.Phases, func(p Phase) bool { return p.Unnamed })
}

// Builtin is the URL of the embedded target.
const Builtin = "builtin"

// BuiltinPath is the path of the embedded target where requests spell it in several ways: the root has no
// other spelling.
const BuiltinPath = "api/items"

// Protocol is the version of HTTP that requests are sent with.
type Protocol string

// H1 is HTTP/1.1. H2 is HTTP/2, which a target of https has to offer, and one of http is known to speak.
const (
	H1 Protocol = "h1"
	H2 Protocol = "h2"
)

// Target is where requests go and what they are.
type Target struct {
	// URL is an http or https URL, or Builtin.
	URL string
	// Origin is what stands behind a proxy at URL: an http or https URL, or Builtin; empty where there is
	// none.
	Origin string
	// Method is GET unless the file says otherwise.
	Method string
	// Header are fields of every request; may be nil. Names are in the case of the file.
	Header map[string]string
	Body   string
	// Timeout is how long an answer is waited for.
	Timeout time.Duration
	// Tick is how coarse the target's clock may be.
	Tick time.Duration
	// Fault is the fault of the embedded target, empty for none; RetryAfter its form of the field, "seconds"
	// or "date".
	Fault, RetryAfter string
	// OnStoreError is what the embedded target answers while its store is gone: "allow", "deny" or "error".
	OnStoreError string
	// ClientAddress is the field from which the embedded target takes the address of a client without a key;
	// empty: none.
	ClientAddress string
	// Insecure accepts any TLS certificate.
	Insecure bool
	Protocol Protocol
	// UnixSocket is the path of a socket that is connected to in place of the host of URL, Proxy the URL of
	// an HTTP proxy. Both may be empty.
	UnixSocket, Proxy string
}

// PartitionKind says which part of a request the limiter tells clients apart by.
type PartitionKind string

// The kinds of partition.
const (
	ByHeader  PartitionKind = "header"
	ByAddress PartitionKind = "address"
	ByPath    PartitionKind = "path"
	ByQuery   PartitionKind = "query"
	ByCookie  PartitionKind = "cookie"
	// ByBody: a field of a JSON object, or of a form, that is sent as the body.
	ByBody PartitionKind = "body"
	// ByNone: all clients share one quota, as those of a route or a server, or of the one key that there is.
	ByNone PartitionKind = "none"
)

// Partition says how the requests of one client are marked.
type Partition struct {
	Kind PartitionKind
	// Name is the header field, the query parameter, the cookie or the field of the body; empty for the other
	// kinds.
	Name string
	// Format is the value of a header field, {key} standing for the key; empty: the key alone.
	Format string
	// Count is the number of partitions, at least 1.
	Count int
	// Fresh makes new partitions for every run.
	Fresh bool
	// Exclusive tells that nobody else uses the partitions during the run.
	Exclusive bool
}

// Denied says which answers are denials.
type Denied struct {
	// Status is not empty.
	Status []int
	// Unanswered: the target denies without an answer, by closing the connection or not at all.
	Unanswered bool
	// Header is a field that marks an answer of an admission as a denial: NAME, or NAME: VALUE. Empty: none.
	Header string
}

// Conformance says which contradictions to the limit make a scenario fail.
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
	// Windowed takes the place of Burst for limits with windows.
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
