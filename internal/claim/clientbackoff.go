package claim

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Backoff is how long a client says that it waits where a denial states no wait. The zero value is not
// judged.
type Backoff struct {
	// Base is the first wait. Each further one of a request is Factor times as long, at most Max.
	Base, Max time.Duration
	Factor    float64
	// Jitter is by which share of itself a wait may be shorter, 0 to 1.
	Jitter float64
}

// ParseBackoff reads BASE..MAX[,factor=F][,jitter=SHARE%], such as 1s..60s,jitter=50%. The factor is 2 and
// the jitter 0% by default.
func ParseBackoff(s string) (b Backoff, err error) {
	span, more, _ := strings.Cut(s, ",")
	from, to, ranged := strings.Cut(span, "..")
	b.Factor = 2
	var bad [4]error
	b.Base, bad[0] = time.ParseDuration(from)
	b.Max, bad[1] = time.ParseDuration(to)
	for part := range strings.SplitSeq(more, ",") {
		key, value, _ := strings.Cut(part, "=")
		switch {
		case key == "factor":
			b.Factor, bad[2] = strconv.ParseFloat(value, 64)
		case key == "jitter" && strings.HasSuffix(value, "%"):
			b.Jitter, bad[3] = strconv.ParseFloat(strings.TrimSuffix(value, "%"), 64)
			b.Jitter /= 100
		case more != "":
			ranged = false
		}
	}
	right := b.Base > 0 && b.Base <= b.Max && b.Factor >= 1 && b.Factor <= 1000 && b.Jitter >= 0 &&
		b.Jitter <= 1
	if cmp.Or(bad[:]...) != nil || !ranged || !right {
		return Backoff{},
			fmt.Errorf("%q: a backoff is BASE..MAX, with factor=F and jitter=SHARE%% behind it "+
				"(1s..60s,jitter=50%%)", s)
	}
	return b, nil
}

// least returns the shortest wait after a denial of a request's try with a number from 1.
func (b Backoff) least(try int) time.Duration {
	wait := min(float64(b.Max), float64(b.Base)*math.Pow(b.Factor, float64(try-1)))
	return time.Duration(wait * (1 - b.Jitter))
}

// backoff judges the waits after denials that state none. A client of eight or more such waits, nine of ten
// of which are over within the slack of a timer, waits for nothing. If a backoff is declared, no wait is
// shorter. judged is false if no client has so many of these waits, and no backoff is declared.
func (s *session) backoff() (c result.Claim, judged bool) {
	const id = string(result.ClaimClientBackoff)
	own := map[string][]*clientWait{}
	for i := range s.waits {
		if w := &s.waits[i]; !w.told && w.sure {
			own[w.denial.Partition] = append(own[w.denial.Partition], w)
		}
	}
	declared := s.opts.Backoff != Backoff{}
	var found []result.Finding
	n, longest := 0, time.Duration(0)
	for _, client := range slices.Sorted(maps.Keys(own)) {
		waits := own[client]
		if len(waits) < leastWaits && !declared {
			continue
		}
		n += len(waits)
		var short []*clientWait
		for _, w := range waits {
			longest = max(longest, w.gap())
			if w.gap() <= timerSlack {
				short = append(short, w)
			}
			least := s.opts.Backoff.least(w.try)
			if declared && w.gap()+timerSlack < least {
				found = append(found, w.tooShort(least))
			}
		}
		if len(waits) >= leastWaits && 10*len(short) >= 9*len(waits) {
			found = append(found, waitless(short, len(waits)))
		}
	}
	what := fmt.Sprintf("%s after denials that stated none, the longest %s", text.Plural(n, "wait"),
		text.Seconds(longest))
	return result.Settle(id, what, result.Of(n, "retries after denials that stated no wait"),
		found[:min(len(found), findingsMax)]...), declared || n > 0
}

// tooShort returns the finding of a wait that is shorter than declared.
func (w *clientWait) tooShort(least time.Duration) result.Finding {
	return finding(ShortBackoff, w.gap().Milliseconds(), least.Milliseconds(),
		fmt.Sprintf("%s, #%d, came %s after denial %d of its request (#%d), which stated no wait: declared "+
			"are at least %s", url(w.retry), w.retry.Seq, text.Seconds(w.gap()), w.try, w.denial.Seq,
			text.Seconds(least)), w.denial, w.retry)
}

