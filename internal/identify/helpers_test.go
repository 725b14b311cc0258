package identify

import (
	"fmt"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

const ms = time.Millisecond

// known is the region of a single policy.
func known(p spec.Policy) *Region {
	for _, k := range Kinds() {
		if k.Base.Algorithm == p.Algorithm && (!p.Windowed() || k.Base.Align == p.Align) {
			b := Box{Q1: p.Full(), Q2: p.Full(), T1: p.Rate.Per, T2: p.Rate.Per}
			if k.Paced {
				b.T1 /= time.Duration(p.Rate.N)
				b.T2 = b.T1
			}
			return &Region{Kind: k, Live: []Box{b}}
		}
	}
	panic("no kind of " + p.String())
}

// took is requests a second apart, each answered after the given time.
func took(outcome timeline.Outcome, all ...time.Duration) (out []timeline.Observation) {
	for i, trip := range all {
		sent := time.Duration(i) * time.Second
		out = append(out, timeline.Observation{Sent: sent, FirstByte: sent + trip, Done: sent + trip,
			Answered: true, Outcome: outcome})
	}
	return out
}

// coarsely is a limiter of a row of coarseKinds.
func coarsely(k ticking, quota int64, window time.Duration) string {
	return fmt.Sprintf(k.form, fmt.Sprintf("%d/%s", quota, window))
}

// never is a time that does not end.
func never() bool { return false }
