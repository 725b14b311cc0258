package identify

import (
	"math"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/beat"
	"github.com/rlcheck/rlcheck/internal/identify/identity"
	"github.com/rlcheck/rlcheck/internal/identify/plan"
	"github.com/rlcheck/rlcheck/internal/identify/refute"
	"github.com/rlcheck/rlcheck/internal/identify/space"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// A bucket may regain some units at each beat of a timer (Envoy before 1.31, Bucket4j). The timer starts with
// the first request, or runs free of requests. The bounds of the judge tell little about such a bucket, and
// its exact search knows only one time between beats. So package beat follows all timers, for each number of
// units apart. The judge judges what is named, as always. A new client may find such a bucket in use, too.

// timers is the reason where buckets in batches were not refuted.
const timers = "some buckets that a timer fills were neither refuted nor found"

// tardy is the reason where such a bucket nearly explains the recording.
const tardy = "a bucket that a timer fills explains all answers, if its beats may come late"

// batches are the buckets in batches, one region for each number of units at a beat. If all units came back
// at once, it would be a window. full tells that they are full for a new client.
func (x *search) batches(full bool) (out []*space.Region) {
	most, first := undeniedInARow(x.judged()), &x.path.Decided(x.tl).Observations[0]
	for fill := int64(1); fill < most; fill++ {
		b := &space.Beats{First: [2]time.Duration{first.Sent, max(first.Sent, first.FirstByte)},
			Full: full}
		b.Left.Doubtful = []beat.Box{beat.Wide(fill, most, time.Duration(fill)*x.o.Every/2,
			2*x.o.MaxTime)}
		r := &space.Region{Kind: space.BatchKind(fill), Beats: b}
		r.Project()
		out = append(out, r)
	}
	return out
}

// mayBeat says why a bucket in batches may explain a recording that nothing else explains. Some were not
// refuted, or one explains it if beats are sometimes much later than is looked for. Empty: none may.
func (x *search) mayBeat() string {
	if x.unfollowed {
		return timers
	}
	const steps, later = 3_000_000, 5
	one, all := x.judged(), x.batches(x.anew())
	for _, r := range all {
		t := beat.NewTrace(one, r.Beats.Full, refute.Lateness(one), later*space.Late)
		if len(r.Beats.Left.Narrow(t, steps/len(all), x.overdue).Live) > 0 {
			return tardy
		}
	}
	return ""
}

// undeniedInARow is the most requests between two denials.
func undeniedInARow(tl *timeline.Timeline) (most int64) {
	n := int64(0)
	for i := range tl.Observations {
		if n++; tl.Observations[i].Outcome == timeline.Denied {
			n = 0
		}
		most = max(most, n)
	}
	return most
}

// batched returns what is left of a bucket in batches. Its policy explains the recording, with a round time
// if possible.
func (x *search) batched(r *space.Region) identity.Candidate {
	h := r.Hull()
	c := identity.Candidate{Text: r.Kind.Text, Class: slices.Clone(r.Kind.Class), Least: h.T1, Most: h.T2}
	c.Measured.Burst = verdict.Interval{Lo: float64(h.Q1), Hi: float64(h.Q2), LoSet: true, HiSet: true}
	c.Measured.Rate = r.Rate(h)
	p, first, _ := x.timer(r)
	if !first || x.anew() && !r.Beats.Full {
		p.Start = spec.StartUnknown
	}
	c.Limit = spec.Limit{space.Complete(p)}
	return c
}

// timer returns a bucket in batches that explains the recording, with a round time if there is one. first
// tells that its timer started with the first request and is never late. That explains the recording too, and
// a timer that runs free would hardly have beaten just then. open tells that too many timers explain it to
// say so.
func (x *search) timer(r *space.Region) (p spec.Policy, first, open bool) {
	const hardly = 0.01
	h, fill := r.Hull(), time.Duration(r.Kind.Base.Fill)
	m := slices.Concat(r.Beats.Left.Live, r.Beats.Left.Doubtful)[0].Middle()
	apart, _ := m.Apart()
	for _, round := range []time.Duration{space.Amid(h.T1*fill, h.T2*fill), apart.Round(time.Millisecond)} {
		if at := x.at(r, r.Beats.Trace, round, 0, 1); len(at.Live) > 0 && !x.overdue() {
			apart, m = round, at.Live[0]
			break
		}
	}
	g, origin, share := 1/float64(apart), r.Beats.Trace.Origin(), 0.0
	left := x.at(r, r.Beats.Punctual, apart, 0, 1)
	for _, b := range slices.Concat(left.Live, left.Doubtful) {
		share += b.U2 - b.U1
	}
	u1, u2 := float64(origin-r.Beats.First[1])*g, float64(origin-r.Beats.First[0])*g
	turns := math.Ceil(u2) - 1
	share += u2 - u1
	with := x.at(r, r.Beats.Punctual, apart, u1-turns, u2-turns)
	return space.BatchPolicy(r.Kind, m.Least, apart), share < hardly && len(with.Live) > 0,
		share >= hardly && !with.Empty()
}

// at returns what a trace leaves of timers with a time between beats. A share of u1 to u2 of it had passed at
// the origin.
func (x *search) at(r *space.Region, t *beat.Trace, apart time.Duration, u1, u2 float64) beat.Set {
	const steps = 200_000
	h, g := r.Hull(), 1/float64(apart)
	b := beat.Box{Fill: r.Kind.Base.Fill, Least: h.Q1, Most: h.Q2, G1: g, G2: g, U1: u1, U2: u2}
	return beat.Set{Doubtful: []beat.Box{b}}.Narrow(t, steps, x.overdue)
}

// onTheBeat finds out whether the timer of a bucket in batches started with the first request. It uses up the
// bucket and asks once, a little before the next beat of such a timer or a little after it.
var onTheBeat = experiment{name: "beat", most: 4, least: func(*search) int { return 4 },
	phases: (*search).beats, of: func(r *space.Region) bool { return r.Beats != nil }}

func (x *search) beats(made int) []step {
	r := x.regions[0]
	p, _, open := x.timer(r)
	if !open {
		return nil
	}
	use := plan.Phase{Rest: r.Recovery(), Requests: int(2 * r.Hull().Q2), Every: x.every, Denials: 1}
	near := r.Beats.First[0] - x.slack()
	if made%2 > 0 {
		near = r.Beats.First[1] + time.Millisecond
	}
	next := func() time.Duration { // the beat after the next gap
		turns := max(0, (x.s.Now()+x.every-near+p.Rate.Per-1)/p.Rate.Per)
		return near + turns*p.Rate.Per
	}
	return []step{{Phase: use}, {plan.Phase{Rest: p.Rate.Per, Requests: 1, Every: x.every}, next}}
}