// waitless returns the finding of a client that does not wait.
func waitless(short []*clientWait, of int) result.Finding {
	var all []*timeline.Observation
	longest := time.Duration(0)
	for _, w := range short {
		all, longest = append(all, w.retry), max(longest, w.gap())
	}
	return finding(NoWait, int64(len(short)), 0, fmt.Sprintf("%d of %d retries after denials that stated no "+
		"wait came within %s: the client does not wait at all", len(short), of, text.Brief(longest)), all...)
}

// Breaker is after how many denials in a row a client sends nothing for a while. The zero value is not
// judged.
type Breaker struct {
	Denials int
	Open    time.Duration
}

// ParseBreaker reads DENIALS/TIME, such as 5/30s.
func ParseBreaker(s string) (b Breaker, err error) {
	n, open, _ := strings.Cut(s, "/")
	b.Denials, err = strconv.Atoi(n)
	if b.Open, _ = time.ParseDuration(open); err != nil || b.Denials < 1 || b.Open <= 0 {
		return Breaker{}, fmt.Errorf("%q: a breaker is DENIALS/TIME (5/30s)", s)
	}
	return b, nil
}

// breaker judges that a client sends nothing for the declared time after the declared number of denials in a
// row. A request that may have been on its way when the last denial came is no evidence, and an admission
// closes the breaker.
func (s *session) breaker() result.Claim {
	const id = string(result.ClaimClientBreaker)
	var found []result.Finding
	opened := 0
	for _, p := range s.tl.ByPartition() {
		obs := p.Observations
		for _, d := range s.openings(obs) {
			until := d.FirstByte + s.opts.Breaker.Open - timerSlack
			if s.tl.End() >= until {
				opened++
			}
			if o := firstWhileOpen(obs, d, until); o != nil {
				found = append(found, finding(OpenBreaker, (o.Sent-d.FirstByte).Milliseconds(),
					s.opts.Breaker.Open.Milliseconds(), fmt.Sprintf("%s, #%d, came %s after denial #%d, the "+
						"last of %d in a row: declared are %s without a request", url(o), o.Seq,
						text.Seconds(o.Sent-d.FirstByte), d.Seq, s.opts.Breaker.Denials,
						text.Seconds(s.opts.Breaker.Open)), d, o))
			}
		}
	}
	if opened == 0 && len(found) == 0 {
		return TooFew(id, fmt.Sprintf("no client had %d denials in a row", s.opts.Breaker.Denials))
	}
	return result.Settle(id, fmt.Sprintf("the breaker opened %s", text.Plural(opened, "time")),
		result.Of(max(opened, len(found)), "breakers that opened"), found[:min(len(found), findingsMax)]...)
}

// openings returns the denials that open the breaker of a client: the last of so many in a row, and one of a
// request that was sent when the breaker was over.
func (s *session) openings(obs []timeline.Observation) (out []*timeline.Observation) {
	answers := make([]*timeline.Observation, 0, len(obs))
	for i := range obs {
		if obs[i].Answered {
			answers = append(answers, &obs[i])
		}
	}
	slices.SortStableFunc(answers,
		func(a, b *timeline.Observation) int { return cmp.Compare(a.FirstByte, b.FirstByte) })
	run := 0
	var open *timeline.Observation
	for _, o := range answers {
		switch {
		case o.Outcome == timeline.Denied:
			run++
		default:
			run, open = 0, nil
		}
		if run < s.opts.Breaker.Denials {
			continue
		}
		if open == nil || o.Sent >= open.FirstByte+s.opts.Breaker.Open-timerSlack {
			open, out = o, append(out, o)
		}
	}
	return out
}

// firstWhileOpen returns the first request that was surely sent after d had arrived, and before the breaker
// was over or an admission closed it. nil: there is none.
func firstWhileOpen(obs []timeline.Observation, d *timeline.Observation,
	until time.Duration) *timeline.Observation {
	for i := range obs {
		o := &obs[i]
		if o.Answered && o.Outcome != timeline.Denied && o.FirstByte >= d.FirstByte {
			until = min(until, o.FirstByte)
		}
	}
	for i := range obs {
		if o := &obs[i]; o.Sent-d.FirstByte > d.FirstByte-d.Sent && o.Sent < until {
			return o
		}
	}
	return nil
}
