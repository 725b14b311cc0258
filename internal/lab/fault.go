package lab

import (
	"cmp"
	_ "embed" // the faults in words
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/wrong"
)

// Fault is a deliberate defect. The zero value is no fault: a right target. Its hooks say what it changes. A
// nil hook changes nothing.
type Fault struct {
	// Name is stable, lower case with dashes.
	Name string
	About
	// Promise is what a target must promise for this to be a fault. Empty: it is always one.
	Promise string
	// Declared is what a scenario must declare of a target that is not embedded: PATH=VALUE. Empty: nothing.
	Declared string
	// Proxy: the fault is one of a proxy (NewProxy), not of a target (New).
	Proxy bool

	// fits says in a sentence which limits can show the fault. Empty: this limit can.
	fits func(spec.Limit) string
	// options edits the options before anything is built.
	options func(*Options)
	// policy edits each policy that is enforced. Answers still describe the declared policy.
	policy func(spec.Policy) spec.Policy
	// limiter replaces or wraps the limiter. Its states are never evicted.
	limiter func(reference.Limiter, spec.Limit) reference.Limiter
	// decider replaces the decider, which keeps the states.
	decider func(Setup) Decider
	// key edits the partition of a request.
	key func(*http.Request, string) string
	// network replaces the network under which a client without a name is counted, by its address.
	network func(netip.Addr) string
	// unlimited tells whether a request is let through without a decision.
	unlimited func(*Target, *http.Request) bool
	// pause returns how long the answer is held back.
	pause func(Ruling) time.Duration
	sending
	// answer edits a finished answer.
	answer func(*answer)
	// reply edits a finished answer by its request, after answer.
	reply func(*answer, *http.Request)
	// settles returns what a request of a language model is charged when it is complete.
	settles func(bill) int64
	// paysDenied: a denied request is charged what it asked for.
	paysDenied bool
	// price edits the cost of a request.
	price func(*http.Request, int64) int64
	// success replaces what a success clears.
	success func(*Target)
	// cap tells whether a cap is kept.
	cap func(Cap) bool
	ofRules
	atEvents
	// proxy edits the options of a proxy.
	proxy func(*ProxyOptions)
}

// About is what faults.txt says of a fault.
type About struct {
	// Sentence says what a target with the fault does. Class is that of docs/faults.md, a letter and a
	// number. Empty: a class of its own. Citation is the address of a public report of a product with the
	// fault, or the rule that it breaks.
	Sentence, Class, Citation string
}

// sending is what a fault does to answers on their way.
type sending struct {
	// slow: the head of an answer is sent first, and its body later. drops: a denial ends the connection
	// instead of an answer. uncounted: denials are missing in the target's own count of them.
	slow, drops, uncounted bool
}

// ofRules is what a fault does to rules.
type ofRules struct {
	// rule tells whether a rule is kept. zeroUnlimited lets through the requests that a rule bars. rawPaths
	// compares paths as written. alsoCounted also counts requests under a rule with a limit by the limit of
	// all others. exemptCounted does so for requests under a rule without one.
	rule                                                func(*Rule) bool
	rawPaths, alsoCounted, exemptCounted, zeroUnlimited bool
}

// atEvents is what goes wrong at events.
type atEvents struct {
	restartForgets, reloadForgets, reloadIgnored, reloadKeepsLive, outageForgets, staysOpen bool
	// stall is how long a request waits for a store that is gone. queues: it waits until the store is back.
	stall  time.Duration
	queues bool
}

// Want is what a target needs beside its limit to show a fault. Empty: nothing.
type Want string

// The wants. The addresses of clients are known, some requests have a rule, something happens to the target
// or to its store, the target is embedded in a run, or it serves a language model (Options.Tokens). Only an
// embedded target has caps and owners of tokens.
const (
	WantAddresses Want = "addresses"
	WantRule      Want = "rule"
	WantEvent     Want = "event"
	WantOutage    Want = "outage"
	WantEmbedded  Want = "embedded"
	WantTokens    Want = "tokens"
)

