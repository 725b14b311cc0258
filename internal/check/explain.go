package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Recorded is one recording of a limiter, with the options by which it is judged: Conformance and Shared.
type Recorded struct {
	Timeline *timeline.Timeline
	Options  Options
}

// Explain looks for limits that explain all recordings of a limiter that fails limit, which has one policy.
// It returns those of the nearest tier that has any, the nearest first, and a sentence that names them. told
// is the longest wait that a denial asked for, 0 for none. An explanation proves nothing. It is the next
// thing to look at.
func Explain(of []Recorded, limit spec.Limit, told time.Duration) ([]result.Explanation, string) {
	q := &inquiry{told: told, left: hintWork}
	for _, r := range of {
		q.of = append(q.of, evidence{rec: history.RecordingOf(r.Timeline), o: r.Options})
	}
	return q.explain(limit)
}

// Explains tells whether a recording does not refute limit. It is Judge without findings, whose witnesses are
// most of the work. Of o it takes Conformance and Shared.
func Explains(tl *timeline.Timeline, limit spec.Limit, o Options) bool {
	return tried(history.RecordingOf(tl), limit, o).verdict != result.Fail
}

// attempt is the verdict on a recording under another limit. capped: a search was cut short that might still
// refute the limit. work is how many requests were judged for open phases. Such a search counts as four times
// HintWide, since one decision that it tries takes as long as a few requests that the bounds judge.
type attempt struct {
	verdict result.Verdict
	capped  bool
	work    int
}

// tried judges all of a recording under another limit, on the side that o asks for. The bounds come first, as
// they are fast and refute most limits. A limit that cannot be judged fails.
func tried(rec *history.Recording, limit spec.Limit, o Options) (out attempt) {
	if _, err := reference.NewLimit(limit); err != nil || Fits(rec, limit) != nil {
		return attempt{verdict: result.Fail}
	}
	for _, bounds := range []bool{true, false} {
		c := NewCase(rec, limit,
			Options{Conformance: o.Conformance, Shared: o.Shared, SkipMeasure: true})
		c.Quick, c.BoundsOnly = true, bounds
		c.Judge()
		out.capped = false
		for _, p := range c.Parts {
			if out.work += p.bounded; p.Search.Capped {
				out.capped, out.work = true, out.work+4*HintWide
			}
		}
		if out.verdict = c.Judgement().Verdict; out.verdict == result.Fail {
			break
		}
	}
	return out
}

// evidence is one recording of an inquiry. whole judges the whole recording if rec is only its beginning,
// otherwise it is nil.
type evidence struct {
	rec   *history.Recording
	o     Options
	whole func(spec.Limit) attempt
}

// inquiry looks for limits that explain recordings of one limiter. Its work is counted in judged requests and
// not in time, so the same recordings always have the same result.
type inquiry struct {
	of       []evidence
	declared spec.Policy
	told     time.Duration
	// left is how many requests may still be judged. tried are the limits that were, each once; wholes is how
	// many of them were tried on the whole of a large recording.
	left   int64
	tried  []spec.Policy
	wholes int
	found  []result.Explanation
}

// hintWork is how many requests an inquiry judges, under all limits together: about half a second of
// processor time. wholeTries is how many limits are tried on the whole of a recording that is too large to be
// judged at once.
const (
	hintWork   = 1 << 21
	wholeTries = 4
)

// explain tries the tiers in turn, until one has a limit that surely explains everything. Without one, it
// returns the first limit that may.
func (q *inquiry) explain(limit spec.Limit) ([]result.Explanation, string) {
	if len(limit) != 1 || limit.Cleared() {
		return nil, ""
	}
	q.declared = limit[0]
	slices.SortStableFunc(q.of, func(a, b evidence) int { return cmp.Compare(a.rec.Len(), b.rec.Len()) })
	var may []result.Explanation
	for _, tier := range tiers {
		for _, family := range tier {
			e, ok := q.first(family(q))
			switch {
			case ok && e.Sure:
				q.found = append(q.found, e)
			case ok && may == nil:
				may = append(may, e)
			}
		}
		if len(q.found) > 0 || q.declared.Completes() {
			break
		}
	}
	if len(q.found) == 0 {
		q.found = may
	}
	return q.found, q.sentence()
}

