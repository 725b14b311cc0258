package identify

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// Lookalikes explain a recording as the found limit does, but no experiment narrows them. Beside one of them
// nothing is named.

// wholeSeconds is the reason where a window is no whole number of seconds, and a lookalike explains all.
const wholeSeconds = "the measured window is not a whole number of seconds, but a clock of whole " +
	"seconds explains all answers too"

// coarseKinds are limiters of products whose clock has whole seconds, for a quota and a window: fiber and
// Laravel; gin-rate-limit and PocketBase; the sliding windows of fiber in version 2 and version 3.
var coarseKinds = []struct{ text, spec string }{
	{"a fixed window by the first request", "fixed-window,rate=%d/%s,align=first,tick=1s"},
	{"a fixed window that every admitted request starts anew",
		"fixed-window,rate=%d/%s,align=first,refresh=admitted,tick=1s"},
	{"a sliding window counter that counts denied requests too",
		"sliding-window-counter,rate=%d/%s,align=first,count=all,rounding=down,tick=1s"},
	{"a sliding window counter that counts denied requests too and rounds up",
		"sliding-window-counter,rate=%d/%s,align=first,count=all,rounding=up,tick=1s"},
}

// byTheSecond says what clock such a limiter has.
const byTheSecond = ", by a clock of whole seconds"

// OfWholeSeconds returns the limiters of such products with a quota and a window, the window rounded to whole
// seconds down and up. There are none where the quota is below 1.
func OfWholeSeconds(quota int64, window time.Duration) (out []verdict.Explanation) {
	windows := []time.Duration{window.Truncate(time.Second)}
	if windows[0] != window {
		windows = append(windows, windows[0]+time.Second)
	}
	for _, k := range coarseKinds {
		for _, w := range windows {
			if limit, err := spec.Parse(fmt.Sprintf(k.spec, quota, w)); err == nil {
				out = append(out, verdict.Explanation{Text: k.text + byTheSecond, Limit: limit})
			}
		}
	}
	return out
}

// ByOneClock tells whether one clock of whole seconds explains a recording with a limit of OfWholeSeconds
// against which the judge finds nothing. It says yes to recordings of several clients.
func ByOneClock(tl *timeline.Timeline, limit spec.Limit) bool { return asker(nil).bySeconds(tl, limit) }

// ofWholeSeconds returns the limiters with a clock of whole seconds that explain the recording as the
// measured window does. Such a clock explains so much that it is asked about only here, and not for windows
// over 30 s. If the window may last whole seconds, requests must have been sent. It must also be one of
// offbeats, or be named otherwise. If the window is not by the clock, answers must state a limit, and it must
// be no multiple of half a second.
func (x *search) ofWholeSeconds(c Candidate) (out []Candidate) {
	const longest = 30 * time.Second
	if p := c.Limit[0]; !p.HasWindow() || c.most > longest || c.lasts(time.Second) && !x.offbeats(p) &&
		(x.recorded() || p.Rate.Per%time.Second == 0) {
		return nil
	}
	if c.Limit[0].Align != spec.AlignUnknown && (len(Told(x.tl)) == 0 || c.lasts(time.Second/2)) {
		return nil
	}
	tl := x.judged()
	for _, k := range coarseKinds {
		if x.overdue() {
			break
		}
		for _, beside := range []time.Duration{0, time.Second, -time.Second} { // the nearest first
			w := max(c.least.Truncate(time.Second)+beside, time.Second)
			limit, err := spec.Parse(fmt.Sprintf(k.spec, c.Limit[0].Rate.N, w))
			if err == nil && x.asker.explains(tl, limit) &&
				(x.recorded() || x.asker.bySeconds(tl, limit)) {
				out = append(out, Candidate{Text: k.text + byTheSecond,
					Class: []spec.Algorithm{limit[0].Algorithm}, Limit: limit, Measured: c.Measured,
					least: w, most: w})
				break
			}
		}
	}
	return out
}

// offbeats tells whether p are windows by the clock that last whole seconds. A clock of whole seconds
// resembles these, and requests can tell the two apart.
func (x *search) offbeats(p spec.Policy) bool {
	return !x.recorded() && p.Fixed() && p.Align == spec.AlignUnknown && p.Rate.Per%time.Second == 0 &&
		p.Rate.Per >= 2*time.Second && p.Rate.Per <= 30*time.Second
}

