package check

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// sentence prints the arithmetic of a finding from its integers.
type sentence struct {
	pol     spec.Policy
	header  timeline.Header
	witness []timeline.Observation
	end     time.Duration
	// others is how many more partitions it takes to refute every phase that they share.
	others int
}

func (s sentence) print(f verdict.Finding, br *breach) string {
	switch br.kind {
	case verdict.UnderAdmission:
		return s.under(f, br.asked)
	case verdict.NoExplanation:
		return s.together(f, br.open)
	default:
		return s.over(f, br)
	}
}

// over: 110 requests allowed within 0.930 s; at most 100 + floor(10/s * 0.930 s) = 109 are possible.
func (s sentence) over(f verdict.Finding, br *breach) string {
	if len(br.events) == 1 && br.events[0].cost > s.pol.Full() {
		return fmt.Sprintf("request #%d of cost %d was allowed; a full start admits %d", br.events[0].seq,
			br.seen, s.pol.Full())
	}
	within := s.within(f, br)
	what := s.units(br.seen) + " allowed within " + seconds(within) + s.widened(within, br)
	if s.pol.Charge == spec.ChargeCompletion {
		return fmt.Sprintf("request #%d was allowed although at least %d of %d units were charged before it",
			br.events[0].seq, br.bound-br.events[0].cost+1, br.bound)
	}
	if br.roomless {
		one := br.events[0]
		if s.pol.InFlight() {
			return fmt.Sprintf("request #%d was admitted although at least %d of %d places were taken at "+
				"every instant when it may have been", one.seq, br.bound-one.cost+1, br.bound)
		}
		return fmt.Sprintf("request #%d was allowed although at least %d of %d units were counted before it",
			one.seq, br.bound-one.cost+1, br.bound)
	}
	switch s.pol.Algorithm {
	case spec.Concurrency:
		return fmt.Sprintf("%s admitted within %s, each in flight for at least %s; at most %d are possible",
			s.units(br.seen), seconds(time.Duration(br.span)), s.pol.HoldLeast, s.pol.Rate.N)
	case spec.FixedWindow:
		if s.pol.Refreshes() {
			return fmt.Sprintf("%s, without a silence of %s in between that would end the window; at most "+
				"%d are possible", what, s.pol.Rate.Per, br.bound)
		}
		if s.pol.Slots > 1 {
			return fmt.Sprintf("%s, in %d slots of %s that follow each other; at most %s are possible", what,
				br.windows*s.pol.Slots, s.pol.Slot(), times(br.windows, s.pol.Rate.N, br.bound))
		}
		return fmt.Sprintf("%s, in %s; at most %s are possible", what,
			plural(br.windows, "window", "windows")+" of "+s.pol.Rate.Per.String(),
			times(br.windows, s.pol.Rate.N, br.bound))
	case spec.SlidingWindowLog:
		return fmt.Sprintf("%s; at most %s are possible in any span shorter than %s", what,
			times(br.windows, s.pol.Rate.N, br.bound),
			(time.Duration(max(br.windows, 1)) * s.pol.Rate.Per).String())
	case spec.SlidingWindowCounter:
		if len(br.events) > 0 { // seen is what was weighted
			what = s.units(allowedOf(br.events)) + " allowed within " + seconds(within)
		}
		return fmt.Sprintf("%s; the last of them was admitted at a weighted count of at least %d, and at "+
			"most %d - 1 admits", what, br.seen-1, br.bound)
	default:
		return fmt.Sprintf("%s; at most %s are possible", what, s.bucket(br))
	}
}

// allowedOf adds up the units of the admissions among events.
func allowedOf(events []event) int64 {
	var units int64
	for i := range events {
		if events[i].outcome == timeline.Allowed {
			units += events[i].cost
		}
	}
	return units
}

// within is how long the admissions of a breach took, since their bucket was created where it counts from
// there; the witness may have others, that placed or created what they met. Where not all were kept that is
// the span of the finding.
func (s sentence) within(f verdict.Finding, br *breach) time.Duration {
	if len(br.events) == 0 {
		return f.To - f.From
	}
	in := map[int]bool{}
	for _, ev := range br.events {
		in[ev.seq] = true
	}
	from, to := reach(slices.DeleteFunc(slices.Clone(s.witness),
		func(o timeline.Observation) bool { return !in[o.Seq] }), s.end)
	for i := range s.witness {
		if o := &s.witness[i]; br.creator != nil && o.Seq == br.creator.seq {
			from = min(from, o.Sent)
		}
	}
	return to - from
}

// bucket: 100 + floor(10/s * 0.930 s) = 109. The first number is what may be there when the span begins: the
// burst, what a queue lets through at once, or the level at which the bucket was created.
func (s sentence) bucket(br *breach) string {
	b := newBucket(s.pol)
	return fmt.Sprintf("%d + floor(%s * %s) = %d", br.bound-br.span*b.n/b.per, s.pol.Rate,
		seconds(time.Duration(br.span)), br.bound)
}

// under: request #57 denied at 2.013 s .. 2.014 s; at most 14 of 20 units could have been in use.
func (s sentence) under(f verdict.Finding, asked int) string {
	d := s.denial(asked)
	if d == nil {
		return "a denial that nothing explains"
	}
	until := s.end
	if d.Answered {
		until = max(d.FirstByte, d.Sent)
	}
	cost := ""
	if d.Cost > 1 {
		cost = fmt.Sprintf(" of cost %d", d.Cost)
	}
	return fmt.Sprintf("request #%d%s denied at %s .. %s; at most %d of %d units could have been %s", d.Seq,
		cost, seconds(d.Sent), seconds(until), f.Seen, f.Bound, s.inUse())
}