// first returns the first of the guesses that surely explains every recording, or else the first that may.
func (q *inquiry) first(guesses []spec.Policy) (may result.Explanation, ok bool) {
	for _, p := range guesses {
		if p == q.declared || slices.Contains(q.tried, p) {
			continue
		}
		if _, err := reference.New(p); err != nil { // not every key goes with every other
			continue
		}
		if !q.spent(1) {
			break
		}
		q.tried = append(q.tried, p)
		explains, sure := q.explains(spec.Limit{p})
		e := result.Explanation{Text: q.named(p), Limit: spec.Limit{p}, Sure: sure}
		if explains && sure {
			return e, true
		}
		if explains && !ok {
			may, ok = e, true
		}
	}
	return may, ok
}

// explains tells whether no recording refutes limit. sure: each of them passes.
func (q *inquiry) explains(limit spec.Limit) (explains, sure bool) {
	sure = true
	for _, x := range q.of {
		a := tried(x.rec, limit, x.o)
		q.left -= int64(a.work)
		if a.verdict != result.Fail && x.whole != nil {
			if q.wholes++; q.wholes > wholeTries {
				q.left = 0
				return false, false
			}
			a = x.whole(limit)
		}
		if a.verdict == result.Fail || len(q.of) == 1 && a.verdict != result.Pass {
			return false, false
		}
		sure = sure && !a.capped
	}
	return true, sure
}

// spent subtracts the work of judging n limits from what is left. It returns false if less is left.
func (q *inquiry) spent(n int) bool {
	cost := int64(0)
	for _, x := range q.of {
		cost += int64(n) * int64(x.rec.Len()+16)
	}
	if q.left < cost {
		q.left = 0
		return false
	}
	q.left -= cost
	return true
}

// sentence names the explanations. Empty: nothing was tried.
func (q *inquiry) sentence() string {
	what := "all of this"
	if n := len(q.of); n > 1 {
		what = "all " + text.Plural(n, "recording")
	}
	switch {
	case len(q.found) == 0 && len(q.tried) == 0:
		return ""
	case len(q.found) == 0 && len(q.of) > 1:
		what += " together"
		fallthrough
	case len(q.found) == 0:
		tried := text.Plural(len(q.tried), "other limit")
		return fmt.Sprintf("none of the %s tried explains %s%s", tried, what, q.ended())
	}
	word := "would"
	if !q.found[0].Sure {
		word = "may"
	}
	out := fmt.Sprintf("%s %s explain %s (%s)", q.found[0].Text, word, what, q.found[0].Limit)
	const most = 3
	var more []string
	for _, e := range q.found[1:] {
		more = append(more, e.Limit.String())
	}
	switch n := len(more); {
	case n > most:
		out += fmt.Sprintf("; so would %s and %d more", strings.Join(more[:most], "; "), n-most)
	case n > 0:
		out += "; so would " + strings.Join(more, "; ")
	}
	return out + q.usedBefore() + q.ended()
}

// ended says that not all limits were tried. Empty: all were.
func (q *inquiry) ended() string {
	if q.left > 0 || len(q.found) > 0 {
		return ""
	}
	return " (the budget of work ended before all limits were tried)"
}

// usedBefore says what an unknown level at the start may mean if the client is new.
func (q *inquiry) usedBefore() string {
	unknown := func(e result.Explanation) bool { return e.Limit[0].Start == spec.StartUnknown }
	if len(q.of) > 1 || q.of[0].rec.Header.CompleteFrom > 0 || !slices.ContainsFunc(q.found, unknown) {
		return ""
	}
	return "; or others used the quota before: does the limiter count addresses?"
}

// burst returns the interval of bursts that a policy may have, over all recordings.
func (q *inquiry) burst(p spec.Policy) result.Interval { return q.measured(p, 32, Gauge.burst) }

// rate returns the interval of rates, per second, that a policy may have, over all recordings. Requests in
// flight have none.
func (q *inquiry) rate(p spec.Policy) result.Interval {
	if p.Completes() || p.Align == spec.AlignCalendar {
		return result.Interval{}
	}
	return q.measured(p, 64, Gauge.back)
}

