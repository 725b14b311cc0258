package report

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Dice is a small generator that always gives the same numbers.
type Dice uint64

// Next returns a number of at least 0 and less than n.
func (d *Dice) Next(n int64) int64 {
	*d = *d*6364136223846793005 + 1442695040888963407
	return int64(uint64(*d)>>33) % n
}

// Limit parses a SPEC.
func Limit(t testing.TB, text string) spec.Limit {
	t.Helper()
	l, err := spec.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Record plays a burst of 40 requests, a rest, and an overload of `rate` requests a second for 3 s on each of
// n partitions. Token buckets of 10/s with the given burst answer. Answers take 0.2 to 1.2 ms.
func Record(n, burst, rate int) *timeline.Timeline {
	tl := &timeline.Timeline{Header: timeline.Header{
		Started: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC), WallError: 500 * time.Millisecond,
		Spreads:   []timeline.Spread{{Phase: "burst", Requests: 40 * n, Width: 812 * time.Microsecond}},
		Protocols: []string{"HTTP/1.1", "HTTP/2, TLS 1.3"},
		Audit: timeline.Audit{CPUShare: 0.42, LongestGC: 87 * time.Microsecond, Collections: 3,
			Connections: 8},
	}}
	d := Dice(7)
	for k := range n {
		name := fmt.Sprintf("k%d", k+1)
		at := func(phase string, due time.Duration) {
			sent := due + 2*time.Millisecond + time.Duration(d.Next(200_000))
			took := 200*time.Microsecond + time.Duration(d.Next(1_000_000))
			tl.Observations = append(tl.Observations, timeline.Observation{
				Arrival: timeline.Arrival{Partition: name, Phase: phase, At: due + 2*time.Millisecond,
					Cost: 1},
				Sent: sent, FirstByte: sent + took, Done: sent + took + 9_000, Answered: true})
		}
		for range 40 {
			at("burst", 0)
		}
		for i := range 3 * rate {
			at("overload", 2*time.Second+time.Duration(i)*time.Second/time.Duration(rate))
		}
	}
	slices.SortStableFunc(tl.Observations,
		func(a, b timeline.Observation) int { return int(a.Sent - b.Sent) })
	decide(tl, burst)
	return tl
}

// decide decides each request in the middle of its interval, with buckets of 10/s.
func decide(tl *timeline.Timeline, burst int) {
	type bucket struct {
		level float64
		at    time.Duration
	}
	buckets := map[string]*bucket{}
	for i := range tl.Observations {
		o := &tl.Observations[i]
		o.Seq = i
		b := buckets[o.Partition]
		if b == nil {
			b = &bucket{level: float64(burst)}
			buckets[o.Partition] = b
		}
		now := max(b.at, o.Sent+(o.FirstByte-o.Sent)/2)
		b.level = min(float64(burst), b.level+(now-b.at).Seconds()*10)
		b.at = now
		if b.level >= 1 {
			b.level--
			o.Outcome, o.Status = timeline.Allowed, 200
		} else {
			o.Outcome, o.Status = timeline.Denied, 429
			o.Fields = timeline.Fields{{Name: "Retry-After", Value: "1"}}
		}
	}
}

// Load returns n requests in a minute on 6 keys. Every tenth is admitted, the others are denied.
func Load(n int) *timeline.Timeline {
	tl := &timeline.Timeline{Observations: make([]timeline.Observation, n)}
	d := Dice(3)
	for i := range tl.Observations {
		sent := time.Duration(i) * time.Minute / time.Duration(n)
		o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Partition: string(rune('a' + i%6)),
			Phase: "overload", At: sent, Cost: 1},
			Sent: sent, FirstByte: sent + time.Duration(150_000+d.Next(400_000)), Answered: true,
			Outcome: timeline.Denied, Status: 429}
		if i%10 == 0 {
			o.Outcome, o.Status = timeline.Allowed, 200
		}
		tl.Observations[i] = o
	}
	return tl
}

