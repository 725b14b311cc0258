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

	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// mostRecorded is how many observations of recordings are judged together.
const mostRecorded = 5000

// Recorded finds out which limit made recordings, and sends nothing. Of the options, Fresh, Sharp and Think
// count, for about twice as long the judge is asked. What tells nothing is Open.
func Recorded(ctx context.Context, all []*timeline.Timeline, o Options) *Result {
	tl := together(all)
	o.MaxRequests, o.Every = max(1, len(tl.Observations)), time.Millisecond
	o.MaxTime = max(tl.End(), time.Second)
	began := time.Now()
	x := &search{o: o, s: &sent{tl: tl}, tl: tl, made: map[string]int{}, usuals: confirming,
		clock: func() time.Duration { return time.Since(began) },
		ended: func() bool { return ctx.Err() != nil }}
	x.begin()
	var queue *Result
	x.every, x.stopped = 20*time.Millisecond, "these requests do not tell more" // as identify sends
	switch {
	case len(tl.Observations) == 0:
		x.stopped = "no recorded request has the same limit throughout its recording"
	case tl.Counts().Denied == 0:
		x.stopped = undenied
	default:
		if queued(tl, "") {
			x.asQueue()
		}
		x.bySamples(o.Think)
		if x.aside != nil && len(x.regions) > 0 && !(x.settled(x.regions) && x.queueExplains()) {
			if x.queuedSo() {
				queue = x.result()
			}
			x.noQueue()
			x.bySamples(o.Think)
		}
	}
	res := x.result().orElse(queue)
	res.Recorded = true
	return res
}

// mayQueue is why a limit is not named whose answers took as long as those of a queue that is not known well.
const mayQueue = "admitted requests waited, for reasons of their own or in a queue"

// orElse adds what is left of queues to what explains a recording where nothing waits. It returns the queues
// alone where nothing else explains it; nil are none.
func (r *Result) orElse(queue *Result) *Result {
	switch {
	case queue == nil:
		return r
	case len(r.Found) == 0:
		return queue
	}
	r.Verdict, r.Stopped = Open, mayQueue
	r.Found, r.Also, r.Sharper = append(r.Found, queue.Found...), nil, nil
	return r
}

// queuedSo tells whether the delays of a queue that is not known well may be those that were recorded. Of a
// log most answers take long for other reasons.
func (x *search) queuedSo() bool {
	return !x.settled(x.regions) && !x.fails(x.candidate(x.regions[0]))
}

// bySamples excludes what parts of a recording refute, each larger than the one before, and then what all of
// it does: so few requests are judged in no time, and leave little to ask of the whole.
func (x *search) bySamples(think time.Duration) {
	whole := x.tl
	for n := 100; 3*n <= len(whole.Observations); n *= 4 {
		if x.tl = sample(whole, n); x.tl.Counts().Denied > 0 {
			x.excludeAll(think / 4)
		}
	}
	x.tl = whole
	x.excludeAll(think)
}

// sample is what the clients sent who were denied most, as many of them as have n observations together, or
// the beginning of the first one.
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

// excludeAll excludes what the recording refutes until a round tells little more, for so long at most. The
// longer the recording, the longer the judge takes, and the less it is asked in a round.
func (x *search) excludeAll(most time.Duration) {
	const work, least, little = 500_000, 300, 0.97
	asked := min(manyAsked, max(least, work/len(x.tl.Observations)))
	open := func() (size float64) {
		for _, r := range x.regions {
			size += 1 + r.hull().size()
		}
		return size
	}
	for began, before := time.Now(), math.Inf(1); ; {
		x.excludeBy(asked)
		if x.ended() || x.settled(x.regions) || open() > little*before || time.Since(began) > most {
			return
		}
		before = open()
	}
}

// together is one recording of all: the clients of each are others than those of the rest. Those with few
// requests come first, as many as are judged together. Those that are not whole are left out.
func together(all []*timeline.Timeline) *timeline.Timeline {
	out := &timeline.Timeline{}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b *timeline.Timeline) int {
		return cmp.Compare(len(a.Observations), len(b.Observations))
	})
	if len(all) == 1 && whole(all[0]) { // with all that its header tells
		*out = *all[0]
		return out
	}
	n := 0
	for _, tl := range all {
		if len(out.Observations)+len(tl.Observations) > mostRecorded && n > 0 || !whole(tl) ||
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

// whole tells whether one limit decided on all requests of a recording, as far as that is known, and whether
// both sides of it were judged.
func whole(tl *timeline.Timeline) bool {
	t := &tl.Header.Judged
	if t.Conformance != "" && t.Conformance != string(verdict.Exact) || t.Shared || t.SingleUnits {
		return false
	}
	return len(t.Limits) == 0 || len(t.Limits) == 1 && len(t.Limits[0].Phases)+len(t.Limits[0].Undecided) == 0
}

// sent is a recording that was sent before.
type sent struct{ tl *timeline.Timeline }

// Now is the beginning of what comes next: the clients of that have used nothing.
func (s *sent) Now() time.Duration { return 0 }

// Wait is none.
func (s *sent) Wait() time.Duration { return 0 }

// Header is that of the recording.
func (s *sent) Header() timeline.Header { return s.tl.Header }

// Send sends nothing.
func (s *sent) Send(context.Context, Phase) ([]timeline.Observation, error) { return nil, nil }

// recorded tells that nothing is sent.
func (x *search) recorded() bool {
	_, is := x.s.(*sent)
	return is
}

// several tells whether a recording is of more than one client.
func several(tl *timeline.Timeline) bool {
	return slices.ContainsFunc(tl.Observations, func(o timeline.Observation) bool {
		return o.Partition != tl.Observations[0].Partition
	})
}
