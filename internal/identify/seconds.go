package identify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// ticking is a kind of limiter whose clock has whole seconds: a SPEC without its rate.
type ticking struct{ text, form string }

// coarseKinds are limiters of products whose clock has whole seconds, for a quota and a window: fiber and
// Laravel; gin-rate-limit and PocketBase; the sliding windows of fiber in version 2 and version 3.
var coarseKinds = []ticking{
	{text: "a fixed window by the first request", form: "fixed-window,rate=%s,align=first,tick=1s"},
	{text: "a fixed window that every admitted request starts anew",
		form: "fixed-window,rate=%s,align=first,refresh=admitted,tick=1s"},
	{text: "a sliding window counter that counts denied requests too",
		form: "sliding-window-counter,rate=%s,align=first,count=all,rounding=down,tick=1s"},
	{text: "a sliding window counter that counts denied requests too and rounds up",
		form: "sliding-window-counter,rate=%s,align=first,count=all,rounding=up,tick=1s"},
}

// aSecond says what clock such a limiter has.
const aSecond = ", by a clock of whole seconds"

// longestCoarse is the longest window by a clock of whole seconds: in longer ones a second explains little.
const longestCoarse = 30 * time.Second

// ticking returns the limiters with a clock of whole seconds and one of some quotas that explain the
// recording. Their windows explain those of least to most: they last up to a second less than they say.
func (x *search) ticking(least, most time.Duration, quotas ...int64) (out []Candidate) {
	tl, late := x.judged(), x.late()
	for _, q := range quotas {
		for _, k := range coarseKinds {
			for w := max(least.Truncate(time.Second), time.Second); w < most+time.Second; w += time.Second {
				limit, err := spec.Parse(fmt.Sprintf(k.form, fmt.Sprintf("%d/%s", q, w)))
				if err != nil || late() || !x.ticks(tl, limit, late) {
					continue
				}
				c := Candidate{Text: k.text + aSecond, Limit: limit, Round: true, Least: w, Most: w}
				c.Class = []spec.Algorithm{limit[0].Algorithm}
				c.Measured.Burst = between(float64(q), float64(q))
				c.Measured.Rate = between(float64(q)/w.Seconds(), float64(q)/w.Seconds())
				out = append(out, c)
			}
		}
	}
	return out
}

// byTheSecond returns the limiters with a clock of whole seconds that explain the recording as what is left
// of a kind of windows does; of windows above 10 s none, as few of those refute what a second shortens. A
// fixed window of 1 s that begins with a second of a clock is one by the clock.
func (x *search) byTheSecond(r *Region) []Candidate {
	h := r.Hull()
	if !r.Kind.Base.HasWindow() || h.Q1 < h.Q2 || h.T2 > longestCoarse/3 {
		return nil
	}
	return slices.DeleteFunc(x.ticking(h.T1, h.T2, h.Q1), func(c Candidate) bool {
		p := c.Limit[0]
		return r.Kind.Base.Align == spec.AlignUnknown && p.Fixed() && p.Rate.Per == time.Second
	})
}

// ticks tells whether a limit with a clock of whole seconds explains the recording. What is refuted stays so.
func (x *search) ticks(tl *timeline.Timeline, l spec.Limit, late func() bool) bool {
	name := l.String()
	if !x.untrue[name] && (!x.asker.Explains(tl, l) || !x.asker.BySeconds(tl, l, late)) {
		x.untrue[name] = true
	}
	return !x.untrue[name]
}

// inARow returns the numbers of requests that were admitted in a row before a denial, the most frequent
// first, and the largest.
func inARow(tl *timeline.Timeline) (out []int64) {
	const most = 3
	often, n := map[int64]int{}, int64(0)
	for i := range tl.Observations {
		switch o := &tl.Observations[i]; {
		case i > 0 && o.Sent-tl.Observations[i-1].Sent > time.Second/2:
			n = 0
		case o.Outcome == timeline.Denied && n > 0:
			often[n]++
			n = 0
		}
		if tl.Observations[i].Outcome == timeline.Allowed {
			n++
		}
	}
	out = slices.Sorted(maps.Keys(often))
	if len(out) == 0 {
		return nil
	}
	largest := out[len(out)-1] // a whole quota
	slices.SortStableFunc(out, func(a, b int64) int { return often[b] - often[a] })
	if out = out[:min(most, len(out))]; !slices.Contains(out, largest) {
		out = append(out, largest)
	}
	return out
}

// tick asks the limiters with a clock of whole seconds once every usual kind is refuted. It makes an
// experiment that several of them may not explain, or reports false.
func (x *search) tick(ctx context.Context) bool {
	if len(x.regions) > 0 && !x.unlikely() || x.recorded() {
		return false
	}
	most := confirming
	x.ticked = x.ticking(time.Second, min(longestCoarse, 2*x.tl.End()), inARow(x.judged())...)
	if x.widened = true; len(x.ticked) != 1 {
		most = len(usualRests)
	}
	if len(x.ticked) == 0 {
		return false
	}
	x.regions = nil // usual kinds were only doubtful
	return x.steady(ctx) || x.usualExperiment(ctx, most)
}