// inUse says what a denied request may have met.
func (s sentence) inUse() string {
	switch {
	case s.pol.InFlight():
		return "in flight"
	case s.pol.Charge == spec.ChargeCompletion:
		return "charged"
	}
	return "in use"
}

// together: no order and no decision times explain these 7 requests within 0.020 s together: 4 allowed, 3
// denied.
func (s sentence) together(f verdict.Finding, open bool) string {
	none, too := "no order and no decision times", ""
	switch {
	case s.others > 0:
		none = "no common window start, no order and no decision times"
		too = ", with what is found of another one"
		if s.others > 1 {
			too = fmt.Sprintf(", with what is found of %d others", s.others)
		}
	case open:
		none = "no phase of the windows, no order and no decision times"
	}
	allowed, denied := s.outcomes()
	admitted := 0
	if denied == 0 {
		return fmt.Sprintf("%s allowed within %s; %s admit more than %d of them%s",
			s.units(allowed), seconds(f.To-f.From), none, f.Bound, too)
	}
	for i := range s.witness {
		if s.witness[i].Outcome == timeline.Allowed {
			admitted++
		}
	}
	return fmt.Sprintf("%s explain %s within %s together: %d allowed, %d denied%s",
		none, plural(int64(len(s.witness)), "request", "requests"), seconds(f.To-f.From), admitted, denied,
		too)
}

// outcomes adds up the units admitted and the requests denied of the witness.
func (s sentence) outcomes() (allowed, denied int64) {
	for i := range s.witness {
		switch s.witness[i].Outcome {
		case timeline.Allowed:
			allowed += s.witness[i].Cost
		case timeline.Denied:
			denied++
		}
	}
	return allowed, denied
}

// phases: nothing explains these 9 requests wherever windows of 1s begin.
func (s sentence) phases(f verdict.Finding, box phases) string {
	if ranged(s.pol) || s.pol.BanTo > 0 || s.pol.TTLTo > 0 {
		allowed, denied := s.outcomes()
		return fmt.Sprintf("no values within %s explain %s allowed and %d denied within %s together", s.pol,
			s.units(allowed), denied, seconds(f.To-f.From))
	}
	per, name := s.pol.Slot(), "windows"
	if s.pol.Slots > 1 {
		name = "slots"
	}
	where := "wherever the " + name + " of " + per.String() + " begin"
	if size := int64(per); box.to-box.from < size-1 {
		where = fmt.Sprintf("for %s of %s that begin between %s and %s", name, per,
			seconds(time.Duration(mod(box.from, size))),
			seconds(time.Duration(mod(box.from, size)+box.to-box.from)))
	}
	allowed, denied := s.outcomes()
	what := s.units(allowed) + " allowed"
	if denied > 0 {
		what += " and " + strconv.FormatInt(denied, 10) + " denied"
	}
	return fmt.Sprintf("%s within %s; no %s %s (at most %d in a window)",
		what, seconds(f.To-f.From), s.explains(), where, s.pol.Rate.N)
}

// explains says what no phase of the windows does.
func (s sentence) explains() string {
	switch s.others {
	case 0:
		return "phase explains that"
	case 1:
		return "common window start explains this partition together with another one,"
	default:
		return fmt.Sprintf("common window start explains this partition together with %d others,", s.others)
	}
}

// widened tells by how much a span was widened in the target's favour.
func (s sentence) widened(within time.Duration, br *breach) string {
	w := widen(s.header, s.pol.Tick, s.pol.TickSet)
	if w == (widening{}) || s.pol.Windowed() || br.span <= int64(within) {
		return ""
	}
	var why []string
	if w.tick != 0 {
		why = append(why, "a clock that ticks every "+time.Duration(w.tick).String())
	}
	if w.right != 0 {
		why = append(why, "recorders whose clocks are up to "+time.Duration(w.right).String()+" off")
	}
	if w.driftPPM != 0 {
		why = append(why, fmt.Sprintf("a drift of up to %d ppm", w.driftPPM))
	}
	return fmt.Sprintf(" (%s with %s)", seconds(time.Duration(br.span)), strings.Join(why, " and "))
}

func (s sentence) units(n int64) string {
	for i := range s.witness {
		if s.witness[i].Cost > 1 {
			return plural(n, "unit", "units")
		}
	}
	return plural(n, "request", "requests")
}

func (s sentence) denial(asked int) *timeline.Observation {
	for i := range s.witness {
		if s.witness[i].Seq == asked && s.witness[i].Outcome == timeline.Denied {
			return &s.witness[i]
		}
	}
	return nil
}

func times(n, quota, bound int64) string {
	if n <= 1 {
		return strconv.FormatInt(bound, 10)
	}
	return fmt.Sprintf("%d * %d = %d", n, quota, bound)
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatInt(n, 10) + " " + many
}

// seconds prints a duration in seconds with at least three decimals and as many as it needs, up to nine.
func seconds(d time.Duration) string {
	s := strconv.FormatFloat(float64(d/time.Second), 'f', 0, 64)
	if d < 0 {
		return "-" + seconds(-max(d, -math.MaxInt64))
	}
	frac := fmt.Sprintf("%09d", d%time.Second)
	for len(frac) > 3 && strings.HasSuffix(frac, "0") {
		frac = frac[:len(frac)-1]
	}
	if len(frac) > 6 { // three decimals beyond the microsecond say nothing to a reader
		frac = frac[:6]
	}
	return s + "." + frac + " s"
}
