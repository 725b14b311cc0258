package check

import (
	"fmt"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// buckets guesses token buckets, if a window or a queue is declared.
func buckets(q *inquiry, p spec.Policy, _ *result.Judgement) []guess {
	if p.Bucketed() {
		return nil
	}
	bucket := like(p, spec.TokenBucket, p.Rate, p.Full())
	all := []guess{{bucket, bucketText(bucket)}}
	for _, x := range q.fitted(bucket) {
		all = append(all, guess{x, bucketText(x)})
	}
	return changed(p, all...)
}

func bucketText(p spec.Policy) string {
	return fmt.Sprintf("a token bucket of %s, burst %d", p.Rate, p.Full())
}

// queues guesses leaky buckets that delay requests, if another bucket is declared.
func queues(q *inquiry, p spec.Policy, j *result.Judgement) []guess {
	if !p.Bucketed() {
		return nil
	}
	queue := like(p, spec.LeakyBucketQueue, p.Rate, p.Full())
	all := []guess{{queue, queueText(queue)}}
	for _, b := range bursts(queue, j) {
		x := queue.WithFull(b)
		all = append(all, guess{x, queueText(x)})
	}
	return changed(p, all...)
}

func queueText(p spec.Policy) string { return fmt.Sprintf("a queue of %d at %s", p.Queue, p.Rate) }

// like returns a policy of another algorithm with the clock of p.
func like(p spec.Policy, a spec.Algorithm, rate spec.Rate, full int64) spec.Policy {
	out := spec.Plain(a, rate, full)
	out.Tick, out.TickSet = p.Tick, p.TickSet
	return out
}

// windowed returns the policy of a kind with a quota in a time, and the clock of base.
func windowed(base spec.Policy, rate spec.Rate, kind spec.Policy) spec.Policy {
	out := like(base, kind.Algorithm, rate, rate.N)
	out.Align, out.Refresh, out.Slots = kind.Align, kind.Refresh, kind.Slots
	return out
}

// window is a kind of window. text has a place for its quota in its time.
type window struct {
	text string
	kind spec.Policy
}

// windows guesses windows of some kinds.
func windows(kinds ...window) func(*inquiry, spec.Policy, *result.Judgement) []guess {
	return func(q *inquiry, p spec.Policy, j *result.Judgement) (all []guess) {
		for _, k := range kinds {
			if k.kind.Align != spec.AlignShared || len(j.Partitions) > 1 {
				all = append(all, q.windows(p, k.kind, k.text)...)
			}
		}
		return all
	}
}

// windows returns the windows of a kind, each with the quotas that were measured. They have the declared
// length and quota. For a declared bucket, they have its burst in the time it takes to fill, and its rate as
// it is written.
func (q *inquiry) windows(p, kind spec.Policy, text string) []guess {
	rates := []spec.Rate{p.Rate}
	if p.Refills() {
		rates = []spec.Rate{{N: p.Full(), Per: p.Recovery()}, p.Rate}
	}
	var all []guess
	for _, rate := range rates {
		for _, n := range q.quotas(rate, p) {
			rate.N = n
			all = append(all, guess{windowed(p, rate, kind), fmt.Sprintf(text, rate)})
		}
	}
	same := func(g guess) bool {
		x := g.policy
		return x.Algorithm == p.Algorithm && x.Align == p.Align && x.Slots == p.Slots &&
			x.Refresh == p.Refresh
	}
	if len(all) > 0 && same(all[0]) { // its other parameters were tried
		return nil
	}
	return changed(p, all...)
}

var logKind = spec.Policy{Algorithm: spec.SlidingWindowLog}

// fixedKind is a fixed window that no request restarts.
func fixedKind(align spec.Align) spec.Policy {
	return spec.Policy{Algorithm: spec.FixedWindow, Align: align, Refresh: spec.RefreshNone}
}

// refreshing is a fixed window that requests restart.
func refreshing(which spec.Refresh) spec.Policy {
	return spec.Policy{Algorithm: spec.FixedWindow, Align: spec.AlignFirst, Refresh: which}
}

// slotted are windows of so many slots each.
func slotted(numbers ...int64) (all []window) {
	for _, n := range numbers {
		kind := fixedKind(spec.AlignUnknown)
		kind.Slots = n
		all = append(all, window{"a window of %s in " + fmt.Sprint(n) + " slots", kind})
	}
	return all
}
