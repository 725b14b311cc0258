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
	Fit
	// Secrets are the values of the environment and of secret settings in header fields and the body. No
	// report may show them.
	Secrets []string
	// Keys are the keys that the target has issued, one for each client. Empty: clients invent theirs.
	// SkipKeys is how many of them other scenarios of the run use.
	Keys     []string
	SkipKeys int
}

// Fit is how a scenario fits its target and the limit.
type Fit struct {
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
