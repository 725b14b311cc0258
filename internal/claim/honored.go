package claim

import (
	"fmt"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

const honoredID = "retry-after-honored"

// retry is a denial that told a wait, and the request that came after it.
type retry struct {
	denial, next *timeline.Observation
	told         toldWait
}

// honored judges that a client that waited as told, and had no rival on its partition meanwhile, is admitted (RFC 9110
// section 10.2.3: how long the user agent ought to wait before a follow-up request).
//
//	        Sent   FirstByte                        Sent   FirstByte
//	denial  [--d1--]<--------- told wait --------->|  [--d2--] retry
//	  |<------------- no other request can be decided in here ------------->|
//
// d2 - d1 is at least the told wait, wherever d1 and d2 lie, so a second denial refutes the first one's Retry-After. A
// request that was answered at the very instant at which another was sent was decided before it.
func (r *recording) honored() check.Claim {
	retries, denials := r.retries()
	var kept int
	var shortest, longest time.Duration
	var findings []check.Finding
	lies := 0
	for _, x := range retries {
		switch {
		case x.next.Outcome == timeline.Allowed:
			if kept == 0 || x.told.wait < shortest {
				shortest = x.told.wait
			}
			kept, longest = kept+1, max(longest, x.told.wait)
		case r.surelyWaited(x):
			if lies++; lies <= witnessMax {
				findings = append(findings, early(x))
			}
		}
	}
	switch {
	case lies > 0:
		return settle(honoredID, fmt.Sprintf("%d of %d clients that waited as told were denied again%s",
			lies, lies+kept, shown(lies)), findings)
	case kept > 0:
		return settle(honoredID, fmt.Sprintf("%s of %s to %s honored: each client that waited as told was admitted",
			plural(kept, "wait"), seconds(shortest, time.Second), seconds(longest, time.Second)), nil)
	case denials == 0:
		return tooFew(honoredID, "no request was denied")
	default:
		return tooFew(honoredID, fmt.Sprintf("no client waited as one of %s told it and came back alone on its partition",
			plural(denials, "denial")))
	}
}

// shown says how many of n findings are listed, where that is not all.
func shown(n int) string {
	if n <= witnessMax {
		return ""
	}
	return fmt.Sprintf("; the first %d are shown", witnessMax)
}

// retries returns the pairs of a denial and the next request of its partition that waited as told, with the same cost
// and the answer known, between which no other request can have been decided; and the number of denials.
func (r *recording) retries() (out []retry, denials int) {
	partitions := map[string][]*timeline.Observation{}
	for i := range r.tl.Observations {
		o := &r.tl.Observations[i]
		partitions[o.Partition] = append(partitions[o.Partition], o)
	}
	for i := range r.tl.Observations {
		name := r.tl.Observations[i].Partition
		obs := partitions[name]
		delete(partitions, name)
		// busy is the end of the last interval of the requests before the denial.
		busy := time.Duration(-1 << 62)
		for i, d := range obs {
			if isDenial(d) {
				denials++
				if x, ok := r.retryAt(obs, i, busy); ok {
					out = append(out, x)
				}
			}
			busy = max(busy, intervalEnd(d))
		}
	}
	return out, denials
}

// isDenial tells whether o is a denial of the target.
func isDenial(o *timeline.Observation) bool {
	return o.Answered && o.Outcome == timeline.Denied && !o.Origin
}

// retryAt returns obs[i] and obs[i+1] as a retry, if they are one.
func (r *recording) retryAt(obs []*timeline.Observation, i int, busy time.Duration) (retry, bool) {
	if i+1 >= len(obs) {
		return retry{}, false
	}
	slack := 2 * r.tl.Header.ClockError
	d, next := obs[i], obs[i+1]
	t, ok := told(d)
	switch {
	case !ok, next.Origin, !next.Answered, next.Outcome == timeline.Unknown, next.Cost != d.Cost:
		return retry{}, false
	case next.Sent < add(d.FirstByte, t.wait):
		return retry{}, false
	case busy > d.Sent-slack:
		return retry{}, false
	case i+2 < len(obs) && obs[i+2].Sent-slack < next.FirstByte:
		return retry{}, false
	}
	return retry{denial: d, next: next, told: t}, true
}

// surelyWaited tells whether the retry came late enough on every clock: those of several observers, and the target's
// own, which may read up to a tick less than the time of the decision.
func (r *recording) surelyWaited(x retry) bool {
	h := &r.tl.Header
	return x.next.Sent-h.Tick-2*h.ClockError >= add(x.denial.FirstByte, x.told.wait)
}

// early is the finding of a retry that was denied. Its times are printed in the coarsest unit in which the printed
// numbers still prove it: the first byte rounded up, the next send rounded down.
func early(x retry) check.Finding {
	for unit := time.Millisecond; ; unit /= 1000 {
		from := (x.denial.FirstByte + unit - 1).Truncate(unit)
		to := x.next.Sent.Truncate(unit)
		if to-from < x.told.wait && unit > 1 {
			continue
		}
		return witness(check.Finding{
			Kind: RetryAfterEarly, Seen: int64(x.next.Sent - x.denial.FirstByte), Bound: int64(x.told.wait),
			Text: fmt.Sprintf("#%d was denied with %s (first byte %s); its client waited %s, sent #%d at %s, and was denied again",
				x.denial.Seq, x.told, seconds(from, unit), seconds(to-from, unit), x.next.Seq, seconds(to, unit)),
		}, x.denial, x.next)
	}
}
