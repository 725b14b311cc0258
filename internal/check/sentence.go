package check

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Sentence prints the arithmetic of a finding from its integers.
type Sentence struct {
	Pol     spec.Policy
	Header  timeline.Header
	Witness []history.Observation
	End     time.Duration
	// Others is how many other partitions are needed to refute every phase that all share.
	Others int
}

// Print returns the sentence of a finding.
func (s Sentence) Print(f result.Finding, br *limiter.Breach) string {
	switch br.Kind {
	case result.UnderAdmission:
		return s.under(f, br.Asked)
	case result.NoExplanation:
		return s.together(f, br.Open)
	default:
		return s.Over(f, br)
	}
}

// Over prints: 110 requests allowed within 0.930 s; at most 100 + floor(10/s * 0.930 s) = 109 are possible.
func (s Sentence) Over(f result.Finding, br *limiter.Breach) string {
	if len(br.Events) == 1 && br.Events[0].Cost > s.Pol.Full() { // no such asks where costs are settled
		return fmt.Sprintf("request #%d of cost %d was allowed; a full start admits %d", br.Events[0].Seq,
			br.Seen, s.Pol.Full())
	}
	if s.Pol.Charge == spec.ChargeCompletion || br.Roomless {
		return s.noRoom(br)
	}
	within := s.within(f, br)
	what := s.units(br.Seen) + " allowed within " + seconds(within) + s.widened(within, br)
	switch {
	case s.Pol.InFlight():
		return fmt.Sprintf("%s admitted within %s, each in flight for at least %s; at most %d are possible",
			s.units(br.Seen), seconds(time.Duration(br.Span)), s.Pol.HoldLeast, s.Pol.Rate.N)
	case s.Pol.Fixed():
		return what + s.inWindows(br)
	case s.Pol.Windowed():
		if len(br.Events) > 0 { // Seen is a weighted count
			what = s.units(AllowedOf(br.Events)) + " allowed within " + seconds(within)
		}
		return fmt.Sprintf("%s; the last of them was admitted at a weighted count of at least %d, but "+
			"the limit admits at most at %d - 1", what, br.Seen-1, br.Bound)
	case s.Pol.HasWindow():
		return fmt.Sprintf("%s; at most %s are possible in any span shorter than %s", what,
			times(br.Windows, s.Pol.Rate.N, br.Bound),
			(time.Duration(max(br.Windows, 1)) * s.Pol.Rate.Per).String())
	default:
		return fmt.Sprintf("%s; at most %s are possible", what, s.bucket(br))
	}
}

// noRoom prints: request #5 was allowed although at least 3 of 3 units were counted before it.
func (s Sentence) noRoom(br *limiter.Breach) string {
	one := br.Events[0]
	switch {
	case s.Pol.Charge == spec.ChargeCompletion:
		return fmt.Sprintf("request #%d was allowed although %s: at least %d of %d units were %s before it",
			one.Seq, s.needs(), br.Seen-one.Cost, br.Bound, s.charged())
	case s.Pol.InFlight():
		return fmt.Sprintf("request #%d was admitted although at least %d of %d places were taken at "+
			"every instant when it may have been", one.Seq, br.Bound-one.Cost+1, br.Bound)
	}
	return fmt.Sprintf("request #%d was allowed although at least %d of %d units were counted before it",
		one.Seq, br.Bound-one.Cost+1, br.Bound)
}

// inWindows prints: ..., in 2 windows of 1s; at most 2 * 5 = 10 are possible.
func (s Sentence) inWindows(br *limiter.Breach) string {
	switch {
	case s.Pol.Refreshes():
		return fmt.Sprintf(", without a silence of %s in between that would end the window; at most "+
			"%d are possible", s.Pol.Rate.Per, br.Bound)
	}
	return fmt.Sprintf(", in %s; at most %s are possible",
		plural(br.Windows, "window", "windows")+" of "+s.window(),
		times(br.Windows, s.Pol.Rate.N, br.Bound))
}

// window names the length of the windows.
func (s Sentence) window() string {
	switch {
	case s.Pol.Align != spec.AlignCalendar:
		return s.Pol.Rate.Per.String()
	case s.Pol.Rate.Per == spec.Month:
		return "a calendar month (" + cmp.Or(s.Pol.Zone, "UTC") + ")"
	}
	return "a calendar day (" + cmp.Or(s.Pol.Zone, "UTC") + ")"
}

// AllowedOf adds up the units of the admissions among events.
func AllowedOf(events []history.Event) int64 {
	var units int64
	for i := range events {
		if events[i].Outcome == timeline.Allowed {
			units += events[i].Cost
		}
	}
	return units
}

// within returns the span of the admissions of a breach. It starts at the creation of their bucket if the
// count does. The witness may have other requests, which placed windows or created the bucket. Without listed
// events it is the span of the finding.
func (s Sentence) within(f result.Finding, br *limiter.Breach) time.Duration {
	if len(br.Events) == 0 {
		return f.To - f.From
	}
	in := map[int]bool{}
	for _, ev := range br.Events {
		in[ev.Seq] = true
	}
	from, to := Reach(slices.DeleteFunc(slices.Clone(s.Witness),
		func(o history.Observation) bool { return !in[o.Seq] }), s.End)
	for i := range s.Witness {
		if o := &s.Witness[i]; br.Creator != nil && o.Seq == br.Creator.Seq {
			from = min(from, o.Sent)
		}
	}
	return to - from
}

// bucket prints: 100 + floor(10/s * 0.930 s) = 109. The first number is what may be there when the span
// begins: the burst, what a queue releases at once, or the level at which the bucket was created.
func (s Sentence) bucket(br *limiter.Breach) string {
	b := limiter.NewBucket(s.Pol)
	return fmt.Sprintf("%d + floor(%s * %s) = %d", br.Bound-br.Span*b.N/b.Per, s.Pol.Rate,
		seconds(time.Duration(br.Span)), br.Bound)
}

