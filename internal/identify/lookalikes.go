package identify

import (
	"fmt"
	"math"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/identify/identity"
	"github.com/rlcheck/rlcheck/internal/identify/refute"
	"github.com/rlcheck/rlcheck/internal/identify/space"
	"github.com/rlcheck/rlcheck/internal/identify/trip"
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
func ByOneClock(tl *timeline.Timeline, limit spec.Limit) bool {
	return refute.Asker(nil).BySeconds(tl, limit)
}

// ofWholeSeconds returns the limiters with a clock of whole seconds that explain the recording as the
// measured window does. Such a clock explains so much that it is asked about only here, and not for windows
// over 30 s. If the window may last whole seconds, requests must have been sent. It must also be one of
// offbeats, or be named otherwise. If the window is not by the clock, answers must state a limit, and it must
// be no multiple of half a second.
func (x *search) ofWholeSeconds(c identity.Candidate) (out []identity.Candidate) {
	const longest = 30 * time.Second
	if p := c.Limit[0]; !p.HasWindow() || c.Most > longest || c.Lasts(time.Second) && !x.offbeats(p) &&
		(x.recorded() || p.Rate.Per%time.Second == 0) {
		return nil
	}
	if c.Limit[0].Align != spec.AlignUnknown && (len(identity.Told(x.tl)) == 0 || c.Lasts(time.Second/2)) {
		return nil
	}
	tl := x.judged()
	for _, k := range coarseKinds {
		if x.overdue() {
			break
		}
		for _, beside := range []time.Duration{0, time.Second, -time.Second} { // the nearest first
			w := max(c.Least.Truncate(time.Second)+beside, time.Second)
			limit, err := spec.Parse(fmt.Sprintf(k.spec, c.Limit[0].Rate.N, w))
			if err == nil && x.asker.Explains(tl, limit) &&
				(x.recorded() || x.asker.BySeconds(tl, limit)) {
				out = append(out, identity.Candidate{Text: k.text + byTheSecond,
					Class: []spec.Algorithm{limit[0].Algorithm}, Limit: limit, Measured: c.Measured,
					Least: w, Most: w})
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
func (x *search) asProlonged(c identity.Candidate) *prolonged {
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
func rivalBans(c identity.Candidate) (out []prolonged) {
	inside := c.Limit[0]
	inside.Align = spec.AlignFirst
	if inside.Ban > 0 {
		inside.Align = c.Limit[0].Align
		inside.Ban, inside.BanTo = 0, 0
		for i := range time.Duration(5) {
			out = append(out, prolonged{inside, c.BanLeast + (c.BanMost-c.BanLeast)*i/4, 0})
		}
		for ban := c.BanLeast.Truncate(time.Second); ban <= c.BanMost+time.Second; ban += time.Second {
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
		for ban := time.Second; ban <= min(2*c.Most, longest) && !c.Lasts(time.Second/2); ban += time.Second {
			for inside.Rate.Per = time.Second; inside.Rate.Per <= ban; inside.Rate.Per += time.Second {
				out = append(out, prolonged{inside, ban, time.Second})
			}
		}
		for _, share := range []time.Duration{25, 50, 67, 80} { // a share of 100 is c itself
			inside.Rate.Per = (c.Least + c.Most) / 200 * share
			for i := range time.Duration(5) {
				exact = append(exact, prolonged{inside, c.Least + (c.Most-c.Least)*i/4, 0})
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
func (x *search) inFlight() *identity.Candidate {
	if x.path == nil {
		tl := x.judged()
		return heldFor(x.asker, tl, leastUnderWay(tl), "")
	}
	const parts = 32
	all := *x.tl
	all.Observations = all.Observations[x.skip:]
	tl, floor := refute.Certain(&all), x.path.Floor
	for open := [][2]time.Duration{{0, floor}}; len(open) > 0; {
		held := open[len(open)-1]
		open = open[:len(open)-1]
		part := (&trip.Steady{Floor: floor - held[1]}).Decided(tl)
		for n := leastUnderWay(part); n > 0; n-- {
			c := heldFor(x.asker, part, n, fmt.Sprintf(",hold=%s..,linger=0s", held[0]))
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
	least, all := int64(len(tl.Observations)), refute.PlacesOf(tl)
	for i := range tl.Observations {
		if o := &tl.Observations[i]; o.Outcome == timeline.Denied {
			least = min(least, all.Held(o.Partition, o.Sent, max(o.FirstByte, o.Sent)))
		}
	}
	return least
}

// heldFor returns the limit of so many requests in flight if it explains a recording; else nil. held is what
// a SPEC says about how long each request holds its place.
func heldFor(a refute.Asker, tl *timeline.Timeline, limit int64, held string) *identity.Candidate {
	l, err := spec.Parse(fmt.Sprintf("%s,limit=%d%s", space.InFlightClass[0], limit, held))
	if err != nil {
		return nil
	}
	if no := a.Ask(func() bool {
		no, _ := check.Refuted(tl, l, verdict.Exact, true)
		return no
	}); no {
		return nil
	}
	out := &identity.Candidate{Text: "a limit of requests in flight", Class: space.InFlightClass,
		Limit: spec.Limit{space.Complete(
			spec.Policy{Algorithm: space.InFlightClass[0], Rate: spec.Rate{N: limit}})}}
	out.Measured.Burst = verdict.Interval{Lo: 1, Hi: float64(limit), LoSet: true, HiSet: true}
	return out
}

// heldBack tells of a limit of requests in flight where one explains all. In a queue all waiting requests are
// in flight, so it is not told there.
func (x *search) heldBack(res *identity.Result) {
	if x.withoutQueue != nil || x.asker.Over() {
		return
	}
	if c := x.inFlight(); c != nil {
		why := x.fromNearer(res.Found)
		res.Verdict, res.Stopped, res.Nearer = identity.Open, inFlightToo+why, why != ""
		res.Found, res.Gone, res.Sharper, res.Also = append(res.Found, *c), nil, nil, nil
	}
}
