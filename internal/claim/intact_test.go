package claim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// intactOne judges a recording without a limit.
func intactOne(t *testing.T, tl *timeline.Timeline, e IntactExpect) result.Claim {
	t.Helper()
	c := judgeIntact(newRecording(tl, nil, Expect{}, NoWaits), e)
	Sound(t, tl, c)
	return c
}

// pairOf is the same burst at the origin and through the proxy, of two admissions and three denials each. The
// origin's begins at seq 0 and 0 ms on partition o, the proxy's at seq 10 and 5000 ms on partition p. edit
// may change each answer.
func pairOf(edit func(o *timeline.Observation)) *timeline.Timeline {
	tl := sampleRecording()
	tl.Header.Started = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for side := range 2 {
		for i := range 5 {
			status, at := 200, 5000*side+i
			if i >= 2 {
				status = 429
			}
			o := sampleRequest(10*side+i, at, at+1, status, "Content-Type: application/problem+json",
				"Date: "+tl.Header.Started.Add(time.Duration(at)*ms).Format("Mon, 02 Jan 2006 15:04:05 GMT"),
				"Ratelimit-Limit: 2", "Ratelimit-Remaining: 0", "Ratelimit-Reset: 9")
			o.Partition, o.Phase, o.Origin = [...]string{"o", "p"}[side],
				[...]string{"direct", "proxied"}[side], side == 0
			if status == 429 {
				o.Fields = append(o.Fields, timeline.Field{Name: "Retry-After", Value: "10"})
				o.Body = fmt.Sprintf(`{"status":429,"detail":"key %s #%d","type":"about:quota"}`, o.Partition,
					i)
			}
			if edit != nil {
				edit(&o)
			}
			tl.Observations = append(tl.Observations, o)
		}
	}
	return tl
}

// set returns an edit that sets a field of the answers with the seqs, or removes it if value is empty.
func set(name, value string, seqs ...int) func(*timeline.Observation) {
	return func(o *timeline.Observation) {
		if !slices.Contains(seqs, o.Seq) {
			return
		}
		o.Fields = slices.DeleteFunc(slices.Clone(o.Fields),
			func(f timeline.Field) bool { return f.Name == name })
		if value != "" {
			o.Fields = append(o.Fields, timeline.Field{Name: name, Value: value})
		}
	}
}

func body(text string, seqs ...int) func(*timeline.Observation) {
	return func(o *timeline.Observation) {
		if slices.Contains(seqs, o.Seq) {
			o.Body = text
		}
	}
}

func both(edits ...func(*timeline.Observation)) func(*timeline.Observation) {
	return func(o *timeline.Observation) {
		for _, edit := range edits {
			edit(o)
		}
	}
}

var (
	everything = IntactExpect{Fields: []string{"Retry-After", "RateLimit*", "X-RateLimit-*", "Date"},
		Status: true, Body: true}
	allOrigin = []int{0, 1, 2, 3, 4}
	allProxy  = []int{10, 11, 12, 13, 14}
)