// SampleScenario returns a scenario with a recording.
func SampleScenario(t testing.TB, id, title, spec string, tl *timeline.Timeline) result.Scenario {
	return result.Scenario{
		ID: id, Title: title, Kind: result.Required, Source: "SOURCES.md#" + id,
		File:   "scenarios/" + id + ".yaml",
		Target: "http://127.0.0.1:8080/", Embedded: result.Embedded{Store: "memory"}, Limit: Limit(t, spec),
		Answers: result.Answers{Counts: tl.Counts()},
		Latency: timeline.LatencyOf(tl), Header: tl.Header, Timeline: tl, Duration: 5 * time.Second,
		Kept: result.Kept{TimelinePath: "reports/2026-11-20T10-00-00/" + id + "/timeline.ndjson"},
	}
}

// Between returns the interval from lo to hi.
func Between(lo, hi float64) result.Interval {
	return result.Interval{Lo: lo, Hi: hi, LoSet: true, HiSet: true}
}

// Passing returns a scenario that passed.
func Passing(t testing.TB) result.Scenario {
	s := SampleScenario(t, "burst", "A full start admits exactly its burst at once",
		"token-bucket,rate=10/s,burst=20", Record(2, 20, 100))
	m := result.Measured{Burst: Between(20, 20), Rate: Between(9.971, 10.039)}
	s.Verdict = result.Pass
	s.Fresh = true
	s.Judgement = &result.Judgement{Verdict: result.Pass, Measured: m,
		Partitions: []result.PartitionVerdict{
			{Partition: "k1", Verdict: result.Pass, Measured: m, Judged: 340},
			{Partition: "k2", Verdict: result.Pass,
				Measured: result.Measured{Burst: Between(20, 20),
					Rate: result.Interval{Lo: 9.9, LoSet: true}}, Judged: 340},
		}}
	s.Claims = []result.Claim{
		{ID: "conformance", Kind: result.ClaimConformance,
			Verdict: result.Pass, Text: "680 decisions on 2 partitions conform",
			Chances: result.Chances{Seen: 2, Demanded: 1,
				Of: "clients that were answered more often than the limit admits"}},
		{ID: "retry-after", Verdict: result.Pass, Text: "580 of 580 denials have a valid Retry-After",
			Chances: result.Of(580, "denials read for Retry-After")},
	}
	return s
}

// Failing returns a scenario that failed. The target has a burst of 21 instead of the declared 20, and a
// header claim failed too.
func Failing(t testing.TB) result.Scenario {
	tl := Record(2, 21, 100)
	s := SampleScenario(t, "overload-10x", "At ten times the limit, admissions stay at the limit",
		"token-bucket,rate=10/s,burst=20", tl)
	f := result.Finding{Kind: result.OverAdmission, Partition: "k1", Seen: 21, Bound: 20, Rule: "AL-UPPER",
		Text: "21 requests allowed within 0.001 s; at most 20 + floor(10/s * 0.001 s) = 20 are possible"}
	for _, o := range tl.Observations {
		if o.Partition == "k1" && o.Phase == "burst" && o.Outcome == timeline.Allowed {
			if len(f.Observations) == 0 {
				f.From = o.Sent
			}
			f.Observations = append(f.Observations, o.Seq)
			f.To = max(f.To, o.FirstByte)
		}
	}
	s.Verdict = result.Fail
	m := result.Measured{Burst: Between(21, 21), Rate: Between(9.96, 10.05)}
	s.Judgement = &result.Judgement{Verdict: result.Fail, Measured: m,
		Partitions: []result.PartitionVerdict{
			{Partition: "k1", Verdict: result.Fail, Findings: []result.Finding{f}, Measured: m,
				Judged: 340},
			{Partition: "k2", Verdict: result.Inconclusive, Reason: result.TooFew,
				Detail: "burst measured at least 19", Judged: 340},
		}}
	s.Claims = []result.Claim{
		{ID: "conformance", Kind: result.ClaimConformance,
			Verdict: result.Fail, Text: "partition k1 was admitted too much",
			Findings: []result.Finding{f}},
		{ID: "retry-after-honored", Kind: result.ClaimRetryAfterHonored,
			Verdict: result.Fail, Text: "3 of 12 clients that waited as told were denied again"},
		{ID: "denied-p99", Verdict: result.Pass, Text: "denied p99 1.19 ms, at most 20.00 ms",
			Chances: result.Of(12, "denied answers that were timed")},
	}
	return s
}

