package claim

import (
	"cmp"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// LongestWaits returns an upper bound on the true wait at each denial, by its Seq. Denials without a known
// bound are missing. shared: others may use the same partitions. check.LongestWaits is such a function.
type LongestWaits func(tl *timeline.Timeline, limit spec.Limit, shared bool) map[int]time.Duration

// Recording is a timeline with what several claims need of it.
type Recording struct {
	*timeline.Timeline
	Expect
	// Limit counts all phases but those in Expect.Limits. It may be empty.
	Limit spec.Limit
	// Target are the answered observations of the target with a known outcome. Origin are those of the
	// origin. Both ascend by Sent and may be empty.
	Target, Origin []*timeline.Observation
	// What follows is computed when it is first needed: the longest true waits by the Seq of a denial, the
	// answers that state a quota, and the denials that followed a denial (deniedAgain).
	waits   func() map[int]time.Duration
	tellers func() []teller
	again   func() map[int]*timeline.Observation
	// noted: a claim has already named the fields whose meaning is unknown.
	noted bool
}

// newRecording returns tl as claims see it. Its observations ascend by Sent. longest is called once, when a
// wait is first needed.
func newRecording(tl *timeline.Timeline, limit spec.Limit, e Expect, longest LongestWaits) *Recording {
	r := &Recording{Timeline: tl, Limit: limit, Expect: e}
	r.waits = sync.OnceValue(func() map[int]time.Duration { return r.longestWaits(longest) })
	r.tellers, r.again = sync.OnceValue(r.tellingAnswers), sync.OnceValue(r.deniedAgain)
	for i := range tl.Observations {
		o := &tl.Observations[i]
		switch {
		case !o.Answered || o.Outcome == timeline.Unknown:
		case o.Origin:
			r.Origin = append(r.Origin, o)
		default:
			r.Target = append(r.Target, o)
		}
	}
	return r
}

// sent returns the requests to the target of some phases, answered or not, in their order.
func (r *Recording) sent(phases ...string) (out []*timeline.Observation) {
	for i := range r.Observations {
		if o := &r.Observations[i]; !o.Origin && slices.Contains(phases, o.Phase) {
			out = append(out, o)
		}
	}
	return out
}

// Alone returns c. If others may use the same partitions, a failure becomes Inconclusive (foreign-traffic),
// since they may be the reason.
func (r *Recording) Alone(c result.Claim) result.Claim {
	if !r.Shared || c.Verdict != result.Fail {
		return c
	}
	return result.Claim{ID: c.ID, Kind: c.Kind, Reason: result.ForeignTraffic,
		Text: c.Text + "; but others may use the same partitions"}
}

// KeepsFields tells whether the target answered, and the fields of its answers are known. Recordings of other
// tools may have none.
func (r *Recording) KeepsFields() bool {
	fielded := func(o *timeline.Observation) bool { return len(o.Fields) > 0 }
	return r.Kept && len(r.Target) > 0 || slices.ContainsFunc(r.Target, fielded)
}

// Unheard returns the claim with an id on answers to denied requests: Inconclusive (needs-failed). ok=false:
// there are no denials, or one of them was answered, or the recording keeps no answers.
func (r *Recording) Unheard(id string) (c result.Claim, ok bool) {
	denials := Denied(r.Target)
	c = result.Claim{ID: id, Reason: result.NeedsFailed, Text: "no denial was answered"}
	return c, len(denials) > 0 && r.KeepsFields() && !slices.ContainsFunc(denials, Heard)
}

// LimitOf returns the limit that counts o. Empty: no limit does.
func (r *Recording) LimitOf(o *timeline.Observation) spec.Limit {
	if own, ok := r.Expect.Limits[o.Phase]; ok {
		return own
	}
	return r.Limit
}

// Limits returns the limits that count any observation, each once, in the order of the recording. One of them
// may be empty.
func (r *Recording) Limits() []spec.Limit {
	var out []spec.Limit
	var last string
	for i := range r.Observations {
		o := &r.Observations[i]
		if i > 0 && o.Phase == last {
			continue
		}
		last = o.Phase
		l := r.LimitOf(o)
		if !slices.ContainsFunc(out, func(x spec.Limit) bool { return slices.Equal(x, l) }) {
			out = append(out, l)
		}
	}
	return out
}

// partition is the requests of one partition, ascending by Sent, and the recording with the limit that counts
// all of them as its Limit.
type partition struct {
	*Recording
	obs []*timeline.Observation
}

// counted yields the partitions, in the order of their first requests. It leaves out a partition if several
// limits count its requests, or if no limit counts one of them although one is declared.
func (r *Recording) counted() iter.Seq[*partition] {
	var order []string
	all := map[string][]*timeline.Observation{}
	for i := range r.Observations {
		o := &r.Observations[i]
		if all[o.Partition] == nil {
			order = append(order, o.Partition)
		}
		all[o.Partition] = append(all[o.Partition], o)
	}
	return func(yield func(*partition) bool) {
		for _, name := range order {
			of, obs := *r, all[name]
			of.Limit = r.LimitOf(obs[0])
			other := func(o *timeline.Observation) bool {
				l := r.LimitOf(o)
				return !slices.Equal(l, of.Limit) || len(l) == 0 && len(r.Limit) > 0
			}
			if !slices.ContainsFunc(obs, other) && !yield(&partition{&of, obs}) {
				return
			}
		}
	}
}

// CountsDenials tells whether a denial may leave a trace under Limit: denials are counted, by all policies or
// by one of several, or they bring a ban, or no limit is declared.
func (r *Recording) CountsDenials() bool {
	traces := func(p spec.Policy) bool {
		return p.Count == spec.CountAll || p.Count == spec.CountOwn || p.Ban > 0
	}
	return len(r.Limit) == 0 || slices.ContainsFunc(r.Limit, traces)
}

// Forgotten tells whether one of some policies may have forgotten the partition between two requests, so that
// the second met a fresh one.
func (r *Recording) Forgotten(first, second *timeline.Observation, limit spec.Limit) bool {
	h := &r.Header
	// The last request that a policy saw may have come a ban earlier.
	return slices.ContainsFunc(limit, func(p spec.Policy) bool {
		past := second.FirstByte - first.Sent + p.LongestBan() + max(h.Tick, p.Tick) + 2*h.ClockError +
			h.Drift(second.FirstByte)
		return p.Clear > 0 || p.TTL > 0 && past >= p.TTL
	})
}

// longestWaits returns an upper bound on the true wait at each denial, each under its own limit.
func (r *Recording) longestWaits(longest LongestWaits) map[int]time.Duration {
	waits := map[int]time.Duration{}
	for _, limit := range r.Limits() {
		if len(limit) == 0 {
			continue
		}
		all := longest(r.Timeline, limit, r.Shared)
		for i := range r.Observations {
			o := &r.Observations[i]
			if wait, ok := all[o.Seq]; ok && slices.Equal(r.LimitOf(o), limit) {
				waits[o.Seq] = wait
			}
		}
	}
	return waits
}

// LongestWait returns an upper bound on the true wait at a denial. ok=false: none is known.
func (r *Recording) LongestWait(d *timeline.Observation) (wait time.Duration, ok bool) {
	wait, ok = r.waits()[d.Seq]
	return wait, ok && wait != reference.Never
}

// LongestNeed returns the longest wait that d may state in the notation of t: the longest true wait, longer
// by the declared Spread and rounded up to whole units, and two seconds more for a date. A denial always
// waits for something, so it is at least one unit. ok=false: no wait is known to be long enough.
func (r *Recording) LongestNeed(d *timeline.Observation, t headers.Wait) (need time.Duration, ok bool) {
	wait, ok := r.LongestWait(d)
	if !ok {
		return 0, false
	}
	if wait = longer(wait, r.RetryAfter.Spread); wait == reference.Never {
		return 0, false
	}
	unit := cmp.Or(t.Unit, time.Second)
	need = max(unit, add(wait, unit-1).Truncate(unit))
	if t.IsDate {
		need = add(need, time.Second+StaleDate)
	}
	return need, true
}

// longer returns a wait that is longer by a share of itself.
func longer(wait time.Duration, share float64) time.Duration {
	more := float64(wait) * share
	if more >= float64(reference.Never-wait) {
		return reference.Never
	}
	return wait + time.Duration(more)
}

// add returns a + b, or the largest duration if that overflows. Neither may be negative.
func add(a, b time.Duration) time.Duration {
	if a > reference.Never-b {
		return reference.Never
	}
	return a + b
}

// Statuses returns the statuses of obs, ascending, each once.
func Statuses(obs []*timeline.Observation) []int {
	var out []int
	for _, o := range obs {
		if i, found := slices.BinarySearch(out, o.Status); !found {
			out = slices.Insert(out, i, o.Status)
		}
	}
	return out
}

// IsDenial tells whether o is a denial that the target, not the origin, answered.
func IsDenial(o *timeline.Observation) bool {
	return o.Answered && o.Outcome == timeline.Denied && !o.Origin
}

// Heard tells whether an answer came. A target may declare that it denies by ending the connection. Such a
// denial has no status, no fields and no body to judge.
func Heard(o *timeline.Observation) bool {
	return o.Outcome != timeline.Denied || o.Status != 0 || len(o.Fields) > 0 || o.Body != ""
}

// Denied returns the denied observations, in order, answered or not. nil: there are none.
func Denied(obs []*timeline.Observation) []*timeline.Observation {
	return Only(obs, func(o *timeline.Observation) bool { return o.Outcome == timeline.Denied })
}

// Only returns the observations for which keep is true, in order. nil: there are none.
func Only(obs []*timeline.Observation, keep func(*timeline.Observation) bool) []*timeline.Observation {
	var out []*timeline.Observation
	for _, o := range obs {
		if keep(o) {
			out = append(out, o)
		}
	}
	return out
}

// DecidedBy returns the end of the interval in which o was decided. It is reference.Never if o may be decided
// at any later time: an answer without an outcome does not prove an earlier decision.
func DecidedBy(o *timeline.Observation) time.Duration {
	if !o.Answered || o.Outcome == timeline.Unknown {
		return reference.Never
	}
	return o.FirstByte
}

// StaleDate is how old or how far ahead a Date may be, beyond its own second. Servers keep one for up to a
// second, and some round it up.
const StaleDate = time.Second

// Date returns the Date of an answer. ok=false: it has none that can be read.
func Date(o *timeline.Observation) (at time.Time, ok bool) {
	v, ok := o.Fields.Get("Date")
	if !ok {
		return time.Time{}, false
	}
	t, err := headers.ParseDate(v)
	return t, err == nil
}

// Waits returns the waits that o states. It may be empty.
func Waits(o *timeline.Observation) []headers.Wait {
	at, _ := Date(o)
	return headers.Waits(o.Fields.Get, o.Body, at)
}

// Told returns the wait of a valid Retry-After, if o has one. A date without a Date beside it states no wait.
func Told(o *timeline.Observation) (headers.Wait, bool) {
	at, _ := Date(o)
	return headers.StatedWait(o.Fields.Get, at)
}

// toldBy returns the waits that o states or, if there are none, the last reset.
func toldBy(o *timeline.Observation) []headers.Wait {
	out := Waits(o)
	if len(out) == 0 {
		at, _ := Date(o)
		quotas, _ := headers.Quotas(o.Fields.Get, at)
		out = lastReset(quotas)
	}
	return out
}

// untold tells whether no denial states a wait in any way, and nobody promised Retry-After.
func (r *Recording) untold(denials []*timeline.Observation) bool {
	return LacksFields(r, result.PromiseRetryAfter) && !slices.ContainsFunc(denials, tellsOtherwise)
}

// lastReset returns the last reset that lies ahead. It is empty if no quota states one.
func lastReset(quotas []headers.Quota) []headers.Wait {
	var last headers.Wait
	for _, q := range quotas {
		if !q.HasReset || q.Reset <= 0 {
			continue
		}
		w := headers.Wait{Field: "reset (" + string(q.Dialect) + ")", Value: Seconds(q.Reset, q.Unit),
			For: q.Reset, Unit: q.Unit, Slack: q.Unit}
		if !q.Form.Relative() {
			w.Slack += time.Second + StaleDate
		}
		if add(w.For, w.Slack) > add(last.For, last.Slack) {
			last = w
		}
	}
	if last.For == 0 {
		return nil
	}
	return []headers.Wait{last}
}

// LacksFields tells whether p was not promised, and no answer of r shows it, not even a broken one. false if
// no answer came or no fields were kept, as nothing is known then.
func LacksFields(r *Recording, p result.Promise) bool {
	if slices.Contains(r.Promised, p) || !r.KeepsFields() {
		return false
	}
	return !slices.ContainsFunc(r.Target, func(o *timeline.Observation) bool { return shows(o, p) })
}

// shows tells whether an answer has what p promises, right or broken.
func shows(o *timeline.Observation, p result.Promise) bool {
	switch p {
	case result.PromiseRetryAfter:
		present, _ := readRetryAfter(o)
		return present
	case result.PromiseRateLimit:
		present, problems := readQuotas(o)
		return present || len(problems) > 0
	case result.PromiseProblem:
		present, _ := readProblem(o)
		return present
	default:
		return false
	}
}