func TestIntact(t *testing.T) {
	outcome := func(status int, seqs ...int) func(*timeline.Observation) {
		return func(o *timeline.Observation) {
			if slices.Contains(seqs, o.Seq) {
				x := sampleRequest(0, 0, 0, status)
				o.Status, o.Outcome, o.Answered = status, x.Outcome, x.Answered
			}
		}
	}
	rows := []struct {
		name string
		edit func(*timeline.Observation)
		want string // kinds of the findings, pass, or a reason
		text string
	}{
		{"the same", nil, "pass",
			"5 answers through the proxy are as 5 answers of the origin in Date, Ratelimit-Limit, " +
				"Ratelimit-Remaining, Ratelimit-Reset, Retry-After, status, body"},
		{"lost in all", set("Retry-After", "", 12, 13, 14), "field-lost",
			"Retry-After is in all 3 answers of the origin to denied requests (#2), and in 0 of 3 through " +
				"the proxy: #12, #13, #14 lack it"},
		{"lost in one", set("Retry-After", "", 13), "field-lost",
			"and in 2 of 3 through the proxy: #13 lack it"},
		{"lost in an admission", set("Ratelimit-Remaining", "", 10), "field-lost",
			"Ratelimit-Remaining is in all 2 answers of the origin to allowed requests (#0)"},
		{"the origin lacks it in one", both(set("Retry-After", "", 3), set("Retry-After", "", 12, 13, 14)),
			"pass", "Retry-After is in only 2 of 3 answers of the origin when denied, so it is not " +
				"judged"},
		{"the origin lacks it", set("Retry-After", "", 2, 3, 4), "pass",
			"the proxy adds Retry-After when denied"},
		{"a field that is not expected is lost", set("Content-Length", "5", 0, 1, 2, 3, 4), "pass", ""},
		{"the status of one", outcome(503, 13), "status-changed",
			"3 denials of the origin have status 429 (#2); through the proxy 1 of 3 have 503: #13"},
		{"the origin has that status too", both(outcome(503, 2), outcome(503, 13)), "pass", ""},
		{"the status of an admission is not compared", func(o *timeline.Observation) {
			if o.Seq == 10 {
				o.Status = 204
			}
		}, "pass", ""},
		{"another media type", set("Content-Type", "text/html", 12, 13, 14), "body-changed",
			`#12 has text/html with a JSON object`},
		{"markup", both(body("<html>", 12), set("Content-Type", "text/html", 12)), "body-changed",
			"#12 has text/html with markup"},
		{"another problem", body(`{"type":"about:blank"}`, 14), "body-changed",
			`of type "about:quota" (#2); through the proxy 1 of 3 have another body: #14 has ` +
				`application/problem+json with a JSON object of type "about:blank"`},
		{"no type at all", body(`{"status":429}`, 14), "body-changed", `of type "about:blank"`},
		{"another text of the same type", body(`{"title":"x","type":"about:quota","more":[1]}`, 14), "pass",
			""},
		{"cut before the type", body(`{"status":429,"detail":"ke`, 14), "pass", ""},
		{"bodies that were not kept", body("", 12, 13, 14), "pass", ""},
		{"bodies that were compressed", body("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xabV*.I,)-V\xb22", 12,
			13, 14), "pass", ""},
		{"bodies that were not sent", both(body("", 12, 13, 14), set("Content-Length", "0", 12, 13, 14)),
			"body-changed", "no body"},
		{"the body of an admission is not compared", body("<html>", 10), "pass", ""},

		{"no origin", outcome(0, allOrigin...), "unreachable", ""},
		{"the proxy is lost", outcome(0, allProxy...), "too-few",
			"no answer through the proxy was allowed, no answer through the proxy was denied"},
		{"no denial through the proxy", outcome(200, 12, 13, 14), "too-few",
			"no answer through the proxy was denied"},
		{"no denial through the proxy, and a field lost",
			both(outcome(200, 12, 13, 14), set("Ratelimit-Reset", "", 10)), "field-lost", ""},
		{"denials through the proxy not classified", outcome(502, 12, 13, 14), "too-few",
			"no answer through the proxy was denied"},
		{"no denial at the origin", outcome(200, 2, 3, 4), "too-few", "no answer of the origin was denied"},
		{"no admission at the origin", outcome(429, 0, 1), "too-few", "no answer of the origin was allowed"},
	}
	for _, x := range rows {
		check1(t, x.name, pairOf(x.edit), nil, nil, x.want, x.text)
	}
}

// check1 judges one recording against everything. It wants kinds of findings, pass, or a reason.
func check1(t *testing.T, name string, tl *timeline.Timeline, limit spec.Limit, waits map[int]time.Duration,
	want, text string) {
	t.Helper()
	c := judgeIntact(newRecording(tl, limit, Expect{},
		func(*timeline.Timeline, spec.Limit, bool) map[int]time.Duration { return waits }), everything)
	Sound(t, tl, c)
	got, all := c.Verdict.String(), c.Text
	if c.Verdict == result.Inconclusive {
		got = string(c.Reason)
	}
	for i, f := range c.Findings {
		if i == 0 {
			got = ""
		} else {
			got += " "
		}
		got += string(f.Kind)
		all += "\n" + f.Text
		if f.Observations[0] > 4 || f.Observations[len(f.Observations)-1] < 10 {
			t.Errorf("%s: got witness %v, want answers of both sides", name, f.Observations)
		}
	}
	if got != want || !strings.Contains(all, text) {
		t.Errorf("%s: got %s: %s; want %s with %q", name, got, all, want, text)
	}
}

