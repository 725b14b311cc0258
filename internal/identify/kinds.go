package identify

import (
	"github.com/rlcheck/rlcheck/internal/spec"
)

var (
	// BucketClass are the algorithms that decide as a token bucket does.
	BucketClass = []spec.Algorithm{spec.TokenBucket, spec.GCRA, spec.LeakyBucket}
	// InFlightClass are those that limit requests in flight.
	InFlightClass = []spec.Algorithm{spec.Concurrency}
)

// one is the class of an algorithm that decides as no other does.
func one(a spec.Algorithm) []spec.Algorithm { return []spec.Algorithm{a} }

// Simple returns the kinds that count neither shares of a window nor denied requests, which are asked first.
func Simple() []*Kind {
	return []*Kind{
		{Class: BucketClass, Text: "a token bucket", Base: spec.Policy{Algorithm: spec.TokenBucket},
			Paced: true},
		{Class: one(spec.FixedWindow), Text: "a fixed window by the clock",
			Base: spec.Policy{Algorithm: spec.FixedWindow, Align: spec.AlignUnknown}},
		{Class: one(spec.FixedWindow), Text: "a fixed window that the first request opens",
			Base: spec.Policy{Algorithm: spec.FixedWindow, Align: spec.AlignFirst}},
		{Class: one(spec.SlidingWindowLog), Text: "a sliding window log",
			Base: spec.Policy{Algorithm: spec.SlidingWindowLog}},
	}
}

// Kinds returns the usual kinds, the most usual first.
func Kinds() []*Kind {
	out := Simple()
	for _, count := range []spec.Count{spec.CountAdmitted, spec.CountAll} {
		for _, align := range []spec.Align{spec.AlignUnknown, spec.AlignFirst} {
			out = append(out, CounterKind(align, count))
		}
	}
	return append(out,
		&Kind{Class: BucketClass, Text: "a token bucket that charges denied requests too", Paced: true,
			Searched: true,
			Base:     spec.Policy{Algorithm: spec.TokenBucket, Count: spec.CountAll}},
		&Kind{Class: one(spec.SlidingWindowLog),
			Text: "a sliding window log that counts denied requests too",
			Base: spec.Policy{Algorithm: spec.SlidingWindowLog, Count: spec.CountAll}},
		&Kind{Class: one(spec.FixedWindow), Text: "a fixed window that every admitted request starts anew",
			Base: spec.Policy{Algorithm: spec.FixedWindow, Align: spec.AlignFirst,
				Refresh: spec.RefreshAdmitted}},
		&Kind{Class: one(spec.FixedWindow), Text: "a fixed window that every request starts anew",
			Searched: true,
			Base: spec.Policy{Algorithm: spec.FixedWindow, Align: spec.AlignFirst,
				Refresh: spec.RefreshAll}},
	)
}

// CounterKind returns the sliding window counters of all roundings, as one kind.
func CounterKind(align spec.Align, count spec.Count) *Kind {
	out := &Kind{Class: []spec.Algorithm{spec.SlidingWindowCounter}, Text: "a sliding window counter",
		Base: spec.Policy{Algorithm: spec.SlidingWindowCounter, Align: align, Count: count}}
	if align == spec.AlignFirst {
		out.Text += " that the first request opens"
		out.Searched = true
	}
	if count == spec.CountAll {
		if out.Searched {
			out.Text += " and"
		}
		out.Text += " that counts denied requests too"
	}
	for _, r := range []spec.Rounding{spec.RoundNone, spec.RoundNearest, spec.RoundUp} {
		part := *out
		part.Parts = nil
		if part.Base.Rounding = r; r != spec.RoundNone {
			part.Text += ", rounding " + string(r)
		}
		out.Parts = append(out.Parts, &part)
	}
	return out
}

// QueueKind is the kind of queues that admit as a kind of buckets does.
func QueueKind(bucket *Kind) *Kind {
	q := *bucket
	q.Class, q.Text, q.Queue = []spec.Algorithm{spec.LeakyBucketQueue}, "a queue", true
	return &q
}
