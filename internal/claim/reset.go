package claim

import (
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// toldReset judges that quota comes back at the stated time. A field may mean the next unit, or all of the
// quota. No standard says which:
//
//	answer      now          next unit                  all of it
//	told         |<- denied: ->|<------- either ------->|
//
// So no answer may state more than the time to all of it, or a time in the past. A window ends at one
// instant, which is both. If that instant is known, a denial may state no less.
func (j *Recording) toldReset(id string, tellers []teller) result.Claim {
	opened := j.openings()
	var findings []result.Finding
	judged, bad, resets := 0, 0, false
	wrong := func(t teller, q headers.Quota, limit spec.Limit) *result.Finding {
		return j.wrongReset(t.o, q, limit, t.about(q, limit), opened)
	}
	for _, t := range tellers {
		limit := j.LimitOf(t.o)
		resets = resets || slices.ContainsFunc(t.quotas, tellsReset)
		asked := slices.DeleteFunc(slices.Clone(t.quotas), func(q headers.Quota) bool {
			return !q.HasReset || t.beside(q, limit)
		})
		if len(asked) == 0 || len(limit) == 0 || limit.Completes() {
			continue
		}
		judged++
		i := slices.IndexFunc(asked,
			func(q headers.Quota) bool { return wrong(t, q, limit) != nil })
		if i < 0 {
			continue
		}
		if bad++; bad <= MostFindings {
			findings = append(findings, *wrong(t, asked[i], limit))
		}
	}
	switch {
	case judged > 0:
		return result.Settle(id, fmt.Sprintf("%d of %s state a possible reset%s", judged-bad,
			text.Plural(judged, "answer"), Shown(bad)),
			result.Of(judged, "answers whose reset was compared with the limit"), findings...)
	case len(j.Limit) == 0:
		return uncompared(id)
	case !resets:
		return j.silent(id, tellers, "a reset", tellsReset)
	default:
		return moot(id, "no reset can be compared: an instant needs a Date field with it, "+
			"and the limit a known recovery")
	}
}

// beside tells whether q belongs, or may belong, to a policy that is not declared. It is then one of several
// in one dialect of an answer, or does not count requests.
func (t *teller) beside(q headers.Quota, limit spec.Limit) bool {
	one := q.Units == "" && slices.Contains(t.single(), q)
	return !one && !(q.HasLimit && declares(limit, q.Limit, q.Window))
}

// wrongReset returns the finding of a reset that is impossible for the policies that q may be about, or nil
// if it is possible. limit are all policies.
func (j *Recording) wrongReset(o *timeline.Observation, q headers.Quota, limit, of spec.Limit,
	opened map[string]span) *result.Finding {
	h := &j.Header
	slack := q.Unit + h.Tick + 2*h.ClockError + 2*h.Drift(o.FirstByte)
	late := slack
	// It counts from a Date, which is cut to the second and may be old.
	if !q.Form.Relative() {
		late, slack = late+time.Second+StaleDate, slack+StaleDate
	}
	most, why := longestReset(of, q), "all of the quota is back"
	least, known := time.Duration(0), false
	if end, ok := j.windowEnd(o, of, opened); ok {
		most, why = min(most, end.to-o.Sent), "its window has ended"
		least = max(0, end.from-o.FirstByte)
		// Of several policies, one with units left may state that the next unit is there.
		known = o.Outcome == timeline.Denied && o.Cost == 1 &&
			(len(limit) == 1 || q.HasRemaining && q.Remaining == 0)
	}
	if o.Outcome == timeline.Denied { // it may be the wait of Retry-After
		most = longer(most, j.RetryAfter.Spread)
	}
	told := fmt.Sprintf("#%d (%s, sent %s, first byte %s) states a reset in %s (%s)", o.Seq, o.Outcome,
		Seconds(o.Sent, time.Millisecond), Seconds(o.FirstByte, time.Millisecond),
		Seconds(q.Reset, q.Unit), q.Dialect)
	switch {
	case q.Reset > late && q.Reset-late > most:
		f := Witness(result.Finding{Kind: result.ResetLate, Seen: int64(q.Reset),
			Bound: int64(most),
			Text: fmt.Sprintf("%s; %s in %s at the latest", told, why,
				Seconds(most, time.Millisecond))}, o)
		return &f
	// The target may have stood still between its decision and the Date.
	case q.Reset < -slack-(o.FirstByte-o.Sent):
		f := Witness(result.Finding{Kind: result.ResetEarly, Bound: int64(q.Reset),
			Text: told + ": that is past"}, o)
		return &f
	case known && q.Reset < least-slack:
		f := Witness(result.Finding{Kind: result.ResetEarly, Seen: int64(least),
			Bound: int64(q.Reset),
			Text: fmt.Sprintf("%s; its window ends in %s at the earliest", told, Seconds(least,
				time.Millisecond))}, o)
		return &f
	default:
		return nil
	}
}

// longestReset returns the longest time in which all of the quota is back. If the limit of q is the rate in
// the window that q names, it returns that window.
func longestReset(limit spec.Limit, q headers.Quota) time.Duration {
	var most time.Duration
	for _, p := range limit {
		most = max(most, p.Recovery(), p.LongestWindow()+p.LongestBan()+p.Tick)
	}
	if q.HasLimit && q.Window > most && declares(limit, q.Limit, q.Window) && !declares(limit, q.Limit, 0) {
		return q.Window
	}
	return most
}

// span is a closed interval of the recording.
type span struct{ from, to time.Duration }

// openings returns the interval in which the first admission of each partition opened its first window.
// Partitions for which that is not known are missing.
func (j *Recording) openings() map[string]span {
	out := map[string]span{}
	if !j.Quota.Fresh {
		return out
	}
	for p := range j.counted() {
		first := span{p.obs[0].Sent, reference.Never}
		for _, o := range p.obs {
			if o.Answered && o.Outcome == timeline.Allowed {
				first.to = min(first.to, o.FirstByte)
			}
		}
		if first.to < reference.Never {
			out[p.obs[0].Partition] = first
		}
	}
	return out
}

// windowEnd returns the interval in which the window of o ends. ok=false: o is not counted by one fixed
// window, or it is not known by which.
func (j *Recording) windowEnd(o *timeline.Observation, limit spec.Limit, opened map[string]span) (end span,
	ok bool) {
	p := limit[0]
	plain := !p.Completes() && p.Ban == 0 && p.TTL == 0 && p.Clear == 0 && p.PerTo == 0 &&
		!p.Refreshes() && p.Tick == 0
	if len(limit) > 1 || !p.Fixed() || !plain {
		return end, false
	}
	h, w := &j.Header, p.Rate.Per
	slack := h.Tick + 2*h.ClockError + h.Drift(o.FirstByte)
	switch p.Align {
	case spec.AlignFirst:
		first, ok := opened[o.Partition]
		end = span{first.from + w - slack, first.to + w + slack}
		return end, ok && o.FirstByte < end.from
	case spec.AlignClock, "":
		slack += h.WallError
		zero := h.Started.UnixNano()
		from, to := (zero+int64(o.Sent-slack))/int64(w), (zero+int64(o.FirstByte+slack))/int64(w)
		at := time.Duration((from+1)*int64(w) - zero)
		return span{at - slack, at + slack}, !h.Started.IsZero() && from == to
	default:
		return end, false
	}
}
