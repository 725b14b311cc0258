package claim

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// denials judges that a denial states the limit that denied. If it was for one unit, one of the limits that
// it states has none left. A client that came back alone, at the last of all times that the denial states, is
// admitted. Otherwise the fields are those of a limit that would have admitted.
//
// What is left may be read before or after the decision: units that came back, or that rivals took, while the
// request was on its way are no contradiction. A reset may be cut, so its client must have come a unit of the
// notation later.
func (j *Recording) deniedLimit(id string, tellers []teller) result.Claim {
	of := map[int]*teller{}
	for i, t := range tellers {
		if IsDenial(t.o) {
			of[t.o.Seq] = &tellers[i]
		}
	}
	var again []result.Finding
	one := false
	for _, t := range of {
		one = one || asksOne(j.LimitOf(t.o), t.o)
	}
	left, spent, open := j.unitsLeft(of)
	judged := len(left) + spent
	retries, _ := j.retries(func(d *timeline.Observation) []headers.Wait { return lastOf(of[d.Seq], d) })
	for _, x := range retries {
		if x.next.Outcome == timeline.Denied && !j.surelyWaited(x) {
			continue // the reset may be cut
		}
		if judged++; x.alone && x.next.Outcome == timeline.Denied {
			again = append(again, early(x))
		}
	}
	switch bad := len(left) + len(again); {
	case bad == 0 && open > judged && len(j.Limit) > 0:
		return TooFew(id, fmt.Sprintf("units are stated as left by %s, and they may have come back, or been "+
			"taken, while the request was on its way", text.Plural(open, "denial")))
	case judged > 0 && len(j.Limit) > 0:
		return result.Settle(id, fmt.Sprintf("%d of %s state the limit that denied%s", judged-bad,
			text.Plural(judged, "denial"), Shown(bad)), result.Of(judged,
			"denials whose limit was looked for"),
			slices.Concat(left, again)[:min(bad, MostFindings)]...)
	case len(j.Limit) == 0:
		return uncompared(id)
	case len(of) > 0 && !one:
		return moot(id, "each denied request may have asked for more than one unit")
	default:
		return j.silent(id, tellers, "what is left at a denial", func(q headers.Quota) bool {
			return q.HasRemaining || q.Form != ""
		})
	}
}

// asksOne tells whether a limit admits a request whenever one unit is left: it costs no more, and there are
// neither estimates nor places to take.
func asksOne(l spec.Limit, o *timeline.Observation) bool {
	return !slices.ContainsFunc(l, func(p spec.Policy) bool { return p.InFlight() || p.Asks(o.Cost) != 1 })
}

// unitsLeft judges what denials say that is left. spent counts those that state a limit with nothing left,
// and found has those whose limits surely all had units left. open counts those that state units which may
// have come back, or been taken, meanwhile.
func (j *Recording) unitsLeft(of map[int]*teller) (found []result.Finding, spent, open int) {
	for p := range j.counted() {
		if s := (series{partition: p}); len(p.Limit) > 0 && !s.bans() {
			f, none, unknown := s.unitsLeft(of)
			found, spent, open = append(found, f...), spent+none, open+unknown
		}
	}
	return found, spent, open
}

// unitsLeft judges the denials of one partition.
func (s *series) unitsLeft(of map[int]*teller) (found []result.Finding, spent, open int) {
	var turned []*timeline.Observation // denials that explain themselves if a window ended on their way
	for _, o := range s.obs {
		t := of[o.Seq]
		if t == nil {
			continue
		}
		least, what, sure := t.leastLeft(s.LimitOf(o))
		if least == 0 {
			spent++
		}
		if least <= 0 || !sure {
			continue
		}
		back, windows, known := s.freed(o)
		switch {
		case !known || least <= back:
			open++
		case windows == 0:
			found = append(found, s.unspent([]*timeline.Observation{o}, least, back, what))
		default:
			if turned = append(turned, o); s.closely(turned, windows) {
				found = append(found, s.unspent(turned, least, back, what))
				turned = nil
			}
		}
	}
	return found, spent, open + len(turned)
}

