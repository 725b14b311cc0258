package identify

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify/clients"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// apart finds out what tells clients apart. It returns nil where the sender cannot ask as other clients, or
// nothing was denied.
func (x *search) apart(ctx context.Context, res *Result) *clients.Found {
	asker, can := x.s.(clients.Asker)
	if !can || x.o.Alike || res.Timeline.Counts().Denied == 0 {
		return nil
	}
	return clients.Find(ctx, asker, x.quota(), clients.Budget{
		Requests: x.o.MaxRequests - len(x.tl.Observations), Every: x.every, Trip: x.trip() + x.path.floor(),
		Until: x.o.MaxTime})
}

// quota is what other clients need to know about the limit.
func (x *search) quota() clients.Limit {
	out, least, whole := clients.Limit{Explains: x.explainsClient}, int64(0), time.Duration(0)
	for i, r := range x.regions {
		h, comesBack := r.hull(), 0.0 // units between two requests
		if r.kind.paced {
			comesBack = min(0.75, float64(x.every)/float64(h.t1))
		}
		if i == 0 {
			least = h.q1
		}
		least, out.Quota, whole = min(least, h.q1), max(out.Quota, h.q2), max(whole, r.back(h.q2, h.t2))
		out.Spends = max(out.Spends, int(float64(h.q2)/(1-comesBack))+3)
	}
	out.Recovery = whole*21/20 + x.tl.Header.Tick
	switch {
	case len(x.regions) == 0:
		out.Unfit = "no limit is known"
	case x.aside != nil:
		out.Unfit = "answers wait in a queue"
	case least < out.Quota:
		out.Unfit = fmt.Sprintf("the quota is not known: %d to %d", least, out.Quota)
	}
	return out
}

// back is the silence after which a policy of r has its whole quota again.
func (r *region) back(quota int64, t time.Duration) time.Duration {
	switch {
	case r.kind.paced:
		return t * time.Duration(quota)
	case r.kind.base.Weighs(): // it remembers the window before
		return 2 * t
	}
	return t
}

// timeForClients tells whether a round of so many requests may fit into the time that is left. Before it
// comes the shortest silence in which the quota may be whole again.
func (x *search) timeForClients(requests int) bool {
	left := x.o.MaxTime - x.s.Now() - time.Duration(requests)*max(x.every, x.trip()+x.path.floor())
	return slices.ContainsFunc(x.regions, func(r *region) bool {
		h := r.hull()
		return r.back(h.q1, h.t1) <= left
	})
}

// explainsClient tells whether some policy that is left may have admitted, or denied, as many requests of one
// client as a recording has.
func (x *search) explainsClient(one *timeline.Timeline, side verdict.Conformance) bool {
	return slices.ContainsFunc(x.regions, func(r *region) bool {
		h := r.hull()
		at := box{h.q2, h.q2, h.t1, h.t1, h.d1, h.d1} // this admits the most
		if side == verdict.LowerBound {
			at = box{h.q1, h.q1, h.t2, h.t2, h.d2, h.d2}
		}
		return slices.ContainsFunc(r.kind.each(), func(k *kind) bool {
			return !x.asker.refuted(one, r.with(k.policy(at)), side, false)
		})
	})
}