// Unreachable returns a scenario whose target did not answer.
func Unreachable(t testing.TB) result.Scenario {
	tl := &timeline.Timeline{Header: timeline.Header{Unsent: 40}}
	s := SampleScenario(t, "sustained", "At nine tenths of the limit nothing is denied",
		"gcra,rate=100/1m,burst=5", tl)
	s.Reason, s.Detail = result.Unreachable, "dial 127.0.0.1:8080: connection refused"
	s.Claims = []result.Claim{{ID: "conformance", Kind: result.ClaimConformance,
		Reason: result.Unreachable}}
	return s
}

// Unknown returns a scenario in which no request was answered.
func Unknown(t testing.TB) result.Scenario {
	tl := Record(1, 20, 10)
	for i := range tl.Observations {
		o := &tl.Observations[i]
		o.Outcome, o.Status, o.Answered, o.FirstByte, o.Done, o.Error, o.Fields = timeline.Unknown, 0, false,
			0, 0, "timeout", nil
	}
	tl.Header.Ended = 10 * time.Second
	s := SampleScenario(t, "boundary-double-burst", "No window shows twice its quota",
		"fixed-window,rate=100/1m",
		tl)
	s.Reason, s.Detail = result.TooFew, "70 of 70 requests were not answered"
	s.Judgement = &result.Judgement{Reason: result.TooFew,
		Partitions: []result.PartitionVerdict{{Partition: "k1", Reason: result.TooFew}}}
	s.Claims = []result.Claim{{ID: "conformance", Kind: result.ClaimConformance,
		Reason: result.TooFew, Text: "no decision was seen"}}
	return s
}

// Hostile returns a failing scenario all of whose texts try to be something else.
func Hostile(t testing.TB) result.Scenario {
	const bad = "</script><b onload=x>&amp;\x1b[31m\u202eevil\u2066 100% `|` @bob =1+1 \"q\" 'a' ]]> " +
		"\r\n::error::x \xff \u009b2J"
	s := Failing(t)
	s.ID, s.Title, s.Source, s.Detail = "hostile"+bad, bad, bad, bad
	s.File, s.Target, s.TimelinePath = "a,b:c%"+bad, "http://user:secret@127.0.0.1/?q="+"%3Cscript%3E",
		"reports/it's "+bad
	s.Header.Notes = []string{bad}
	s.Statuses = []timeline.StatusCount{{Status: 302, Outcome: timeline.Allowed, Answers: 680,
		Location: "http://user:secret@127.0.0.1/" + bad}}
	tl := *s.Timeline
	tl.Observations = slices.Clone(tl.Observations)
	for i := range tl.Observations {
		o := &tl.Observations[i]
		o.Partition, o.Phase, o.Error = "=cmd|' /C calc'!A0"+o.Partition+bad, bad+o.Phase, bad
	}
	s.Timeline = &tl
	name := "=cmd|' /C calc'!A0k1" + bad
	f := s.Judgement.Partitions[0].Findings[0]
	f.Partition, f.Text, f.Kind = name, bad, result.Kind(bad)
	s.Judgement = &result.Judgement{Verdict: result.Fail, Detail: bad,
		Partitions: []result.PartitionVerdict{
			{Partition: name, Verdict: result.Fail, Detail: bad, Findings: []result.Finding{f}}}}
	s.Claims = []result.Claim{
		{ID: "conformance", Kind: result.ClaimConformance,
			Verdict: result.Fail, Text: bad, Findings: []result.Finding{f}},
		{ID: bad, Verdict: result.Fail, Text: bad}, {ID: "x", Reason: result.Reason(bad), Text: bad},
	}
	return s
}

// SampleRun returns a run of scenarios.
func SampleRun(scenarios ...result.Scenario) *result.Run {
	return &result.Run{
		ID: "2026-11-20T10-00-00", Started: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC),
		Duration: 41200 * time.Millisecond,
		Version:  "v0.1.0", Command: []string{"rlcheck", "run", "scenarios/"}, Scenarios: scenarios,
		Host: result.Host{GoVersion: "go1.26.0", OS: "linux", Arch: "amd64", CPUs: 2},
	}
}