// Wants returns what a target needs to show the fault.
func (f Fault) Wants() Want {
	owned := Options{Owned: true}
	if f.options != nil {
		f.options(&owned)
	}
	switch {
	case f.network != nil:
		return WantAddresses
	case f.rule != nil, f.rawPaths, f.alsoCounted, f.exemptCounted, f.zeroUnlimited:
		return WantRule
	case f.restartForgets, f.reloadForgets, f.reloadIgnored, f.reloadKeepsLive:
		return WantEvent
	case strings.HasPrefix(f.Name, "outage-"):
		return WantOutage
	case f.settles != nil:
		return WantTokens
	case f.cap != nil, !owned.Owned:
		return WantEmbedded
	}
	return ""
}

// Fits returns "" if l can show the fault. Otherwise it returns a sentence with the rule that l breaks.
func (f Fault) Fits(l spec.Limit) string { return f.defect().Unfit(l) }

// defect is what is wrong with the limiter itself.
func (f Fault) defect() wrong.Defect {
	return wrong.Defect{Fits: f.fits, Policy: f.policy, Limiter: f.limiter}
}

// faultsText has what a target with a fault does. Behind the name of a fault stand its class, - for none, and
// where it was seen.
//
//go:embed faults.txt
var faultsText string

// faults are all faults, ascending by name.
var faults = sync.OnceValue(func() []Fault {
	all := slices.Concat(completionFaults, tokenFaults, storeFaults, keyFaults, attributeFaults, abuseFaults,
		retryAfterFaults, quotaFieldFaults, denialFaults, proxyFaults, eventFaults, ruleFaults, methodFaults,
		connectionFaults, timeFaults)
	for _, e := range text.Entries(faultsText) {
		head := strings.Fields(e.Name)
		f := &all[slices.IndexFunc(all, func(f Fault) bool { return f.Name == head[0] })]
		f.Class, f.Citation, f.Sentence = strings.Trim(head[1], "-"), head[2], e.Get("text")
	}
	for _, d := range wrong.Defects() {
		f := Fault{Name: d.Name, About: About{d.Sentence, d.Class, d.Citation}, Promise: d.Promise,
			fits: d.Fits, policy: d.Policy, limiter: d.Limiter}
		if d.Client != nil {
			f.key = func(r *http.Request, key string) string { return cmp.Or(d.Client(key), addressKey(r)) }
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b Fault) int { return strings.Compare(a.Name, b.Name) })
	return all
})

// Faults returns all faults of targets and of proxies, ascending by name.
func Faults() []Fault { return slices.Clone(faults()) }

// FindFault returns the fault with the name, among those of a proxy or those of a target; the zero value for
// no name. The error names a similar fault, or the command that has it.
func FindFault(name string, proxy bool) (Fault, error) {
	if name == "" {
		return Fault{}, nil
	}
	command := map[bool]string{false: "serve", true: "proxy"}
	var names []string
	for _, f := range faults() {
		switch {
		case f.Name == name && f.Proxy == proxy:
			return f, nil
		case f.Name == name:
			return Fault{}, fmt.Errorf("fault %q: that fault belongs to rlcheck %s (rlcheck %s --fault %s)",
				name, command[!proxy], command[!proxy], name)
		case f.Proxy == proxy:
			names = append(names, f.Name)
		}
	}
	near := cmp.Or(text.Suggest(name, names), "rlcheck "+command[proxy]+" --fault list shows all faults")
	return Fault{}, fmt.Errorf("fault %q: there is no such fault (%s)", name, near)
}

// cleared demands a limit that a success clears.
func cleared(l spec.Limit) string {
	if l.Cleared() {
		return ""
	}
	return "it needs a limit that a success clears (clear=200..299)"
}

// onTime demands policies that are charged at the decision and answer at once: a client that left a queue may
// have been in time.
var onTime = wrong.All(wrong.Never(spec.Policy.Queued, "it needs policies that deny rather than delay"),
	untold)

// unqueued demands policies that deny rather than delay. Who waits for the answers of a queue meets an empty
// one.
var unqueued = wrong.Never(spec.Policy.Queued,
	"a queue is empty when its answers have come, and has nothing to share then (declare another)")

// stalls is how long a target with the fault outage-hangs waits for its store.
const stalls = 3 * time.Second

// answersSoon demands queues that delay less than such a target.
var answersSoon = wrong.Never(func(p spec.Policy) bool { return p.Queued() && 2*p.Recovery() > stalls },
	"a queue of seconds delays as long as a target that waits for its store (declare a shorter one)")

// untold demands policies that need not be told of completions.
func untold(l spec.Limit) string {
	if l.Completes() {
		return "it needs a limit that is charged at the decision"
	}
	return ""
}
