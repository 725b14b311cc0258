package scenario

import (
	"time"

	"github.com/rlcheck/rlcheck/internal/scenario/tree"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// retryDraft is how clients retry as it is written, before its multiples are resolved.
type retryDraft struct {
	timeline.Retry
	at              *tree.Node
	base, max, open span
}

// retryKind is the kind of the retries of a backoff phase. Its waits may be multiples, so that clients press
// a slow limit no harder than a fast one.
func retryKind() kind[*retryDraft] {
	wait := spanKind()
	return object("retry", []field[*retryDraft]{
		key("policy", choice("a retry policy", timeline.RetryFixed, timeline.RetryExponential,
			timeline.RetryAsTold), "How the wait before a retry is chosen.",
			func(r *retryDraft) *timeline.RetryPolicy { return &r.Policy }).must(),
		key("base", wait, "The wait, or the first one of an exponential policy; 100ms by default.",
			func(r *retryDraft) *span { return &r.base }),
		key("max", wait, "The longest wait of an exponential policy; 10 times the first by default.",
			func(r *retryDraft) *span { return &r.max }),
		key("jitter", boolean("jitter"), "Wait a random share of it; for retry-after up to base longer.",
			func(r *retryDraft) *bool { return &r.Jitter }),
		key("budget", whole("a budget in percent", 1, 10_000),
			"The most retries of all clients, in percent of their first requests; a client without budget "+
				"gives up.", func(r *retryDraft) *int { return &r.Budget }),
		key("breaker", whole("a number of denials", 1, maxRequests),
			"After this many denials in a row, no client sends for a while.",
			func(r *retryDraft) *int { return &r.Breaker }),
		key("open", wait, "How long no client sends then; 5 times base by default.",
			func(r *retryDraft) *span { return &r.open }),
	}, func(_ *decoder, n *tree.Node, r *retryDraft) { r.at = n })
}

// resolveRetry completes a backoff phase.
func (p *phaseDraft) resolveRetry(d *decoder, b bounds) {
	p.Retry = p.retry.Retry
	r, n := &p.Retry, p.retry.at
	r.Base = p.retry.base.resolve(d, n.Get("base"), b)
	r.Max = p.retry.max.resolve(d, n.Get("max"), b)
	r.Open = p.retry.open.resolve(d, n.Get("open"), b)
	if r.Base == 0 {
		r.Base = 100 * time.Millisecond
	}
	if r.Max == 0 {
		r.Max = 10 * r.Base
	}
	if r.Breaker > 0 && r.Open == 0 {
		r.Open = 5 * r.Base
	}
	if p.Requests == 0 { // a ceiling that no client which waits at all reaches
		each := 10 + 4*float64(p.Duration)/float64(r.Base)
		p.Requests = clampCount(float64(p.Clients) * min(each, 200))
	}
}
