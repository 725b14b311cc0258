package identify

import (
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// A limit that forgets who is silent for a while admits its whole quota after it. No experiment narrows that
// time. So it is no kind that is looked for: where nothing else explains a recording, or only what is rare,
// it is told.

// forgetting is why nothing is named where a limit that forgets explains the recording.
const forgetting = "a client that is silent for %s..%s has the whole quota again, and a limit that " +
	"forgets so early (ttl) explains all answers"

// mayForget tells of limits that forget where one explains all, and no usual limit does.
func (x *search) mayForget(res *Result) {
	usable := (x.o.Fresh || x.skip > 0) && x.aside == nil && !x.recorded()
	if !usable || x.stage == 0 && len(res.Found) > 0 {
		return
	}
	const tries = 8
	tl, tried := x.shown(), 0
	all := silences(tl)
	for i, silence := range all {
		quota, full := quotaOf(anew(tl, silence))
		if i == 0 || !full {
			continue
		}
		if tried++; tried > tries || x.overdue() {
			return
		}
		if found := x.forgetful(anew(tl, silence), quota, all[i-1], silence); len(found) > 0 {
			res.Verdict, res.Found = Open, append(res.Found, found...)
			res.Stopped = fmt.Sprintf(forgetting, quantity.Brief(all[i-1]), quantity.Brief(silence))
			res.Gone, res.Sharper, res.Also = nil, nil, nil
			return
		}
	}
}

// forgetful returns the limits of a quota, or a bit less of a bucket, that forget after a silence longer than
// from, to at most, and explain the recording; read is that with another client after each.
func (x *search) forgetful(read *timeline.Timeline, quota int64, from, to time.Duration) (out []Candidate) {
	const asked = 300
	for _, k := range kinds()[:4] {
		b := x.widest(k)
		b.q2 = quota
		r := &region{kind: k, live: []box{b}, over: x.overdue}
		if r.narrow(read, asked); r.empty() {
			continue
		}
		forgets := *k
		forgets.base.TTL = roundest(from+time.Millisecond, to)
		r.kind = &forgets
		if c := x.ofOne(r); !x.fails(c) {
			out = append(out, c)
		}
	}
	return out
}

// silences are the times from an answer to the next request, ascending, of which each is longer than the one
// before by more than a hundredth.
func silences(tl *timeline.Timeline) []time.Duration {
	var all []time.Duration
	end := time.Duration(0)
	for i := range tl.Observations {
		o := &tl.Observations[i]
		if i > 0 && o.Sent > end {
			all = append(all, o.Sent-end)
		}
		end = max(end, o.Sent, o.FirstByte)
	}
	slices.Sort(all)
	return slices.CompactFunc(all, func(b, a time.Duration) bool { return b < a*101/100 })
}

// quotaOf returns how many requests of the first client were admitted before it was denied, and whether each
// other one that was denied had at least as many admitted.
func quotaOf(tl *timeline.Timeline) (quota int64, full bool) {
	quota, full = -1, true
	admitted, denied := map[string]int64{}, map[string]bool{}
	for i := range tl.Observations {
		o := &tl.Observations[i]
		if denied[o.Partition] {
			continue
		}
		if o.Outcome != timeline.Denied {
			admitted[o.Partition]++
			continue
		}
		if denied[o.Partition] = true; quota < 0 {
			quota = admitted[o.Partition]
		}
		full = full && admitted[o.Partition] >= quota
	}
	return quota, full
}
