package identify

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/beat"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// A bucket may regain some units at each beat of a timer (Envoy before 1.31, Bucket4j). The timer starts with
// the first request, or runs free of requests. The bounds of the judge tell little about such a bucket, and
// its exact search knows only one time between beats. So package beat follows all timers, for each number of
// units apart. The judge judges what is named, as always.

// timers is the reason where buckets in batches were not refuted.
const timers = "some buckets that a timer fills were neither refuted nor found"

// tardy is the reason where such a bucket nearly explains the recording.
const tardy = "a bucket that a timer fills explains all answers, if its beats may come late"

// beats are the timers that are left of a bucket in batches.
type beats struct {
	left beat.Set
	// first is the closed interval in which the first request was decided. full tells that the bucket was
	// full then.
	first [2]time.Duration
	full  bool
	// trace follows a timer whose beats may be late, prompt one whose beats never are.
	trace, prompt *beat.Trace
}

// late is how late a beat may be: the timer of Envoy is set anew at each beat.
const late = 5 * time.Millisecond

// batches are the buckets in batches, one region for each number of units at a beat. If all units came back
// at once, it would be a window.
func (x *search) batches() (out []*region) {
	most, first := undeniedInARow(x.judged()), &x.path.decided(x.tl).Observations[0]
	for fill := int64(1); fill < most; fill++ {
		b := &beats{first: [2]time.Duration{first.Sent, max(first.Sent, first.FirstByte)},
			full: x.o.Fresh && x.skip == 0}
		b.left.Doubtful = []beat.Box{beat.Wide(fill, most, time.Duration(fill)*x.o.Every/2,
			2*x.o.MaxTime)}
		r := &region{kind: batchKind(fill), beats: b}
		r.project()
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
	one, all := x.judged(), x.batches()
	for _, r := range all {
		t := beat.NewTrace(one, r.beats.full, lateness(one), later*late)
		if len(r.beats.left.Narrow(t, steps/len(all), x.overdue).Live) > 0 {
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

// byBeats is narrow for buckets in batches.
func (r *region) byBeats(tl *timeline.Timeline, asked int) {
	const steps, most = 200, 1000
	r.beats.trace = beat.NewTrace(tl, r.beats.full, lateness(tl), late)
	r.beats.prompt = beat.NewTrace(tl, r.beats.full, lateness(tl), 0)
	r.beats.left = r.beats.left.Narrow(r.beats.trace, steps*min(asked, most), r.over)
	r.project()
}

// project makes boxes of r from the timers that are left.
func (r *region) project() {
	boxes := func(all []beat.Box) (out []box) {
		for _, b := range all {
			least, longest := b.Apart()
			out = append(out, box{q1: b.Least, q2: b.Most, t1: least / time.Duration(b.Fill),
				t2: longest/time.Duration(b.Fill) + 1})
		}
		return out
	}
	r.live, r.doubtful = boxes(r.beats.left.Live), boxes(r.beats.left.Doubtful)
}

// timed returns the middle bucket and timer of what is left about b, as a point and as a limiter for a model.
func (r *region) timed(b box) (box, reference.Limiter, error) {
	all := slices.Concat(r.beats.left.Live, r.beats.left.Doubtful)
	i := slices.IndexFunc(slices.Concat(r.live, r.doubtful), func(o box) bool {
		return o.q1 <= b.q1 && b.q1 <= o.q2 && o.t1 <= b.t1 && b.t1 <= o.t2
	})
	m := all[max(i, 0)].Middle()
	apart, _ := m.Apart()
	l, err := reference.New(batchPolicy(r.kind, m.Least, apart))
	b.q1, b.q2, b.t1 = m.Least, m.Least, apart/time.Duration(m.Fill)
	b.t2 = b.t1
	return b, timed{l, r.beats.trace.Origin() - time.Duration(m.U1*float64(apart)), m.Least}, err
}

// timed is a bucket that was created full at an instant.
type timed struct {
	reference.Limiter
	created  time.Duration
	capacity int64
}

// Init asks for more than the bucket ever holds, which takes nothing.
func (t timed) Init() reference.State {
	s, _ := t.Step(t.Limiter.Init(), t.created, t.capacity+1)
	return s
}

// batchPolicy is a bucket with a capacity and a time between beats.
func batchPolicy(k *kind, capacity int64, apart time.Duration) spec.Policy {
	p := k.base
	p.Rate, p.Burst = spec.Rate{N: p.Fill, Per: apart}, capacity
	return complete(p)
}

// batched returns what is left of a bucket in batches. Its policy explains the recording, with a round time
// if possible.
func (x *search) batched(r *region) Candidate {
	h := r.hull()
	c := Candidate{Text: r.kind.text, Class: slices.Clone(r.kind.class), least: h.t1, most: h.t2}
	c.Measured.Burst = verdict.Interval{Lo: float64(h.q1), Hi: float64(h.q2), LoSet: true, HiSet: true}
	c.Measured.Rate = r.rate(h)
	p, first, _ := x.timer(r)
	if !first {
		p.Start = spec.StartUnknown
	}
	c.Limit = spec.Limit{complete(p)}
	return c
}

// timer returns a bucket in batches that explains the recording, with a round time if there is one. first
// tells that its timer started with the first request and is never late. That explains the recording too, and
// a timer that runs free would hardly have beaten just then. open tells that too many timers explain it to
// say so.
func (x *search) timer(r *region) (p spec.Policy, first, open bool) {
	const hardly = 0.01
	h, fill := r.hull(), time.Duration(r.kind.base.Fill)
	m := slices.Concat(r.beats.left.Live, r.beats.left.Doubtful)[0].Middle()
	apart, _ := m.Apart()
	for _, round := range []time.Duration{amid(h.t1*fill, h.t2*fill), apart.Round(time.Millisecond)} {
		if at := x.at(r, r.beats.trace, round, 0, 1); len(at.Live) > 0 && !x.overdue() {
			apart, m = round, at.Live[0]
			break
		}
	}
	g, origin, share := 1/float64(apart), r.beats.trace.Origin(), 0.0
	left := x.at(r, r.beats.prompt, apart, 0, 1)
	for _, b := range slices.Concat(left.Live, left.Doubtful) {
		share += b.U2 - b.U1
	}
	u1, u2 := float64(origin-r.beats.first[1])*g, float64(origin-r.beats.first[0])*g
	turns := math.Ceil(u2) - 1
	share += u2 - u1
	with := x.at(r, r.beats.prompt, apart, u1-turns, u2-turns)
	return batchPolicy(r.kind, m.Least, apart), share < hardly && len(with.Live) > 0,
		share >= hardly && !with.Empty()
}

// at returns what a trace leaves of timers with a time between beats. A share of u1 to u2 of it had passed at
// the origin.
func (x *search) at(r *region, t *beat.Trace, apart time.Duration, u1, u2 float64) beat.Set {
	const steps = 200_000
	h, g := r.hull(), 1/float64(apart)
	b := beat.Box{Fill: r.kind.base.Fill, Least: h.q1, Most: h.q2, G1: g, G2: g, U1: u1, U2: u2}
	return beat.Set{Doubtful: []beat.Box{b}}.Narrow(t, steps, x.overdue)
}

// onTheBeat finds out whether the timer of a bucket in batches started with the first request. It uses up the
// bucket and asks once, a little before the next beat of such a timer or a little after it. It reports false
// where that is known, or was asked often enough.
func (x *search) onTheBeat(ctx context.Context) bool {
	const name, tries = "beat", 4
	if len(x.regions) == 0 || x.regions[0].beats == nil || x.made[name] >= tries {
		return false
	}
	r := x.regions[0]
	p, _, open := x.timer(r)
	if !open || x.s.Now()+2*r.whole() > x.sendUntil() {
		return false
	}
	x.made[name]++
	use := Phase{Name: name, Rest: r.whole(), Requests: int(2 * r.hull().q2), Every: x.every, Denials: 1}
	if !x.send(ctx, use) {
		return false
	}
	at := r.beats.first[0] - x.slack()
	if x.made[name]%2 == 0 {
		at = r.beats.first[1] + time.Millisecond
	}
	for soonest := x.s.Now() + x.every; at < soonest; {
		at += (soonest - at + p.Rate.Per - 1) / p.Rate.Per * p.Rate.Per
	}
	return x.send(ctx, Phase{Name: name, Rest: at - x.s.Now(), Requests: 1, Every: x.every})
}
