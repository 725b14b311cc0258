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

// A bucket may regain some units at each beat of a timer (Envoy before 1.31, Bucket4j). The timer begins with
// the first request, or runs free of it. The bounds of the judge see little of such a bucket, and its exact
// search knows one time between beats alone. So all timers are followed by package beat, for each number of
// units apart. What is named is judged as everything else.

// timers is why buckets in batches are not refuted.
const timers = "some buckets that a timer fills were neither refuted nor found"

// tardy is why nothing is called unknown where such a bucket nearly explains the recording.
const tardy = "a bucket that a timer fills explains all answers, if its beats may come late"

// beats are the timers that are left of a bucket in batches.
type beats struct {
	left beat.Set
	// first are the ends of the time in which the first request was decided. full tells that the bucket was
	// full then.
	first [2]time.Duration
	full  bool
	// trace is what the timers are followed by, and prompt that of a timer that is never late.
	trace, prompt *beat.Trace
}

// late is how late the beat of a timer may come: that of Envoy is set anew at each beat.
const late = 5 * time.Millisecond

// batches are the buckets in batches, of each number of units that come back at a time. As many as all that
// was admitted at once are a window.
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

// mayBeat says why a recording that nothing explains may be of a bucket in batches: some were not refuted, or
// explain it where timers are much later now and then than is looked for. Empty: it is of none.
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

// undeniedInARow is how many requests were not denied between two denials, at most.
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

// project takes what is left of timers for what is left of r.
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

// timed is the bucket and timer in the middle of what is left about b, as the limiter that a model has.
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

// timed is a bucket that was created, full, at an instant.
type timed struct {
	reference.Limiter
	created  time.Duration
	capacity int64
}

// Init asks for more than there ever is, which takes nothing.
func (t timed) Init() reference.State {
	s, _ := t.Step(t.Limiter.Init(), t.created, t.capacity+1)
	return s
}

// batchPolicy is a bucket that holds so much, with beats so far apart.
func batchPolicy(k *kind, capacity int64, apart time.Duration) spec.Policy {
	p := k.base
	p.Rate, p.Burst = spec.Rate{N: p.Fill, Per: apart}, capacity
	return complete(p)
}

// batched is what is left of a bucket in batches, with one that explains the recording, of a round time if
// there is one.
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

// timer is a bucket in batches that explains the recording, of a round time if there is one. It tells whether
// its timer began with the first request and is never late: that explains all too, and a timer that runs free
// of requests would hardly have beaten just then. It is open while too many of those explain all to say so.
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

// at is what a trace leaves of timers with beats so far apart, of which a share from u1 to u2 was over at the
// origin.
func (x *search) at(r *region, t *beat.Trace, apart time.Duration, u1, u2 float64) beat.Set {
	const steps = 200_000
	h, g := r.hull(), 1/float64(apart)
	b := beat.Box{Fill: r.kind.base.Fill, Least: h.q1, Most: h.q2, G1: g, G2: g, U1: u1, U2: u2}
	return beat.Set{Doubtful: []beat.Box{b}}.Narrow(t, steps, x.overdue)
}

// onTheBeat asks, where a bucket in batches was found, for all of it, and then once a little before the next
// beat of a timer that began with the first request, or a little after it. It reports false where it is known
// whether the timer did, or that was asked often enough.
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