// measured returns what measure does not refute, over all recordings. A measurement takes up to so many
// judgements. Of a long recording it reads the beginning.
func (q *inquiry) measured(p spec.Policy, judgements int,
	measure func(Gauge, spec.Policy) result.Interval) (all result.Interval) {
	limit := spec.Limit{p}
	if _, err := reference.NewLimit(limit); err != nil || !q.spent(judgements) {
		return all
	}
	for _, x := range q.of {
		mode := x.o.Conformance
		if x.o.Shared { // denials prove nothing, nor does what admissions of others hide
			if _, changed := loosen(limit); changed || mode == result.LowerBound {
				continue
			}
			mode = result.UpperBound
		}
		if Fits(x.rec, limit) != nil {
			return result.Interval{}
		}
		c := NewCase(x.rec, limit, Options{Conformance: mode})
		c.Quick, c.BoundsOnly, c.Frugal = true, true, true
		for _, part := range c.Parts {
			if part.Seen.Known > 0 {
				all = all.Intersect(measure(c.gauge(part), c.declared[0]))
			}
		}
	}
	return all
}

// fitted returns policies like p with bursts and rates that were measured together. For each end of the
// possible bursts, it takes the possible rates. Measured one at a time they often leave nothing, since each
// has to make up for an error of the other.
func (q *inquiry) fitted(p spec.Policy) []spec.Policy {
	var out []spec.Policy
	unit := p.Rate.Per
	for range 2 {
		m := q.burst(p)
		for _, end := range []result.Interval{{Lo: m.Lo, LoSet: m.LoSet}, {Lo: m.Hi, LoSet: m.HiSet}} {
			if !end.LoSet || end.Lo < 1 {
				continue
			}
			try := p.WithFull(int64(end.Lo))
			if try, ok := withRate(try, q.rate(try), unit); ok {
				out = append(out, try)
			}
		}
		if len(out) == 0 {
			break
		}
		p = out[0]
	}
	return out
}

// withRate returns p with the roundest of some rates. unit is the time in which the rate of a bucket is
// written. ok=false: there is none.
func withRate(p spec.Policy, rate result.Interval, unit time.Duration) (spec.Policy, bool) {
	ok := true
	if p.HasWindow() {
		if rate.LoSet || rate.HiSet {
			p.Rate.Per, ok = roundWindow(rate, p.Rate.N)
		}
	} else {
		p.Rate, ok = roundRate(rate, p.Rate, unit)
	}
	return p, ok
}

// roundRate returns the roundest rate of an interval: so many a second, else in the given unit or, for slow
// rates, in a longer time. An end that is not set is that of the declared rate. ok=false: the interval has no
// rate that is a whole number.
func roundRate(iv result.Interval, declared spec.Rate, unit time.Duration) (spec.Rate, bool) {
	now := float64(declared.N) * float64(time.Second) / float64(declared.Per)
	lo, hi := now, now
	switch {
	case iv.LoSet && iv.HiSet:
		lo, hi = iv.Lo, iv.Hi
	case iv.LoSet:
		lo, hi = iv.Lo, max(now, iv.Lo)
	case iv.HiSet:
		lo, hi = min(now, iv.Hi), iv.Hi
	}
	switch {
	case lo > hi || lo <= 0:
		return declared, false
	case now >= lo && now <= hi:
		return declared, true
	}
	for _, per := range []time.Duration{time.Second, unit, 10 * time.Second, time.Minute, time.Hour} {
		if n, ok := roundest(lo*per.Seconds(), hi*per.Seconds()); ok {
			return spec.Rate{N: n, Per: per}, true
		}
	}
	return declared, false
}

// roundWindow returns the roundest length of a window with the given quota whose rate lies in the interval.
// ok=false: there is none, or an end is not set.
func roundWindow(rate result.Interval, quota int64) (time.Duration, bool) {
	if !rate.LoSet || !rate.HiSet || rate.Lo <= 0 || rate.Lo > rate.Hi {
		return 0, false
	}
	shortest, longest := float64(quota)/rate.Hi, float64(quota)/rate.Lo // in seconds
	units := []time.Duration{time.Hour, time.Minute, time.Second, time.Millisecond, time.Nanosecond}
	for _, unit := range units {
		if n, ok := roundest(shortest/unit.Seconds(), longest/unit.Seconds()); ok {
			return time.Duration(n) * unit, true
		}
	}
	return 0, false
}

// roundest returns the whole number from lo to hi, above 0, that ends in the most zeros.
func roundest(lo, hi float64) (int64, bool) {
	if hi > math.MaxInt32 {
		return 0, false
	}
	least, most := max(int64(math.Ceil(lo)), 1), int64(math.Floor(hi))
	for unit := int64(1_000_000_000); unit > 0; unit /= 10 {
		if n := (least + unit - 1) / unit * unit; n <= most {
			return n, true
		}
	}
	return 0, false
}
