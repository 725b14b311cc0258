package beat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

const ms = time.Millisecond

// timer is a bucket that is filled at each beat. The next beat comes at a time since the recording began.
type timer struct {
	fill, most, level int64
	next, apart       time.Duration
}

func (b *timer) admits(at time.Duration) bool {
	for ; b.next <= at; b.next += b.apart {
		b.level = min(b.most, b.level+b.fill)
	}
	if b.level == 0 {
		return false
	}
	b.level--
	return true
}

// random returns a random timer.
func random(r *rand.Rand) timer {
	most := 2 + r.Int64N(12)
	b := timer{fill: 1 + r.Int64N(most-1), most: most, level: most}
	b.apart = max(time.Duration(100+r.IntN(3000))*ms, time.Duration(b.fill)*100*ms)
	b.next = 1 + time.Duration(r.Int64N(int64(b.apart)))
	return b
}

// record sends bursts after silences. A request takes one to two trips. It is decided at any time until its
// answer, and a share of the answers is lost.
func record(r *rand.Rand, b timer, bursts int, trip time.Duration, lost float64) *timeline.Timeline {
	const late = 500 * ms
	tl, now := &timeline.Timeline{}, time.Duration(0)
	until := func(most time.Duration) time.Duration { return time.Duration(r.Int64N(int64(most) + 1)) }
	for range bursts {
		type decided struct {
			at time.Duration
			timeline.Observation
		}
		var all []decided
		for range b.most + 3 {
			takes := trip + until(trip)
			d := decided{now + until(takes), timeline.Observation{Sent: now, FirstByte: now + takes}}
			d.Answered = r.Float64() >= lost
			all = append(all, d)
			now += 20 * ms
		}
		slices.SortStableFunc(all, func(a, b decided) int { return int(a.at - b.at) })
		for _, d := range all {
			admitted := b.admits(d.at)
			switch {
			case !d.Answered:
				d.FirstByte, d.Outcome = 0, timeline.Unknown
			case admitted:
				d.Outcome = timeline.Allowed
			default:
				d.Outcome = timeline.Denied
			}
			tl.Observations = append(tl.Observations, d.Observation)
		}
		now += late + 2*trip + until(b.apart*time.Duration(1+b.most/b.fill))
	}
	slices.SortStableFunc(tl.Observations, timeline.BySent)
	return tl
}

// holds tells whether some box of s contains the timer.
func (s Set) holds(b timer, origin time.Duration) bool {
	const rounded = 1e-6
	g := 1 / float64(b.apart)
	u := 1 - float64(b.next-origin)*g
	u -= math.Floor(u)
	return slices.ContainsFunc(slices.Concat(s.Live, s.Doubtful), func(o Box) bool {
		return o.Fill == b.fill && o.Least <= b.most && b.most <= o.Most &&
			o.G1 <= g*(1+rounded) && g <= o.G2*(1+rounded) && o.U1 <= u+rounded && u <= o.U2+rounded
	})
}

func wide(fill, most int64) Set {
	return Set{Doubtful: []Box{Wide(fill, most, 20*ms, time.Hour)}}
}

// TestATimerIsNotRefutedByItself: near the target, far from it with overlapping requests, and with lost
// answers.
func TestATimerIsNotRefutedByItself(t *testing.T) {
	const steps = 50_000
	for name, tt := range map[string]struct {
		trip time.Duration
		lost float64
	}{"near": {ms, 0}, "far": {50 * ms, 0}, "lossy": {ms, 0.05}} {
		for seed := range uint64(6) {
			r := rand.New(rand.NewPCG(seed, 1))
			b := random(r)
			tl := record(r, b, 8, tt.trip, tt.lost)
			for _, full := range []bool{true, false} {
				trace := NewTrace(tl, full, 500*ms, 0)
				s := wide(b.fill, b.most+2).Narrow(trace, steps, never)
				if !s.holds(b, trace.Origin()) {
					t.Errorf("%s, seed %d, full %v: %+v is none of the %d boxes that are left", name,
						seed, full, b, len(s.Live)+len(s.Doubtful))
				}
			}
		}
	}
}

// TestABeatAtTheOriginMayHaveComeBefore: a timer that begins with a client that finds one unit was refuted,
// as if its first beat always came after the first request.
func TestABeatAtTheOriginMayHaveComeBefore(t *testing.T) {
	tl := &timeline.Timeline{}
	for i, outcome := range []timeline.Outcome{timeline.Allowed, timeline.Denied} {
		at := time.Duration(i) * 20 * ms
		tl.Observations = append(tl.Observations, timeline.Observation{Sent: at, FirstByte: at + ms,
			Answered: true, Outcome: outcome})
	}
	g := 1 / float64(time.Second)
	trace, begins := NewTrace(tl, false, 500*ms, 5*ms), Box{Fill: 2, Least: 4, Most: 4, G1: g, G2: g}
	if _, may := trace.explains(begins); !may {
		t.Error("got a timer that begins with the first request refuted")
	}
}

func never() bool { return false }

// TestOtherTimersAreRefuted: some bursts refute every wrong number of units at a beat. Of the true number
// they leave the time between beats, to 2 %.
func TestOtherTimersAreRefuted(t *testing.T) {
	const steps, rounds = 100_000, 20
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := random(r)
		trace := NewTrace(record(r, b, 20, ms, 0), true, 500*ms, 0)
		for fill := int64(1); fill < b.most+3; fill++ {
			s := wide(fill, b.most+3)
			for i := 0; i < rounds && len(s.Doubtful) > 0 && len(s.Live) == 0; i++ {
				s = s.Narrow(trace, steps, never)
			}
			if fill != b.fill && !s.Empty() {
				t.Errorf("seed %d: %+v is explained by %d units at a time", seed, b, fill)
			}
			if fill != b.fill {
				continue
			}
			for range 5 {
				s = s.Narrow(trace, steps, never)
			}
			least, most := time.Hour, time.Duration(0)
			for _, o := range slices.Concat(s.Live, s.Doubtful) {
				from, to := o.Apart()
				least, most = min(least, from), max(most, to)
			}
			if len(s.Live) == 0 || least > b.apart || most < b.apart || most > b.apart*102/100 {
				t.Errorf("seed %d: %+v, got %d live of %s to %s", seed, b, len(s.Live), least, most)
			}
		}
	}
}

// TestNoBucketAdmitsMoreThanItHolds: six were admitted at once after each silence, so the bucket holds six.
func TestNoBucketAdmitsMoreThanItHolds(t *testing.T) {
	const steps = 100_000
	b := timer{fill: 2, most: 6, level: 6, next: time.Second, apart: 2 * time.Second}
	trace := NewTrace(record(rand.New(rand.NewPCG(1, 1)), b, 12, ms, 0), false, 500*ms, 0)
	for most, want := range map[int64]bool{5: false, 6: true} {
		s := Set{Doubtful: []Box{Wide(b.fill, most, time.Second, time.Hour)}}.Narrow(trace, steps, never)
		if got := len(s.Live) > 0; got != want || got == s.Empty() {
			t.Errorf("at most %d: got %d live and %d doubtful, want some: %v", most, len(s.Live),
				len(s.Doubtful), want)
		}
	}
}
