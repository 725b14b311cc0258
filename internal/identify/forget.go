package identify

import (
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// A limit that forgets silent clients (ttl) admits its whole quota after a silence. No experiment narrows
// that time, so it is no kind to look for. It is told where nothing else explains a recording, or only a rare
// kind does.

// forgetting is the reason where a limit that forgets explains the recording.
const forgetting = "a client that is silent for %s..%s has the whole quota again, and a limit that " +
	"forgets so early (ttl) explains all answers"

// mayForget adds the limits that forget, where one explains all and no usual limit does.
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

// forgetful returns the limits of at most quota units that forget and explain the recording. They forget
// after a silence between from and to. read is the recording with a new client after each silence of that
// length.
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

// silences are the times from the last answer to the next request, ascending. Times that differ by less than
// a hundredth are left out.
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

// quotaOf returns how many requests of the first client were admitted before its first denial. It also tells
// whether every other client that was denied had as many admitted.
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
