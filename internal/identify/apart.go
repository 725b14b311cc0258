package identify

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// apart finds out what tells clients apart. It returns nil where the sender cannot ask as other clients, or
// nothing was denied.
func (x *search) apart(ctx context.Context, res *Result) *Found {
	asker, can := x.s.(ClientsAsker)
	if !can || x.o.Alike || res.Timeline.Counts().Denied == 0 {
		return nil
	}
	return Find(ctx, asker, x.quota(), Budget{MaxRequests: x.o.MaxRequests - len(x.tl.Observations),
		Every: x.pace.every, MaxTime: x.o.MaxTime})
}

// quota is what other clients need to know about the limit.
func (x *search) quota() Limit {
	out, least, whole := Limit{Trip: x.trip(), Explains: x.explainsClient}, int64(0), time.Duration(0)
	for i, r := range x.regions {
		h, comesBack := r.Hull(), 0.0 // units between two requests
		if r.Kind.Paced {
			comesBack = min(0.75, float64(x.pace.every)/float64(h.T1))
		}
		if i == 0 {
			least = h.Q1
		}
		least, out.Quota, whole = min(least, h.Q1), max(out.Quota, h.Q2), max(whole, r.Back(h.Q2, h.T2))
		out.Spends = max(out.Spends, int(float64(h.Q2)/(1-comesBack))+3)
	}
	out.Recovery = whole*21/20 + x.tl.Header.Tick
	switch {
	case len(x.regions) == 0:
		out.Unfit = "no limit is known"
	case x.queue.without != nil:
		out.Unfit = "answers wait in a queue"
	case least < out.Quota:
		out.Unfit = fmt.Sprintf("the quota is not known: %d to %d", least, out.Quota)
	}
	return out
}

// explainsClient tells whether some policy that is left may have admitted, or denied, as many requests of one
// client as a recording has.
func (x *search) explainsClient(one *timeline.Timeline, side result.Conformance) bool {
	return slices.ContainsFunc(x.regions, func(r *Region) bool {
		h := r.Hull()
		at := h
		at.Q1, at.T2 = h.Q2, h.T1 // this admits the most
		if side == result.LowerBound {
			at = h
			at.Q2, at.T1 = h.Q1, h.T2
		}
		return slices.ContainsFunc(r.Kind.Each(), func(k *Kind) bool {
			return !x.asker.Refuted(one, spec.Limit{k.Policy(at)}, side, false)
		})
	})
}