// bySeconds tells whether one clock of whole seconds explains a recording, wherever its seconds begin. With
// tick=1s the judge may read each request a second early, apart from all others, so it refutes little. Here
// the place of the seconds is divided, and each request gets the readings that are possible there.
func (a asker) bySeconds(tl *timeline.Timeline, limit spec.Limit) bool {
	const first, finest, most = time.Second / 16, time.Millisecond, 500
	if several(tl) { // each client may have a clock of its own
		return true
	}
	exact := slices.Clone(limit)
	exact[0].Tick, exact[0].TickSet = 0, false
	var open [][2]time.Duration
	for from := time.Second; from < 2*time.Second; from += first { // late ones read the second before
		open = append(open, [2]time.Duration{from, from + first})
	}
	for range most {
		if len(open) == 0 || a.over() {
			return a.over()
		}
		last := len(open) - 1
		from, to := open[last][0], open[last][1]
		open = open[:last]
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
func (a asker) contradicts(tl *timeline.Timeline, limit spec.Limit, from, to time.Duration) bool {
	stray := strays(&tl.Header, from, to)
	if oneByOne(tl) {
		return !followed(inSeconds(tl, from, to), limit, stray)
	}
	if stray { // any request may be read in the next second
		to += time.Second
	}
	read := inSeconds(tl, from, to)
	sure := read.Counts().Unknown == 0 || slowest(read) >= time.Second // a lost one is read within two
	return sure && (a.refuted(read, limit, verdict.Exact, false) ||
		a.refuted(read, limit, verdict.Exact, true))
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

// lasts tells whether the window of c may be a multiple of unit.
func (c Candidate) lasts(unit time.Duration) bool { return c.most.Truncate(unit) >= c.least }

// prolonging is the reason where a ban that every request prolongs explains the recording.
const prolonging = "a ban that every request prolongs, which no SPEC has, explains all answers too: %s"

// prolonged is a limiter that denies once a window is full, until no request comes for the time of ban. Its
// clock reads multiples of tick; 0: any time.
type prolonged struct {
	inside    spec.Policy
	ban, tick time.Duration
}

// String describes the limiter for people.
func (p prolonged) String() string {
	text := p.inside.String() + ", and then a ban of " + p.ban.String()
	if p.tick > 0 {
		text += ", by a clock of whole seconds"
	}
	return text
}

// asProlonged returns a ban that every request prolongs, if one explains the recording as c does; else nil.
// Apache's mod_evasive has such a ban, in whole seconds. A ban of 4s was named a window of 3.15s that
// requests start anew, since it ends after 3 to 4 s.
func (x *search) asProlonged(c Candidate) *prolonged {
	tl := x.judged()
	for _, p := range rivalBans(c) {
		if x.overdue() {
			break
		}
		for _, lost := range []bool{false, true} {
			const phases = 100
			if lost && tl.Counts().Unknown == 0 {
				break
			}
			for i := range time.Duration(phases) {
				if p.explains(tl, p.tick*i/phases, lost) {
					return &p
				}
				if p.tick == 0 {
					break
				}
			}
		}
	}
	return nil
}

// rivalBans are the bans that every request prolongs and that resemble c. It leaves out those that are c
// itself. It leaves out clocks of whole seconds where c may last half seconds, since such bans nearly do.
func rivalBans(c Candidate) (out []prolonged) {
	inside := c.Limit[0]
	inside.Align = spec.AlignFirst
	if inside.Ban > 0 {
		inside.Align = c.Limit[0].Align
		inside.Ban, inside.BanTo = 0, 0
		for i := range time.Duration(5) {
			out = append(out, prolonged{inside, c.longLeast + (c.longMost-c.longLeast)*i/4, 0})
		}
		for ban := c.longLeast.Truncate(time.Second); ban <= c.longMost+time.Second; ban += time.Second {
			out = append(out, prolonged{inside, max(ban, time.Second), time.Second})
		}
		return out
	}
	if !inside.Windowed() {
		return nil
	}
	var exact []prolonged // those of a clock of whole seconds come first
	for _, inside.Refresh = range []spec.Refresh{spec.RefreshAdmitted, ""} {
		const longest = 30 * time.Second
		for ban := time.Second; ban <= min(2*c.most, longest) && !c.lasts(time.Second/2); ban += time.Second {
			for inside.Rate.Per = time.Second; inside.Rate.Per <= ban; inside.Rate.Per += time.Second {
				out = append(out, prolonged{inside, ban, time.Second})
			}
		}
		for _, share := range []time.Duration{25, 50, 67, 80} { // a share of 100 is c itself
			inside.Rate.Per = (c.least + c.most) / 200 * share
			for i := range time.Duration(5) {
				exact = append(exact, prolonged{inside, c.least + (c.most-c.least)*i/4, 0})
			}
		}
	}
	return append(out, exact...)
}

// explains tells whether p decides as recorded, each request at its middle, its beginning or its end. Its
// clock is ahead by phase. lost tells that requests without an answer arrived.
func (p prolonged) explains(tl *timeline.Timeline, phase time.Duration, lost bool) bool {
	l, err := reference.New(p.inside)
	if err != nil {
		return false
	}
	state, until := l.Init(), time.Duration(math.MinInt64)
	decide := func(at time.Duration) (reference.State, bool) {
		if at < until {
			return state, false
		}
		s, d := l.Step(state, at, 1)
		return s, d.Allow
	}
	for i := range tl.Observations {
		o := &tl.Observations[i]
		if o.Outcome == timeline.Unknown && !lost {
			continue
		}
		right := false
		for _, at := range []time.Duration{o.Sent + (o.FirstByte-o.Sent)/2, o.Sent, o.FirstByte} {
			if at += phase; p.tick > 0 {
				at = at.Truncate(p.tick)
			}
			s, allowed := decide(at)
			if o.Outcome != timeline.Unknown && allowed != (o.Outcome == timeline.Allowed) {
				continue
			}
			if state, right = s, true; !allowed {
				until = at + p.ban
			}
			break
		}
		if !right {
			return false
		}
	}
	return true
}

// A limit of requests in flight denies only while others are in flight. Requests some time apart do not tell
// how many it admits at once, since nobody knows how long each held its place. So it is no kind for
// experiments to narrow. Where one explains every denial, it is told beside the found limit.

// inFlightToo is the reason where a limit of requests in flight explains the recording.
const inFlightToo = "each denial came while other requests were in flight, so a limit of requests in " +
	"flight explains all answers"

// inFlight returns a limit of requests in flight that explains the whole recording; nil where none does. On a
// steady path, nobody knows for how much of the path a request holds its place. That time is divided until
// each part is refuted, or a small one is not.
func (x *search) inFlight() *Candidate {
	if x.path == nil {
		tl := x.judged()
		return x.asker.heldFor(tl, leastUnderWay(tl), "")
	}
	const parts = 32
	all := *x.tl
	all.Observations = all.Observations[x.skip:]
	tl, floor := certain(&all), x.path.Floor
	for open := [][2]time.Duration{{0, floor}}; len(open) > 0; {
		held := open[len(open)-1]
		open = open[:len(open)-1]
		part := (&Steady{Floor: floor - held[1]}).decided(tl)
		for n := leastUnderWay(part); n > 0; n-- {
			c := x.asker.heldFor(part, n, fmt.Sprintf(",hold=%s..,linger=0s", held[0]))
			if c == nil {
				continue
			}
			if held[1]-held[0] <= floor/parts || x.overdue() {
				return c
			}
			middle := held[0] + (held[1]-held[0])/2
			open = append(open, [2]time.Duration{held[0], middle}, [2]time.Duration{middle, held[1]})
			break
		}
	}
	return nil
}

// leastUnderWay is the least number of requests that may have been in flight at any denial.
func leastUnderWay(tl *timeline.Timeline) int64 {
	least, all := int64(len(tl.Observations)), placesOf(tl)
	for i := range tl.Observations {
		if o := &tl.Observations[i]; o.Outcome == timeline.Denied {
			least = min(least, all.held(o.Partition, o.Sent, max(o.FirstByte, o.Sent)))
		}
	}
	return least
}

// heldFor returns the limit of so many requests in flight if it explains a recording; else nil. held is what
// a SPEC says about how long each request holds its place.
func (a asker) heldFor(tl *timeline.Timeline, limit int64, held string) *Candidate {
	l, err := spec.Parse(fmt.Sprintf("%s,limit=%d%s", inFlightClass[0], limit, held))
	if err != nil {
		return nil
	}
	if no := a.ask(func() bool {
		no, _ := check.Refuted(tl, l, verdict.Exact, true)
		return no
	}); no {
		return nil
	}
	out := &Candidate{Text: "a limit of requests in flight", Class: inFlightClass,
		Limit: spec.Limit{complete(spec.Policy{Algorithm: inFlightClass[0], Rate: spec.Rate{N: limit}})}}
	out.Measured.Burst = verdict.Interval{Lo: 1, Hi: float64(limit), LoSet: true, HiSet: true}
	return out
}

// heldBack tells of a limit of requests in flight where one explains all. In a queue all waiting requests are
// in flight, so it is not told there.
func (x *search) heldBack(res *Result) {
	if x.aside != nil || x.asker.over() {
		return
	}
	if c := x.inFlight(); c != nil {
		why := x.fromNearer(res.Found)
		res.Verdict, res.Stopped, res.Nearer = Open, inFlightToo+why, why != ""
		res.Found, res.Gone, res.Sharper, res.Also = append(res.Found, *c), nil, nil, nil
	}
}

// crowd is the most requests that may have been in flight at once.
func (r *Result) crowd() (most int64) {
	all := placesOf(r.Timeline)
	for i := range r.Timeline.Observations {
		o := &r.Timeline.Observations[i]
		n := all.held(o.Partition, o.Sent, o.Sent)
		if o.Outcome == timeline.Denied { // it was in flight too, but held no place
			n++
		}
		most = max(most, n)
	}
	return most
}

// undenied is the reason where a limit denied nothing.
const undenied = "no request was denied"

// undenied says which limits a recording without a denial would not have shown.
func (r *Result) undenied() string {
	b := r.unseen()
	text := fmt.Sprintf(undenied+": a limit above %s in %s, or of more than %d in flight, would not "+
		"have been seen", quantity.Plural(int(b.requests), "request"), quantity.Brief(b.within), r.crowd())
	lost, word := 0, ""
	for o := range r.Timeline.All() {
		if !o.Answered && timeline.NoAnswer(o.Error) {
			lost, word = lost+1, o.Error
		}
	}
	if lost > 0 {
		text += fmt.Sprintf(", but %s got no answer (%s), which may be a way to deny (rlcheck run judges "+
			"that with --set denied.unanswered=true)", quantity.Plural(lost, "request"), word)
	}
	return text
}
