package trial

import (
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/identify"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// forms returns the declared quota under each algorithm, with the readings that products are known to use.
// The most specific forms come first: a queue predicts how long each answer waits, a fixed window where it
// begins.
func forms(of []*result.Scenario) (out []result.Explanation) {
	quota, window := Whole(of[0].Limit[0])
	add := func(text, algorithm, keys string) {
		limit, err := spec.Parse(fmt.Sprintf("%s,rate=%d/%s%s", algorithm, quota, window, keys))
		if err == nil { // else there is no such SPEC
			out = append(out, result.Explanation{Text: text, Limit: limit})
		}
	}
	if slices.ContainsFunc(of, func(s *result.Scenario) bool { return identify.Waits(s.Timeline) }) {
		const most = 8
		for n := range min(most, max(1, quota-1)) {
			add("a queue", "leaky-bucket-queue", fmt.Sprintf(",queue=%d,undelayed=%d", quota-1, n))
		}
	}
	add("a token bucket", "token-bucket", fmt.Sprintf(",burst=%d", quota))
	for _, refresh := range []string{"", ",refresh=admitted", ",refresh=all"} {
		add("a fixed window that the first request opens", "fixed-window", ",align=first"+refresh)
	}
	add("a sliding window log", "sliding-window-log", "")
	for _, count := range []string{"", ",count=all"} {
		for _, align := range []string{"first", "shared", "unknown"} {
			for _, rounding := range []string{"", ",rounding=up", ",rounding=nearest"} {
				add("a sliding window counter", "sliding-window-counter", ",align="+align+count+rounding)
			}
		}
	}
	add("a sliding window log", "sliding-window-log", ",count=all")
	for _, align := range []string{"clock", "shared", "unknown"} {
		add("a fixed window", "fixed-window", ",align="+align)
	}
	return out
}

// bans returns limits with a ban after a denial. The ban lasts as long as the longest Retry-After of a
// denial. It is added to the declared limit and to a bucket, windows and a log of the same quota. The result
// is nil if no denial had a Retry-After.
func bans(of []*result.Scenario) []result.Explanation {
	longest := time.Duration(0)
	for _, s := range of {
		for i := range s.Timeline.Observations {
			o := &s.Timeline.Observations[i]
			v, has := o.Fields.Get("Retry-After")
			if !has || o.Outcome != timeline.Denied {
				continue
			}
			if told, err := headers.ParseRetryAfter(v); err == nil {
				longest = max(longest, told.Wait(s.Timeline.Header.Started.Add(o.FirstByte)))
			}
		}
	}
	longest = longest.Round(time.Second)
	var out []result.Explanation
	if longest == 0 {
		return nil
	}
	quota, window := Whole(of[0].Limit[0])
	rate := fmt.Sprintf("%d/%s", quota, window)
	first := "fixed-window,rate=" + rate + ",align=first"
	for _, words := range []string{of[0].Limit.String(), of[0].Limit.String() + ",align=first",
		fmt.Sprintf("token-bucket,rate=%s,burst=%d", rate, quota), first, "fixed-window,rate=" + rate,
		"sliding-window-log,rate=" + rate} {
		if l, err := spec.Parse(fmt.Sprintf("%s,ban=%s", words, longest)); err == nil { // has a ban already
			out = append(out, result.Explanation{Limit: l,
				Text: "a ban of " + text.Brief(longest) + " after a denial"})
		}
	}
	return out
}

// seconds returns limiters with the declared quota whose clock counts whole seconds, as in some products. It
// keeps those for which one clock explains each recording. It returns nil for windows of 30 s or more: there
// a second explains little.
func seconds(of []*result.Scenario) []result.Explanation {
	quota, window := Whole(of[0].Limit[0])
	if window >= 30*time.Second {
		return nil
	}
	all := identify.OfWholeSeconds(quota, window.Truncate(time.Second), window)
	return slices.DeleteFunc(all, func(e result.Explanation) bool {
		return slices.ContainsFunc(of, func(s *result.Scenario) bool {
			return !identify.ByOneClock(s.Timeline, e.Limit)
		})
	})
}

// Whole returns how many units a policy admits at once, and the time in which that many units come back.
func Whole(p spec.Policy) (quota int64, window time.Duration) {
	return p.Full(), time.Duration(float64(p.Rate.Per) * float64(p.Full()) / float64(p.Rate.N))
}

// lives returns the declared limit with a TTL: the limiter forgets a client after a silence. Each TTL lies
// between two neighbouring lengths of the silences in the recordings, so that it divides them differently.
func lives(of []*result.Scenario) (out []result.Explanation) {
	const most = 30
	lengths := []time.Duration{0}
	for _, s := range of {
		last := map[string]time.Duration{}
		for i := range s.Timeline.Observations {
			o := &s.Timeline.Observations[i]
			if since, seen := last[o.Partition]; seen {
				lengths = append(lengths, max(0, o.Sent-since))
			}
			last[o.Partition] = max(last[o.Partition], o.FirstByte, o.Sent)
		}
	}
	slices.Sort(lengths)
	for i := len(lengths) - 1; i > 0 && len(out) < most; i-- { // the longest TTL forgets least
		from, to := lengths[i-1], lengths[i]
		if to-from < to/20 {
			continue
		}
		ttl := to
		for _, unit := range []time.Duration{time.Hour, time.Minute, 10 * time.Second, time.Second,
			100 * time.Millisecond, 10 * time.Millisecond, time.Millisecond} {
			if ttl = to.Truncate(unit); ttl > from {
				break
			}
		}
		if l, err := spec.Parse(fmt.Sprintf("%s,ttl=%s", of[0].Limit, ttl)); err == nil && ttl > from {
			out = append(out, result.Explanation{Limit: l,
				Text: fmt.Sprintf("state that is forgotten %s to %s after the last request",
					text.Brief(from), text.Brief(to))})
		}
	}
	return out
}

// batches returns buckets of the declared quota and rate that a timer fills, so many units at a time. These
// are the units of the rate, or a part of the quota that fits it a whole number of times, the larger first.
func batches(l spec.Limit) (out []result.Explanation) {
	const most, parts = 12, 1000
	quota, window := Whole(l[0])
	bucket := l.String()
	if !l[0].Bucketed() {
		bucket = fmt.Sprintf("token-bucket,rate=%d/%s,burst=%d", quota, window, quota)
	}
	units := []int64{l[0].Rate.N}
	for k := int64(1); k <= min(quota, parts); k++ {
		if n := quota / k; quota%k == 0 && n != l[0].Rate.N {
			units = append(units, n)
		}
	}
	for _, n := range units[:min(len(units), most)] {
		batch, err := spec.Parse(fmt.Sprintf("%s,refill=interval,fill=%d", bucket, n))
		if err == nil { // else a large quota has no such SPEC
			out = append(out, result.Explanation{Limit: batch,
				Text: "a bucket that a timer fills with " + text.Plural(int(n), "unit") + " at a time"})
		}
	}
	return out
}