func TestIntactValues(t *testing.T) {
	const lost = "field-changed"
	date := func(offset int) string {
		return time.Date(2026, 11, 20, 12, 0, 5+offset, 0, time.UTC).Format("Mon, 02 Jan 2006 15:04:05 GMT")
	}
	rows := []struct {
		name string
		edit func(*timeline.Observation)
		want string
		text string
	}{
		{"Retry-After as the same wait in a date", set("Retry-After", date(10), 12, 13, 14), "pass", ""},
		{"Retry-After twice", set("Retry-After", "10, 10", 13), lost,
			`through the proxy 1 of 3 cannot be: #13 has "10, 10"`},
		{"Retry-After a word", set("Retry-After", "soon", 13), lost, `#13 has "soon"`},
		{"one fraction may be the origin's", set("Retry-After", "9.5", 13), "pass",
			"the origin itself may write it that way"},
		{"fractions throughout are not", set("Retry-After", "9.5", 12, 13, 14), lost, `#12 has "9.5"`},
		{"fractions throughout, but one answer to compare with",
			both(set("Retry-After", "9.5", 12, 13, 14), func(o *timeline.Observation) {
				if o.Seq == 2 || o.Seq == 3 {
					o.Outcome = timeline.Unknown
				}
			}), "pass", "the origin itself may write it that way"},
		{"negative waits may be the origin's", set("Retry-After", "-1", 12, 13, 14), "pass",
			"the origin itself may write it that way"},
		{"the origin's cannot be read either",
			both(set("Retry-After", "soon", 3), set("Retry-After", "never", 12)), "pass", ""},

		{"another limit", set("Ratelimit-Limit", "3", 13), lost,
			"the limit of ratelimit-00-06 is 2 in all 3 answers of the origin to denied requests (#2), and " +
				"3 in 1 of 3 through the proxy: #13"},
		{"a limit that changes at the origin",
			both(set("Ratelimit-Limit", "3", 2), set("Ratelimit-Limit", "4", 13)), "pass", ""},
		{"a reset rewritten to an epoch", set("Ratelimit-Reset", "1795176009", 12), lost,
			"the form of the reset of ratelimit-00-06 is delta-seconds"},
		{"another reset", set("Ratelimit-Reset", "3", 12), "pass", ""},
		{"less remains", set("Ratelimit-Remaining", "1", 12), "pass", ""},
		{"a negative number may be the origin's", set("Ratelimit-Remaining", "-1", 12), "pass", ""},
		{"a limit that cannot be read", set("Ratelimit-Limit", "a b", 12), lost,
			"the rule R3-LIMIT of RateLimit-Limit is kept in all 3 answers"},
		{"a broken rule that the origin breaks",
			both(set("Ratelimit-Limit", "a b", 2), set("Ratelimit-Limit", "c d", 12)), "pass", ""},
		{"a named policy", both(set("Ratelimit-Policy", `"q";q=5;w=60`, allOrigin...),
			set("Ratelimit-Policy", `"q";q=5;w=61`, allProxy...)), lost + " " + lost,
			`the window of ratelimit-08 "q" is 1m0s`},

		{"a Date 2 s ahead may be rounding", set("Date", date(2), 12), "pass", ""},
		{"a Date 3 s ahead", set("Date", date(3), 12), lost,
			"the clock of the origin's Date fields is -1.003 s to 1.996 s ahead of ours (#4); through " +
				"the proxy 1 of 3 Date fields of denied requests come from another clock: #12 of one 1.997 " +
				"s to 4.998 s ahead"},
		{"a Date 3 s behind", set("Date", date(-3), 12), "pass", ""},
		{"a Date 4 s behind", set("Date", date(-4), 12), lost, "another clock: #12 of one"},
		{"Dates of the origin that are not of one clock",
			both(set("Date", date(100), 2), set("Date", date(4), 12)), "pass", "come from several clocks"},
		{"a Date that cannot be read", set("Date", "now", 12), "pass", ""},
	}
	for _, x := range rows {
		check1(t, x.name, pairOf(x.edit), nil, nil, x.want, x.text)
	}
}

func TestIntactNotesOnce(t *testing.T) {
	tl := pairOf(both(set("Date", "Fri, 20 Nov 2026 13:00:05 GMT", 0, 2),
		set("X-Ratelimit-Limit", "1", allProxy...)))
	c := intactOne(t, tl, everything)
	if got := strings.Count(c.Text, "come from several clocks"); got != 1 {
		t.Errorf("got the note %d times, want once: %s", got, c.Text)
	}
}