// under prints: request #57 denied at 2.013 s .. 2.014 s; at most 14 of 20 units could have been in use.
func (s Sentence) under(f result.Finding, asked int) string {
	d := s.denial(asked)
	if d == nil {
		return "a denial that nothing explains"
	}
	until := s.End
	if d.Answered {
		until = max(d.FirstByte, d.Sent)
	}
	cost := ""
	if asks := s.Pol.Asks(d.Cost); asks > 1 {
		cost = fmt.Sprintf(" of cost %d", asks)
	}
	return fmt.Sprintf("request #%d%s denied at %s .. %s; at most %d of %d units could have been %s", d.Seq,
		cost, seconds(d.Sent), seconds(until), f.Seen, f.Bound, s.inUse())
}

// inUse returns what the units met by a denied request are said to be.
func (s Sentence) inUse() string {
	switch {
	case s.Pol.InFlight():
		return "in flight"
	case s.Pol.Charge == spec.ChargeCompletion:
		return s.charged()
	}
	return "in use"
}

// charged returns what the units are said to be that a request meets where costs are settled.
func (s Sentence) charged() string {
	if s.Pol.Reserve > 0 {
		return "charged or reserved"
	}
	return "charged"
}

// needs says what a request met that costs are settled for.
func (s Sentence) needs() string {
	if s.Pol.Reserve > 0 {
		return fmt.Sprintf("less than the %d units that it reserves were left", s.Pol.Reserve)
	}
	return "less than one unit was left"
}

// together prints: no order and no decision times explain these 7 requests within 0.020 s together: 4
// allowed, 3 denied.
func (s Sentence) together(f result.Finding, open bool) string {
	none, too := "no order and no decision times", ""
	switch {
	case s.Others > 0:
		none = "no common window start, no order and no decision times"
		too = ", together with the finding of another partition"
		if s.Others > 1 {
			too = fmt.Sprintf(", together with the findings of %d other partitions", s.Others)
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
	for i := range s.Witness {
		if s.Witness[i].Outcome == timeline.Allowed {
			admitted++
		}
	}
	return fmt.Sprintf("%s explain %s within %s together: %d allowed, %d denied%s",
		none, plural(int64(len(s.Witness)), "request", "requests"), seconds(f.To-f.From), admitted, denied,
		too)
}

// outcomes returns the units admitted and the requests denied of the witness.
func (s Sentence) outcomes() (allowed, denied int64) {
	for i := range s.Witness {
		switch s.Witness[i].Outcome {
		case timeline.Allowed:
			allowed += s.Witness[i].Cost
		case timeline.Denied:
			denied++
		}
	}
	return allowed, denied
}

// Phases prints: nothing explains these 9 requests wherever windows of 1s begin.
func (s Sentence) Phases(f result.Finding, box history.Interval) string {
	if limiter.Ranged(s.Pol) || s.Pol.BanTo > 0 || s.Pol.TTLTo > 0 {
		allowed, denied := s.outcomes()
		return fmt.Sprintf("no values within %s explain %s allowed and %d denied within %s together", s.Pol,
			s.units(allowed), denied, seconds(f.To-f.From))
	}
	per := s.Pol.ShortestWindow()
	where := "wherever the windows of " + per.String() + " begin"
	if size := int64(per); box.To-box.From < size-1 {
		where = fmt.Sprintf("for windows of %s that begin between %s and %s", per,
			seconds(time.Duration(history.Mod(box.From, size))),
			seconds(time.Duration(history.Mod(box.From, size)+box.To-box.From)))
	}
	allowed, denied := s.outcomes()
	what := s.units(allowed) + " allowed"
	if denied > 0 {
		what += " and " + strconv.FormatInt(denied, 10) + " denied"
	}
	return fmt.Sprintf("%s within %s; no %s %s (at most %d in a window)",
		what, seconds(f.To-f.From), s.explains(), where, s.Pol.Rate.N)
}

// explains returns the subject: what no phase of the windows does.
func (s Sentence) explains() string {
	switch s.Others {
	case 0:
		return "phase explains that"
	case 1:
		return "common window start explains this partition together with another one,"
	default:
		return fmt.Sprintf("common window start explains this partition together with %d others,", s.Others)
	}
}

// widened prints by how much the span grew in the target's favour, or nothing.
func (s Sentence) widened(within time.Duration, br *limiter.Breach) string {
	w := history.Widen(s.Header, s.Pol.Tick, s.Pol.TickSet)
	if w == (history.Widening{}) || s.Pol.Windowed() || br.Span <= int64(within) {
		return ""
	}
	var why []string
	if w.Tick != 0 {
		why = append(why, "a clock that ticks every "+time.Duration(w.Tick).String())
	}
	if w.Right != 0 {
		why = append(why, "recorders whose clocks are up to "+time.Duration(w.Right).String()+" off")
	}
	if w.DriftPPM != 0 {
		why = append(why, fmt.Sprintf("a drift of up to %d ppm", w.DriftPPM))
	}
	return fmt.Sprintf(" (%s with %s)", seconds(time.Duration(br.Span)), strings.Join(why, " and "))
}

func (s Sentence) units(n int64) string {
	for i := range s.Witness {
		if s.Witness[i].Cost > 1 && s.Pol.Unit != spec.UnitRequest {
			return plural(n, "unit", "units")
		}
	}
	return plural(n, "request", "requests")
}

func (s Sentence) denial(asked int) *history.Observation {
	for i := range s.Witness {
		if s.Witness[i].Seq == asked && s.Witness[i].Outcome == timeline.Denied {
			return &s.Witness[i]
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
