package claim

import (
	"fmt"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// attempts judges whether each request was given up in time: after at most the declared number of tries.
func (s *session) attempts() result.Claim {
	const id = string(result.ClaimClientAttempts)
	var found []result.Finding
	most, given, doubtful := 0, 0, 0
	for i := range s.requests {
		r := &s.requests[i]
		most = max(most, len(r.tries))
		switch n := len(r.tries); {
		case n > s.opts.MaxAttempts && r.sure:
			text := fmt.Sprintf("%s was tried %s, declared are at most %d", url(r.tries[0]),
				text.Plural(n, "time"), s.opts.MaxAttempts)
			found = append(found, finding(ManyAttempts, int64(n), int64(s.opts.MaxAttempts), text,
				r.tries[:s.opts.MaxAttempts+1]...))
		case n > s.opts.MaxAttempts:
			doubtful++
		case s.givenUp(r):
			given++
		}
	}
	text := fmt.Sprintf("at most %d tries of one request, %s given up", most,
		text.Plural(given, "request"))
	switch {
	case len(found) > 0: // the claim fails
	case doubtful > 0:
		return TooFew(id, text+"; whether more tries belong to one request is unknown")
	case given == 0:
		return TooFew(id, text+": no request was seen to be given up (record for at least twice the "+
			"longest wait)")
	}
	return result.Settle(id, text, result.Of(given, "requests that were given up"),
		found[:min(len(found), findingsMax)]...)
}

// givenUp tells whether a request ended with a denial and was then given up. It was, if no try followed for
// more than twice the longest wait. That is the longest of the last stated wait, the gaps between its tries,
// and timerSlack.
func (s *session) givenUp(r *request) bool {
	d := last(r)
	if d.Outcome != timeline.Denied || !d.Answered {
		return false
	}
	long := timerSlack
	if t, ok := clockOf(&s.tl.Header).told(d); ok {
		long = max(long, t.due-d.FirstByte)
	}
	for i := 1; i < len(r.tries); i++ {
		long = max(long, r.tries[i].Sent-r.tries[i-1].Sent)
	}
	return s.tl.End()-d.FirstByte > 2*long
}

// budget judges whether all retries together stayed within their share of the first tries.
func (s *session) budget() result.Claim {
	const id, retried = string(result.ClaimClientBudget), "retries"
	var retries []*timeline.Observation
	first, doubtful := 0, 0
	for i := range s.requests {
		r := &s.requests[i]
		first++
		if !r.sure {
			doubtful += len(r.tries) - 1
			continue
		}
		retries = append(retries, r.tries[1:]...)
	}
	n, budget := len(retries), s.opts.Budget
	text := fmt.Sprintf("%d retries of %s, %d %%; declared are at most %d %%", n+doubtful,
		text.Plural(first, "request"), (n+doubtful)*100/max(first, 1), budget)
	switch {
	case n*100 > budget*(first+doubtful):
		f := finding(OverBudget, int64(n), int64(budget*(first+doubtful)/100), text, retries...)
		f.Partition = ""
		return result.Settle(id, text, result.Of(n, retried), f)
	case (n+doubtful)*100 > budget*first:
		return TooFew(id, text+"; but which of them are new requests is unknown")
	}
	return result.Settle(id, text, result.Of(n+doubtful, retried))
}
