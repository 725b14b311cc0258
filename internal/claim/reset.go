package claim

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// judgeToldReset judges that quota comes back at the stated time. A field may mean the next unit, or all of
// the quota. No standard says which:
//
//	answer      now          next unit                  all of it
//	told         |<- denied: ->|<------- either ------->|
//
// So no answer may state more than the time to all of it, or a time in the past. A window ends at one
// instant, which is both. If that instant is known, a denial may state no less.
func judgeToldReset(j *Recording, id string, tellers []teller) result.Claim {
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

// judgeToldBody judges that the body of a denial says the same as its header fields and its status line, in
// the same unit. No standard names the members. It reads names that products send (retry_after, retryAfter,
// limit, reset_at, status). A wait that only the body states is checked against the limit.
func judgeToldBody(j *Recording) result.Claim {
	const id = string(result.ClaimQuotaBody)
	denials := Denied(j.Target)
	wrong := map[string][]*timeline.Observation{}
	first := map[string]string{}
	var order []string
	compared := 0
	for _, o := range denials {
		m := headers.Members(o.Body)
		if len(m) > 0 {
			compared++
		}
		for _, name := range append(slices.Clone(headers.BodyWaits), "limit", "resetat", "status") {
			text := j.conflict(o, m, name)
			if text == "" {
				continue
			}
			if len(wrong[name]) == 0 {
				order, first[name] = append(order, name), text
			}
			wrong[name] = append(wrong[name], o)
		}
	}
	var findings []result.Finding
	for _, name := range order {
		obs := wrong[name]
		findings = append(findings, Count(result.BodyConflict, obs,
			fmt.Sprintf("#%d: %s; so in %s: %s", obs[0].Seq, first[name],
				text.Plural(len(obs), "denial"), Seqs(obs))))
	}
	if compared == 0 && len(denials) > 0 {
		return moot(id, "no denial states a wait, a limit, a reset or a status in a JSON body")
	}
	return result.Settle(id, fmt.Sprintf("the bodies of %s were compared with their fields",
		text.Plural(compared, "denial")), result.Of(compared, "denials with numbers in their body"),
		findings...)
}

// conflict says how a member of a body contradicts its denial. Empty: it does not.
func (j *Recording) conflict(o *timeline.Observation, m map[string]headers.Member, name string) string {
	x, ok := m[name]
	if !ok {
		return ""
	}
	switch name {
	case "retryafter", "retryafterms":
		return j.waitConflict(o, x)
	case "limit":
		return j.limitConflict(o, x, m["window"])
	case "resetat":
		return j.resetConflict(o, x)
	default:
		return statusConflict(o, x)
	}
}

// statusConflict compares a status in a body with that of the denial. The rule PD-STATUS does this for a
// problem.
func statusConflict(o *timeline.Observation, x headers.Member) string {
	n, isNumber := x.Number()
	isStatus := isNumber && n >= 100 && n <= 599
	if MediaType(o) == ProblemJSON || !isStatus || n == float64(o.Status) {
		return ""
	}
	return fmt.Sprintf("its body says %s: %s, but its status is %d", x.Name, x.Value, o.Status)
}

// sinceEpoch is the least number that is no wait, but an instant in seconds or parts of seconds.
const sinceEpoch = 1e9

// waitConflict compares a wait in a body with Retry-After or, if there is none, with the limit. Either may be
// rounded to the next second, and longer by the declared Spread. An instant is not compared.
func (j *Recording) waitConflict(o *timeline.Observation, x headers.Member) string {
	t, ok := Told(o)
	n, isNumber := x.Number()
	if !isNumber || n >= sinceEpoch {
		return ""
	}
	if !ok {
		return j.aloneWait(o, x, n)
	}
	slack := 1.0
	if t.IsDate {
		slack += 2 // its Date is cut to the second and may be old
	}
	want, spread := t.For.Seconds(), 1+j.RetryAfter.Spread
	near := func(n float64) bool { return n <= want*spread+slack && want <= n*spread+slack }
	if near(n) {
		return ""
	}
	text := fmt.Sprintf("its body says %s: %s, but its field %s", x.Name, x.Value, t)
	if near(n / 1000) {
		text += " (the body counts milliseconds, the field counts seconds)"
	}
	return text
}

// aloneWait checks a wait that no field states against the limit, and against the denials that followed. A
// name without a unit may count milliseconds. The wait is then too long only if that reading is refuted too.
func (j *Recording) aloneWait(o *timeline.Observation, x headers.Member, n float64) string {
	seconds := func(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
	says := fmt.Sprintf("its body says %s: %s", x.Name, x.Value)
	if again := j.deniedAfter(o, seconds(n)); again != nil {
		return says + fmt.Sprintf(", no Retry-After says more, but #%d was denied %s later, with no "+
			"admission in between", again.Seq, Seconds(again.Sent-o.FirstByte, time.Millisecond))
	}
	need, ok := j.LongestNeed(o, headers.Wait{})
	if !ok || n <= need.Seconds() || !x.InSeconds() && j.deniedAfter(o, seconds(n/1000)) == nil {
		return ""
	}
	return says + ", and at most " + Seconds(need, time.Second) + " could be needed"
}

// deniedAfter returns the last denial that followed o with no admission in between, if it came after a wait.
func (j *Recording) deniedAfter(o *timeline.Observation, wait time.Duration) *timeline.Observation {
	again := j.again()[o.Seq]
	if again == nil || wait <= 0 || again.Sent-o.FirstByte-j.slackUntil(again) < wait {
		return nil
	}
	return again
}

// slackUntil returns by how much less time than measured may have passed for the limiter between an earlier
// answer and o.
func (j *Recording) slackUntil(o *timeline.Observation) time.Duration {
	h, tick := &j.Header, time.Duration(0)
	for _, p := range j.LimitOf(o) {
		tick = max(tick, p.Tick)
	}
	return max(h.Tick, tick) + 2*h.ClockError + h.Drift(o.FirstByte)
}

// deniedAgain returns for denials, by Seq, the last denial of their partition and cost that was decided
// before anything else can have been admitted. It is empty if denials leave a trace.
//
//	admitted   denied   denied   denied   admitted
//	           |------- again -->|
func (j *Recording) deniedAgain() map[int]*timeline.Observation {
	out := map[int]*timeline.Observation{}
	if j.Shared || len(j.Limit) == 0 {
		return out
	}
	for p := range j.counted() {
		if p.Limit.Completes() || p.CountsDenials() || slices.ContainsFunc(p.Limit, renewed) {
			continue
		}
		ended := make([]time.Duration, len(p.obs)) // when all earlier ones that may be admitted were decided
		end := time.Duration(-1)
		for i, o := range p.obs {
			if ended[i] = end; !IsDenial(o) {
				end = max(end, DecidedBy(o))
			}
		}
		next, last := reference.Never, (*timeline.Observation)(nil)
		for i, o := range slices.Backward(p.obs) {
			switch {
			case !IsDenial(o):
				next, last = o.Sent, nil
				continue
			case last != nil && last.Cost != o.Cost:
				next, last = last.Sent, nil
			}
			if last == nil && o.FirstByte < next {
				last = o
			}
			if last != nil && last != o && ended[i] < o.Sent {
				out[o.Seq] = last
			}
		}
	}
	return out
}

// renewed tells whether denials may renew the state of p for a partition.
func renewed(p spec.Policy) bool { return p.TTL > 0 || p.Refreshes() }

// limitConflict compares a limit in a body with those of the fields or, if there are none, with the declared
// limit.
func (j *Recording) limitConflict(o *timeline.Observation, x, window headers.Member) string {
	n, err := strconv.ParseInt(x.Value, 10, 64)
	if err != nil {
		return ""
	}
	at, _ := Date(o)
	quotas, _ := headers.Quotas(o.Fields.Get, at)
	quotas = slices.DeleteFunc(quotas, func(q headers.Quota) bool { return !q.HasLimit })
	if slices.ContainsFunc(quotas, func(q headers.Quota) bool { return q.Limit == n }) {
		return ""
	}
	if len(quotas) > 0 {
		return fmt.Sprintf("its body says %s: %d, but its fields state a limit of %s", x.Name, n,
			strings.Join(limitsOf(quotas), ", "))
	}
	limit, unit := j.LimitOf(o), time.Duration(0)
	if w, ok := window.Number(); ok && w > 0 && w < 1e9 {
		unit = time.Duration(w * float64(time.Second))
	}
	if len(limit) == 0 || declares(limit, n, unit) {
		return ""
	}
	return fmt.Sprintf("its body says %s: %d, but %s%s", x.Name, n, declaredText(limit),
		unnamedUnit(n, limit))
}

// resetConflict checks an instant in a body against the limit, like that of a field.
func (j *Recording) resetConflict(o *timeline.Observation, x headers.Member) string {
	at, dated := Date(o)
	q, ok := headers.ReadReset(x.Value, at)
	limit := j.LimitOf(o)
	if !ok || !dated || q.Form == headers.Delta || len(limit) == 0 || limit.Completes() {
		return ""
	}
	f := j.wrongReset(o, q, limit, limit, nil)
	if f == nil {
		return ""
	}
	return fmt.Sprintf("its body says %s: %s, which is %s from its Date (%s)", x.Name, text.Quote(x.Value),
		Seconds(q.Reset, time.Second), at.UTC().Format(http.TimeFormat))
}