// BySeconds tells whether one clock of whole seconds explains a recording, wherever its seconds begin. With
// tick=1s the judge may read each request a second early, apart from all others, so it refutes little. Here
// the place of the seconds is divided, and each request gets the readings that are possible there.
// It says yes once it is late.
func (a Asker) BySeconds(tl *timeline.Timeline, limit spec.Limit, late func() bool) bool {
	const first, finest = time.Second / 16, time.Millisecond
	if Several(tl) { // each client may have a clock of its own
		return true
	}
	exact := slices.Clone(limit)
	exact[0].Tick, exact[0].TickSet = 0, false
	if p := &exact[0]; p.Weighs() && p.Rate.Per == time.Second { // each window is a second of the clock
		p.Align, p.PhaseFrom, p.PhaseTo = spec.AlignPhase, 0, 0
	}
	var open [][2]time.Duration
	last, most := 2*time.Second, 500
	if p := limit[0]; p.Windowed() && p.Align == spec.AlignUnknown { // they may begin in any second
		last, most = time.Second+p.Rate.Per, most*int(1+p.Rate.Per/time.Second)
	}
	for from := time.Second; from < last; from += first { // late ones read the second before
		open = append(open, [2]time.Duration{from, from + first})
	}
	for range most {
		if len(open) == 0 {
			return false
		}
		if late() {
			return true
		}
		end := len(open) - 1
		from, to := open[end][0], open[end][1]
		open = open[:end]
		if a.contradicts(tl, exact, from, to) {
			continue
		}
		if to-from <= finest {
			return true
		}
		middle := from + (to-from)/2
		open = append(open, [2]time.Duration{from, middle}, [2]time.Duration{middle, to})
	}
	return true
}

// contradicts tells whether no clock of whole seconds that is ahead by from to to explains a recording.
func (a Asker) contradicts(tl *timeline.Timeline, limit spec.Limit, from, to time.Duration) bool {
	const most = 300 // requests of a second have no order then, so the search grows with their number
	stray := strays(&tl.Header, from, to)
	if oneByOne(tl) {
		return !followed(inSeconds(tl, from, to), limit, stray)
	}
	if stray { // any request may be read in the next second
		to += time.Second
	}
	read := inSeconds(tl, from, to)
	sure := read.Counts().Unknown == 0 || Slowest(read) >= time.Second // a lost one is read within two
	return sure && (a.Refuted(read, limit, result.Exact, false) ||
		len(read.Observations) <= most && a.Refuted(read, limit, result.Exact, true))
}

// oneByOne tells whether each request was sent after the previous answer.
func oneByOne(tl *timeline.Timeline) bool {
	for i := range tl.Observations {
		o := &tl.Observations[i]
		if !o.Answered || i > 0 && o.Sent < tl.Observations[i-1].FirstByte {
			return false
		}
	}
	return true
}

// reading is what a limit may remember after a request, and what its clock of whole seconds read: at, in the
// second that began with tick.
type reading struct {
	state    reference.State
	tick, at time.Duration
}

// followed tells whether a limit may have decided so on requests that came one after the other. It tries all
// times that its clock of whole seconds may have read, which never goes back. A clock that strays reads the
// next second throughout some seconds. It says yes where there are too many readings.
func followed(read *timeline.Timeline, limit spec.Limit, stray bool) bool {
	const most = 500
	l, err := reference.NewLimit(limit)
	if err != nil {
		return true
	}
	ways := map[reading]bool{{state: l.Init()}: true}
	for i := range read.Observations {
		o, next := &read.Observations[i], map[reading]bool{}
		for w := range ways {
			for _, r := range w.later(o.Sent, o.FirstByte, stray) {
				s, d := l.Step(r.state, r.at, 1)
				if o.Outcome == timeline.Unknown { // decided or not
					next[r] = true
				} else if d.Allow != (o.Outcome == timeline.Allowed) {
					continue
				}
				r.state = s
				next[r] = true
			}
		}
		if ways = next; len(ways) == 0 || len(ways) > most {
			break
		}
	}
	return len(ways) > 0
}

// later are the readings after r of a request in one of the seconds from first to last.
func (r reading) later(first, last time.Duration, stray bool) (out []reading) {
	for tick := max(r.tick, first); tick <= last; tick += time.Second {
		if stray && tick == r.tick {
			out = append(out, r)
			continue
		}
		out = append(out, reading{r.state, tick, max(r.at, tick)})
		if stray {
			out = append(out, reading{r.state, tick, tick + time.Second})
		}
	}
	return out
}

// timerLate is how late a timer that sets a clock may be.
const timerLate = 50 * time.Millisecond

// strays tells whether a clock that is ahead by from to to is set shortly before a second ends, so that a
// late timer finds the next one. It is false for a target whose wall clock is not ours: there nobody knows.
func strays(h *timeline.Header, from, to time.Duration) bool {
	if h.WallError > timerLate {
		return false
	}
	begin := time.Duration(h.Started.Add(-to - h.WallError).Nanosecond())
	return begin+to-from+2*h.WallError >= time.Second-timerLate
}

// inSeconds is a recording with the times that a clock of whole seconds reads which is ahead by from to to.
// Some such clocks are set by a timer, which may be late.
func inSeconds(tl *timeline.Timeline, from, to time.Duration) *timeline.Timeline {
	out, h := *tl, tl.Header
	out.Header.Tick, out.Header.DriftPPM = 0, 0
	slack := func(at time.Duration) time.Duration { return h.Tick + at/1_000_000*time.Duration(h.DriftPPM) }
	out.Observations = slices.Clone(tl.Observations)
	for i := range out.Observations {
		o := &out.Observations[i]
		o.Sent = max(0, o.Sent-slack(o.Sent)-timerLate+from).Truncate(time.Second)
		if o.At = o.Sent; o.Answered {
			o.FirstByte = (o.FirstByte + slack(o.FirstByte) + to).Truncate(time.Second)
			o.Done = max(o.FirstByte, (o.Done + slack(o.Done) + to).Truncate(time.Second))
		}
	}
	out.Header.Ended = max(out.End(), (h.Ended + slack(h.Ended) + to).Truncate(time.Second))
	return &out
}