// Measured returns a run of scenarios with one limit, and with what the first of them measured.
func Measured(scenarios ...result.Scenario) *result.Run {
	r := SampleRun(scenarios...)
	r.Policy = &result.Policy{Limit: scenarios[0].Limit, Measured: scenarios[0].Judgement.Measured}
	for i := range scenarios {
		r.Policy.From = append(r.Policy.From, scenarios[i].ID)
	}
	return r
}

// Alike returns a run in which five scenarios fail for one cause and one of them also for another. Two stay
// open for want of a denial, and two are answered 404.
func Alike(t testing.TB) *result.Run {
	var all []result.Scenario
	for i, id := range []string{"burst", "sustained", "recovery", "overload-10x", "replicas"} {
		s := Failing(t)
		s.ID = id
		s.Judgement.Hint = "a burst of 21 would explain all of this (token-bucket,rate=10/s,burst=21)"
		s.Judgement.Measured = result.Measured{Burst: Between(21, 21), Rate: Between(1, 0)}
		if i != 3 {
			s.Claims = s.Claims[:1]
		}
		all = append(all, s)
	}
	for i, id := range []string{"retry-after", "window-edge", "tiers", "route-limits"} {
		s := Unknown(t)
		s.ID, s.Limit = id, all[0].Limit
		s.Detail = fmt.Sprintf("%d of %d requests were not answered", 10+i, 10+i)
		if i >= 2 {
			s.Reason, s.Detail = result.UnclassifiedStatus, "no rule classifies status 404"
			ok := timeline.StatusCount{Status: 200, Outcome: timeline.Allowed, Answers: 1}
			s.Statuses = []timeline.StatusCount{ok, {Status: 404, Answers: 70}}[i-2:]
		}
		all = append(all, s)
	}
	r := Measured(all...)
	r.Policy.From = r.Policy.From[:5]
	return r
}

// Uncounted returns Failing as a recommended scenario that fails by who its clients are, so that it does not
// count.
func Uncounted(t testing.TB) result.Scenario {
	s := Failing(t)
	s.Kind = result.Recommended
	for _, p := range s.Judgement.Partitions {
		for i := range p.Findings {
			p.Findings[i].Beyond = true
		}
	}
	return s
}

// SampleRuns returns runs of every kind, by the names of the golden files that print them.
func SampleRuns(t testing.TB) map[string]*result.Run {
	interrupted := SampleRun(Passing(t))
	interrupted.Interrupted = true
	s := &interrupted.Scenarios[0]
	s.Verdict, s.Reason, s.Detail, s.Header.Interrupted = result.Inconclusive, result.Interrupted,
		"stopped after 2.1 s of 5 s", true
	s.Kind, s.Judgement = result.Recommended, nil
	s.Claims = []result.Claim{{ID: "conformance", Kind: result.ClaimConformance,
		Reason: result.Interrupted, Text: "not judged"}}
	bad := SampleRun(Hostile(t))
	bad.ID, bad.Version, bad.Command = "r\x1b[2J", "v</title><script>", []string{"rlcheck", "<!--", "\u202e"}
	return map[string]*result.Run{
		"pass":        Measured(Passing(t)),
		"fail":        Measured(Failing(t)),
		"unreachable": SampleRun(Unreachable(t)),
		"unknown":     SampleRun(Unknown(t)),
		"interrupted": interrupted,
		"empty":       {ID: "empty"},
		"hostile":     bad,
		"mixed":       SampleRun(Passing(t), Uncounted(t), Unreachable(t), Unknown(t)),
		"alike":       Alike(t),
	}
}

// Claimed returns a scenario with one failed claim of one finding.
func Claimed(id, claim string, kind result.Kind, text string) result.Scenario {
	f := result.Finding{Kind: kind, Text: text, Observations: []int{1}}
	return result.Scenario{ID: id, Kind: result.Required, Verdict: result.Fail,
		Claims: []result.Claim{{ID: claim, Verdict: result.Fail, Text: text,
			Findings: []result.Finding{f}}}}
}