// TestDatesOfAClockThatDrifts: at 200 ppm, a clock is 7.2 s ahead after ten hours.
func TestDatesOfAClockThatDrifts(t *testing.T) {
	for ppm, want := range map[int64]result.Verdict{0: result.Fail, 200: result.Pass} {
		tl := pairOf(func(o *timeline.Observation) {
			if !o.Origin {
				o.Sent, o.FirstByte = o.Sent+10*time.Hour, o.FirstByte+10*time.Hour
				set("Date", "Fri, 20 Nov 2026 22:00:12 GMT", o.Seq)(o)
			}
		})
		tl.Header.DriftPPM = ppm
		if got := intactOne(t, tl, everything); got.Verdict != want {
			t.Errorf("%d ppm: got %s (%s), want %s", ppm, got.Verdict, got.Text, want)
		}
	}
}

func TestIntactDatesOfTwoClocks(t *testing.T) {
	for clock, want := range map[time.Duration]result.Verdict{0: result.Fail, 100 * ms: result.Pass} {
		tl := pairOf(set("Date", "Fri, 20 Nov 2026 12:00:08 GMT", 12)) // 3 s ahead: a millisecond too much
		tl.Header.ClockError = clock
		if got := intactOne(t, tl, everything); got.Verdict != want {
			t.Errorf("clocks %v apart: got %s (%s), want %s", clock, got.Verdict, got.Text, want)
		}
	}
}

// TestIntactComparesWhatIsExpected: each difference counts only where the Expect asks for it.
func TestIntactComparesWhatIsExpected(t *testing.T) {
	differ := both(set("Retry-After", "10, 10", 12), set("Ratelimit-Limit", "9", 12),
		set("Date", "Fri, 20 Nov 2026 13:00:05 GMT", 12), body("<html>", 12),
		func(o *timeline.Observation) {
			if o.Seq == 12 {
				o.Status = 503
			}
		})
	for _, test := range []struct {
		e    IntactExpect
		want string
	}{
		{IntactExpect{Fields: []string{"Retry-After"}}, "1 difference"},
		{IntactExpect{Fields: []string{"ratelimit-limit"}}, "1 difference"},
		{IntactExpect{Fields: []string{"Ratelimit-Reset"}}, "are as"},
		{IntactExpect{Fields: []string{"Date"}}, "1 difference"},
		{IntactExpect{Status: true}, "1 difference"},
		{IntactExpect{Body: true}, "1 difference"},
		{IntactExpect{Fields: []string{"*"}, Status: true, Body: true}, "5 differences"},
		{IntactExpect{Fields: []string{"X-None", "Content-Type"}},
			"are as 5 answers of the origin in Content-Type"},
		{IntactExpect{Fields: []string{"X-None"}}, "the origin sends none of the fields"},
		{IntactExpect{}, "the origin sends none of the fields"},
	} {
		c := intactOne(t, pairOf(differ), test.e)
		if !strings.Contains(c.Text, test.want) {
			t.Errorf("%+v: got %s, want %q", test.e, c.Text, test.want)
		}
	}
}

