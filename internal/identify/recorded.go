package identify

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// mostRecorded is how many observations of several recordings are judged together.
const mostRecorded = 5000

// Recorded finds out which limit made recordings, and sends nothing. It uses the options Fresh, Sharp and
// Think, and takes about twice Think. Recordings that tell nothing are Open.
func Recorded(ctx context.Context, all []*timeline.Timeline, o Options) *Result {
	tl := together(all)
	if o.Cost = oneCost(tl); o.Cost > 1 {
		tl.Observations = slices.Clone(tl.Observations)
		for i := range tl.Observations {
			tl.Observations[i].Cost = 1
		}
	}
	o.MaxRequests, o.Every = max(1, len(tl.Observations)), time.Millisecond
	o.MaxTime = max(tl.End(), time.Second)
	x := begun(&replay{tl: tl}, o, ctx.Done())
	x.tl = tl
	x.pace.every, x.stopped = near, "these requests do not tell more"
	switch {
	case len(tl.Observations) == 0:
		x.stopped = "no recorded request has the same limit throughout its recording"
	case tl.Counts().Denied == 0:
		x.stopped = Undenied
	default:
		if x.line = x.queue(); x.lineKnown() {
			x.regions, x.second = nil, nil
		} else {
			x.bySamples()
		}
	}
	res := answer{x}.result()
	res.Recorded = true
	return res.inUnits(o.Cost)
}

// bySamples excludes what growing parts of a recording refute, and then what all of it refutes. Parts are
// judged quickly and leave little to ask about the whole.
func (x *search) bySamples() {
	whole := x.tl
	for n := 100; 3*n <= len(whole.Observations); n *= 4 {
		if x.tl = sample(whole, n); x.tl.Counts().Denied > 0 {
			x.excludeAll()
		}
	}
	x.tl = whole
	x.excludeAll()
}

// sample returns the requests of the clients that were denied most, of as many clients as have at most n
// observations together. If the first client has more, it is the beginning of its requests.
func sample(tl *timeline.Timeline, n int) *timeline.Timeline {
	seen, denied := map[string]int{}, map[string]int{}
	for i := range tl.Observations {
		o := &tl.Observations[i]
		if seen[o.Partition]++; o.Outcome == timeline.Denied {
			denied[o.Partition]++
		}
	}
	clients := slices.SortedFunc(maps.Keys(seen), func(a, b string) int {
		return cmp.Or(denied[b]-denied[a], strings.Compare(a, b))
	})
	kept, sum := 1, seen[clients[0]]
	for kept < len(clients) && sum+seen[clients[kept]] <= n {
		sum += seen[clients[kept]]
		kept++
	}
	out := &timeline.Timeline{Header: tl.Header}
	for _, o := range tl.Observations {
		if slices.Contains(clients[:kept], o.Partition) {
			out.Observations = append(out.Observations, o)
		}
	}
	if sum > n {
		out.Header.CompleteUntil = max(out.Observations[n].Sent-max(tl.Header.Tick, time.Second), 1)
		out.Observations = out.Observations[:n]
	}
	return out
}

// excludeAll excludes what the recording refutes until a round tells little more.
func (x *search) excludeAll() {
	const little = 0.97
	for late, before := x.late(), math.Inf(1); ; {
		x.exclude()
		if late() || x.settled(x.regions) || openOf(x.regions) > little*before {
			return
		}
		before = openOf(x.regions)
	}
}

// together joins recordings into one, in which each has clients of its own. The shortest come first, up to
// mostRecorded observations. Recordings that are not whole, or cut at the beginning, are left out.
func together(all []*timeline.Timeline) *timeline.Timeline {
	out := &timeline.Timeline{}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b *timeline.Timeline) int {
		return cmp.Compare(len(a.Observations), len(b.Observations))
	})
	if len(all) == 1 && oneLimitThroughout(all[0]) { // its whole header holds
		*out = *all[0]
		return out
	}
	n := 0
	for _, tl := range all {
		if len(out.Observations)+len(tl.Observations) > mostRecorded && n > 0 || !oneLimitThroughout(tl) ||
			tl.Header.CompleteFrom > 0 {
			continue
		}
		h, prefix := tl.Header, ""
		if n++; n == 1 {
			out.Header = timeline.Header{Started: h.Started, WallError: h.WallError}
		} else {
			prefix = strconv.Itoa(n) + ":"
		}
		for _, o := range tl.Observations {
			o.Partition = prefix + o.Partition
			out.Observations = append(out.Observations, o)
		}
		g := &out.Header
		g.Tick, g.ClockError = max(g.Tick, h.Tick), max(g.ClockError, h.ClockError)
		g.DriftPPM, g.Ended = max(g.DriftPPM, h.DriftPPM), max(g.Ended, h.Ended, tl.End())
	}
	slices.SortStableFunc(out.Observations, timeline.BySent)
	return out
}

// oneLimitThroughout tells whether one limit decided on all requests of a recording, as far as is known, and
// whether both sides of it were judged.
func oneLimitThroughout(tl *timeline.Timeline) bool {
	t := &tl.Header.Judged
	if t.Conformance != "" && t.Conformance != string(result.Exact) || t.Shared || t.SingleUnits {
		return false
	}
	return len(t.Limits) == 0 || len(t.Limits) == 1 && len(t.Limits[0].Phases)+len(t.Limits[0].Undecided) == 0
}

// replay is the Sender of a recording: it sends nothing.
type replay struct{ tl *timeline.Timeline }

// Now is the beginning: clients that come next have used nothing.
func (s *replay) Now() time.Duration { return 0 }

// Wait is 0, as nothing is sent.
func (s *replay) Wait() time.Duration { return 0 }

// Header is the header of the recording.
func (s *replay) Header() timeline.Header { return s.tl.Header }

// Send sends nothing.
func (s *replay) Send(context.Context, Phase) ([]timeline.Observation, error) { return nil, nil }

// recorded tells that nothing is sent.
func (w *wire) recorded() bool {
	_, is := w.s.(*replay)
	return is
}
