package claim

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// Judge returns one claim for each expectation of e, in a fixed order: fields, Retry-After, status,
// denials by phase, quota, answers, barred phases, parity, attributes, storms, latency, intactness,
// schedule. A claim fails only on evidence that no noise explains and then has at least one finding;
// observations that were not answered or have an unknown outcome accuse nobody, but for a phase that was
// answered no more. limit is used for retry-after-not-longer, for the waits of intact and for attributes; it
// may be empty, then the former is Inconclusive. The observations of tl must ascend by Sent; those of the
// origin count for intact only. It costs one pass over tl for each claim, and sorts.
func Judge(tl *timeline.Timeline, limit spec.Limit, e Expect) []verdict.Claim {
	return judge(tl, limit, e, check.LongestWaits)
}

// longestWaits returns an upper bound on the true wait at each denial, by its Seq; denials of which none is
// known are missing. check.LongestWaits is one.
type longestWaits func(*timeline.Timeline, spec.Limit) map[int]time.Duration

func judge(tl *timeline.Timeline, limit spec.Limit, e Expect, longest longestWaits) []verdict.Claim {
	r := newRecording(tl, limit, e, longest)
	var claims []verdict.Claim
	for _, q := range questions {
		for _, c := range q.ask(r, &e) {
			c.Kind = cmp.Or(c.Kind, q.kind, verdict.KindOf(c.ID))
			verdict.NameRules(c.Kind, c.Findings)
			claims = append(claims, c)
		}
	}
	return claims
}

// recording is a timeline with what several claims need of it.
type recording struct {
	tl *timeline.Timeline
	// target are the observations through the target with an answer and a known outcome; origin those at the
	// origin.
	target, origin []*timeline.Observation
	// waits are the longest true waits by Seq of a denial. It is computed when first asked for.
	waits func() map[int]time.Duration
	// again are the denials that followed a denial, see deniedAgain, computed when first asked for.
	again func() map[int]*timeline.Observation
	// tellers are the answers that tell of a quota, computed when first asked for. unread says, once, which
	// fields tell something that nothing explains.
	tellers func() []teller
	unread  func() string
	// limit counts all phases but those in own, which have a limit of their own, or an empty one.
	limit spec.Limit
	own   map[string]spec.Limit
	// shared tells that others may use the partitions, used that an earlier run may have.
	shared, used bool
	// fresh tells that a partition is new at its first request.
	fresh bool
	// promised is what the target promised to have.
	promised []verdict.Promise
	// bodiless are the phases of HEAD requests.
	bodiless []string
	// lateMax is how late the 99th percentile may be before the recorder itself is suspect.
	lateMax time.Duration
}

func newRecording(tl *timeline.Timeline, limit spec.Limit, e Expect, longest longestWaits) *recording {
	r := &recording{tl: tl, limit: limit, own: e.Limits, shared: e.Shared, used: e.Used, fresh: e.Quota.Fresh,
		bodiless: e.Bodiless, promised: e.Promised, lateMax: e.LateP99}
	if r.lateMax == 0 {
		r.lateMax = suspectLateness
	}
	r.waits = sync.OnceValue(func() map[int]time.Duration { return r.longestWaits(longest) })
	r.again = sync.OnceValue(r.deniedAgain)
	r.tellers = sync.OnceValue(r.tellingAnswers)
	said := false
	r.unread = func() string {
		if said {
			return ""
		}
		said = true
		return unjudged(r.target)
	}
	for i := range tl.Observations {
		o := &tl.Observations[i]
		switch {
		case !o.Answered || o.Outcome == timeline.Unknown:
		case o.Origin:
			r.origin = append(r.origin, o)
		default:
			r.target = append(r.target, o)
		}
	}
	return r
}

// alone takes back a failure for which others may be the reason, where they may use the same partitions.
func (r *recording) alone(c verdict.Claim) verdict.Claim {
	if !r.shared || c.Verdict != verdict.Fail {
		return c
	}
	return verdict.Claim{ID: c.ID, Kind: c.Kind, Reason: verdict.ForeignTraffic,
		Text: c.Text + "; but others may use the same partitions"}
}

// limitOf returns the limit that counts o; it is empty where none does.
func (r *recording) limitOf(o *timeline.Observation) spec.Limit {
	if own, ok := r.own[o.Phase]; ok {
		return own
	}
	return r.limit
}

// limits returns the limits that count any observation, each once, in the order of the recording; one may be
// empty.
func (r *recording) limits() []spec.Limit {
	var out []spec.Limit
	var last string
	for i := range r.tl.Observations {
		o := &r.tl.Observations[i]
		if i > 0 && o.Phase == last {
			continue
		}
		last = o.Phase
		if l := r.limitOf(o); !slices.ContainsFunc(out, func(x spec.Limit) bool { return sameLimit(x, l) }) {
			out = append(out, l)
		}
	}
	return out
}

// sameLimit tells whether two limits, each of which may be empty, are one.
func sameLimit(a, b spec.Limit) bool {
	return slices.Equal(a, b)
}

// under returns the recording as that of partitions that limit counts.
func (r *recording) under(limit spec.Limit) *recording {
	out := *r
	out.limit = limit
	return &out
}

// countedBy returns the limit that counts all of some observations; ok is false where they have several, or
// one has none although a limit is declared.
func (r *recording) countedBy(n int, at func(i int) *timeline.Observation) (limit spec.Limit, ok bool) {
	for i := range n {
		l := r.limitOf(at(i))
		if i > 0 && !sameLimit(l, limit) || len(l) == 0 && len(r.limit) > 0 {
			return nil, false
		}
		limit = l
	}
	return limit, true
}

// longestWaits returns an upper bound on the true wait at each denial, each under its own limit.
func (r *recording) longestWaits(longest longestWaits) map[int]time.Duration {
	waits := map[int]time.Duration{}
	for _, limit := range r.limits() {
		if len(limit) == 0 {
			continue
		}
		all := longest(r.tl, limit)
		for i := range r.tl.Observations {
			o := &r.tl.Observations[i]
			if wait, ok := all[o.Seq]; ok && sameLimit(r.limitOf(o), limit) {
				waits[o.Seq] = wait
			}
		}
	}
	return waits
}