func TestIntactWaits(t *testing.T) {
	log, clock := sampleLimit(t, "sliding-window-log,rate=2/10s"),
		sampleLimit(t, "fixed-window,rate=2/10s,align=clock")
	first, coarse := sampleLimit(t, "fixed-window,rate=2/10s,align=first"),
		sampleLimit(t, "sliding-window-log,rate=2/10s,tick=1s")
	batched, unknown := sampleLimit(t, "token-bucket,rate=2/20s,burst=2,refill=interval,fill=2"),
		sampleLimit(t, "token-bucket,rate=1/10s,burst=2,start=unknown")
	twice := sampleLimit(t, "sliding-window-log,rate=2/10s + sliding-window-log,rate=9/1m")
	tens := map[int]time.Duration{}
	for _, seq := range []int{2, 3, 4, 12, 13, 14} {
		tens[seq] = 10 * time.Second
	}
	cost := func(o *timeline.Observation) {
		if !o.Origin {
			o.Cost = 2
		}
	}
	shared := func(o *timeline.Observation) { o.Partition = "k" }
	slow := func(o *timeline.Observation) {
		if o.Seq == 14 {
			o.FirstByte += 5500 * ms
		}
	}
	slower := func(o *timeline.Observation) {
		if o.Seq == 14 {
			o.FirstByte += 6500 * ms
		}
	}
	later := func(o *timeline.Observation) {
		if o.Seq == 14 {
			o.Phase, o.Sent, o.FirstByte = "later", o.Sent+time.Hour, o.FirstByte+time.Hour
		}
	}
	const lateDate = "Fri, 20 Nov 2026 13:00:05 GMT"
	until := func(s int) string { return fmt.Sprintf("Fri, 20 Nov 2026 12:00:%02d GMT", s) }
	dated := func(s int) func(*timeline.Observation) { // 10 s after the Date, except one
		return both(set("Retry-After", until(10), 2, 3, 4), set("Retry-After", until(15), 12, 14),
			set("Retry-After", until(s), 13))
	}
	overlap := func(o *timeline.Observation) {
		if o.Seq == 13 {
			o.FirstByte += 10 * ms
		}
		if o.Seq == 14 {
			o.Phase = "later"
		}
	}
	rows := []struct {
		name  string
		limit spec.Limit
		waits map[int]time.Duration
		edit  func(*timeline.Observation)
		want  string
		text  string
	}{
		{"as long as it may be", log, tens, nil, "pass", ""},
		{"longer than it may be", log, tens, set("Retry-After", "11", 13), "field-changed",
			"no denial of the origin states more than its limit can need (#2: Retry-After: 10); " +
				"through the proxy 1 of 3 do: #13 has Retry-After: 11, but at most 10 s can be needed"},
		{"so long at the origin too", log, tens,
			both(set("Retry-After", "11", 3), set("Retry-After", "11", 13)), "pass", ""},
		{"no bound known at the origin", log, map[int]time.Duration{13: 10 * time.Second},
			set("Retry-After", "11", 13), "pass", ""},
		{"told with admissions too, it is one difference", log, tens,
			both(set("Retry-After", "10", 0, 1, 10, 11), set("Retry-After", "7", 13)), "field-changed",
			"shorter"},
		{"no bound known", log, nil, set("Retry-After", "11", 13), "pass", ""},
		{"as short as noise explains", log, tens, set("Retry-After", "8", 13), "pass", ""},
		{"shorter", log, tens, set("Retry-After", "7", 13), "field-changed",
			"no denial of the origin's bursts states a shorter wait than #2: Retry-After: 10; through " +
				"the proxy 1 of 3 do: #13 has Retry-After: 7, and noise explains at most 2.010 s"},
		{"as short as an old Date explains", log, tens, dated(12), "pass", ""},
		{"shorter than that", log, tens, dated(11), "field-changed", "noise explains at most 3.010 s"},
		{"longer, and no bound known", log, nil, set("Retry-After", "13", 13), "field-changed",
			"states a longer wait than #2"},
		{"as long as noise explains", log, nil, set("Retry-After", "12", 13), "pass", ""},
		{"by the clock, a wait may be any", clock, nil, set("Retry-After", "1", 12, 13, 14), "pass", ""},
		{"by the first request, it may not", first, nil, set("Retry-After", "1", 12, 13, 14), "field-changed",
			"shorter"},
		{"in batches, a wait may be any", batched, nil, set("Retry-After", "1", 12, 13, 14), "pass", ""},
		{"from an unknown start, a wait may be any", unknown, nil, set("Retry-After", "1", 12, 13, 14),
			"pass", ""},
		{"a coarse clock explains two seconds more", coarse, tens, set("Retry-After", "6", 13), "pass", ""},
		{"but not three", coarse, tens, set("Retry-After", "5", 13), "field-changed", "at most 4.010 s"},
		{"an answer of the burst is missing at the origin", log, tens, both(func(o *timeline.Observation) {
			if o.Seq == 0 || o.Seq == 10 {
				o.Outcome = timeline.Unknown
			}
		}, set("Retry-After", "1", 13)), "pass", ""},
		{"two policies, of which the other one denies", twice, nil, set("Retry-After", "1", 12, 13, 14),
			"pass", ""},
		{"two policies, another limit", twice, tens, set("Ratelimit-Limit", "9", 12), "pass", ""},
		{"one policy, another limit", log, tens, set("Ratelimit-Limit", "9", 12), "field-changed",
			"the limit of"},
		{"no limit", nil, nil, set("Retry-After", "1", 12, 13, 14), "pass", ""},
		{"waits of the origin that jump", log, nil,
			both(set("Retry-After", "1", 3), set("Retry-After", "20", 13)), "pass",
			"the origin tells one burst waits from 1.000 s to 10.000 s"},
		{"partitions that both use", log, tens, both(shared, set("Retry-After", "1", 13)), "pass", ""},
		{"other costs", log, tens, both(cost, set("Retry-After", "1", 13)), "pass", ""},
		{"a burst that took 5.5 s", log, tens, both(slow, set("Retry-After", "2", 13)), "field-changed",
			"at most 7.510 s"},
		{"a burst that took 6.5 s", log, tens, both(slower, set("Retry-After", "2", 13)), "pass", ""},
		{"a later phase is not the opening", log, tens,
			both(later, set("Retry-After", "1", 14), set("Date", lateDate, 14)), "pass", ""},
		{"a later phase that overlaps is a rival", log, tens, both(overlap, set("Retry-After", "1", 13)),
			"pass", ""},
		{"a request of another cost among them", log, tens, both(func(o *timeline.Observation) {
			if o.Seq == 11 {
				o.Cost = 2
			}
		}, set("Retry-After", "1", 13)), "pass", ""},
		{"an answer lost in the opening", log, tens, both(func(o *timeline.Observation) {
			if o.Seq == 10 {
				o.Answered, o.Outcome = false, timeline.Unknown
			}
		}, set("Retry-After", "1", 13)), "pass", ""},
	}
	for _, x := range rows {
		check1(t, x.name, pairOf(x.edit), x.limit, x.waits, x.want, x.text)
	}
}