// leastLeft returns the fewest units that the answer states as left, and of which quota. It is -1 if none
// states any. sure: the request surely takes no more than one of them.
func (t *teller) leastLeft(limit spec.Limit) (least int64, of headers.Quota, sure bool) {
	least, sure = -1, asksOne(limit, t.o)
	for _, q := range t.quotas {
		sure = sure && (q.Units == "" || declares(limit, q.Limit, q.Window))
		if q.HasRemaining && (least < 0 || q.Remaining < least) {
			least, of = q.Remaining, q
		}
	}
	return least, of, sure
}

// freed returns the most units that came back, or that rivals took, while o was on its way, and of how many
// policies it is not known whether a window ended, or a batch came back, meanwhile.
func (s *series) freed(o *timeline.Observation) (units int64, windows int, known bool) {
	for _, p := range s.LimitOf(o) {
		back, ok := s.gainedBy(p, o.Sent, o.FirstByte)
		switch {
		case ok && p.Refill != spec.RefillInterval:
			units = max(units, back)
		case p.Turn() > 0:
			windows++
		default:
			return 0, 0, false
		}
	}
	for _, x := range s.obs {
		apart := s.Header.Apart(x.Observer, o.Observer)
		if x != o && x.Outcome != timeline.Denied && x.Sent-apart <= o.FirstByte &&
			s.chargedBy(x)+apart >= o.Sent {
			if x.Cost == timeline.CostUnknown {
				return 0, 0, false
			}
			units += x.Cost
		}
	}
	return units, windows, true
}

// chargedBy returns when x was charged at the latest. It is later than its decision if that is settled.
func (s *series) chargedBy(x *timeline.Observation) time.Duration {
	by := DecidedBy(x)
	for _, p := range s.LimitOf(x) {
		switch {
		case p.Charge != spec.ChargeCompletion:
		case x.Done > 0 && p.LingerSet:
			by = max(by, x.Done+p.Linger)
		default:
			return math.MaxInt64 / 2
		}
	}
	return by
}

// closely tells whether the last of some denials follow one another within the shortest turn, and are more
// than windows may have ended meanwhile: then at least one of them met no end.
func (s *series) closely(denials []*timeline.Observation, windows int) bool {
	n := len(denials) - windows - 1
	if n < 0 {
		return false
	}
	denials = denials[n:]
	h, last := &s.Header, denials[len(denials)-1]
	span := last.FirstByte - denials[0].Sent + 2*h.ClockError + h.Drift(last.FirstByte)
	for _, p := range s.Limit {
		if t := p.Turn(); t > 0 && span+max(h.Tick, p.Tick) >= t {
			return false
		}
	}
	for i, o := range denials[1:] {
		if o.Sent-h.Apart(o.Observer, denials[i].Observer) <= denials[i].FirstByte {
			return false
		}
	}
	return true
}

// unspent returns the finding of denials that state units left.
func (s *series) unspent(denials []*timeline.Observation, least, back int64,
	of headers.Quota) result.Finding {
	why := "was denied and cost 1, but each limit that it states"
	if len(denials) > 1 {
		why = "were denied one after the other and cost 1, but each limit that they state"
	}
	return Witness(result.Finding{Kind: result.RemainingHigh, Seen: least, Bound: back,
		Text: fmt.Sprintf("%s %s has units left: %d of %s; at most %d came back or were taken meanwhile",
			Seqs(denials), why, least, limitText(of), back)}, denials...)
}

// lastOf returns the last time at which a denial, whose quotas are those of t, lets its client come back. It
// is empty if no quota states one that lies ahead, or if the denial states a longer wait, which
// retry-after-honored judges.
func lastOf(t *teller, d *timeline.Observation) []headers.Wait {
	if t == nil {
		return nil
	}
	last := lastReset(t.quotas)
	for _, w := range Waits(d) {
		if len(last) > 0 && w.For >= add(last[0].For, last[0].Slack) {
			return nil
		}
	}
	return last
}