// TestWaitsOfUsedPartitionsAreNotCompared: requests of others, or of an earlier run, shorten or lengthen the
// waits of a partition.
func TestWaitsOfUsedPartitionsAreNotCompared(t *testing.T) {
	log := sampleLimit(t, "sliding-window-log,rate=2/10s")
	e := IntactExpect{Fields: []string{"Retry-After"}}
	for want, terms := range map[result.Verdict][]Expect{result.Fail: {{}},
		result.Pass: {{Shared: true}, {Used: true}}} {
		for _, known := range terms {
			tl := pairOf(set("Retry-After", "1", 12, 13, 14))
			none := func(*timeline.Timeline, spec.Limit, bool) map[int]time.Duration { return nil }
			if c := judgeIntact(newRecording(tl, log, known, none), e); c.Verdict != want {
				t.Errorf("shared %v, used %v: got %s (%s), want %s", known.Shared, known.Used, c.Verdict,
					c.Text, want)
			}
		}
	}
}

// TestIntactComparesPhasesOfOneLimit: under another limit numbers and waits differ, with or without a proxy.
func TestIntactComparesPhasesOfOneLimit(t *testing.T) {
	limit, other := sampleLimit(t, "sliding-window-log,rate=2/10s"),
		sampleLimit(t, "sliding-window-log,rate=2/1h")
	more := func(through string) *timeline.Timeline {
		tl := pairOf(nil)
		for i := 5; i < 10; i++ {
			o := tl.Observations[i]
			o.Seq, o.Phase, o.Partition, o.Sent, o.FirstByte = o.Seq+10, through, "q", o.Sent+time.Second,
				o.FirstByte+time.Second
			set("Ratelimit-Limit", "3", o.Seq)(&o)
			if o.Status == 429 {
				set("Retry-After", "3600", o.Seq)(&o)
			}
			set("Date", "", o.Seq)(&o)
			tl.Observations = append(tl.Observations, o)
		}
		return tl
	}
	e := IntactExpect{Fields: []string{"Retry-After", "Ratelimit*"}}
	own := map[string]spec.Limit{"login": other}
	judged := func(tl *timeline.Timeline) result.Claim {
		return judgeIntact(newRecording(tl, limit, Expect{Limits: own}, check.LongestWaits), e)
	}
	for through, want := range map[string]result.Verdict{"login": result.Pass, "proxied": result.Fail} {
		if c := judged(more(through)); c.Verdict != want {
			t.Errorf("phase %s: got %s (%s), want %s", through, c.Verdict, c.Text, want)
		}
	}
	own["direct"] = other
	if c := judged(pairOf(nil)); c.Verdict != result.Inconclusive || c.Reason != result.TooFew {
		t.Errorf("no limit has both: got %s (%s)", c.Verdict, c.Text)
	}
}
