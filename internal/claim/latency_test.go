package claim

import (
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// spread makes n denials and an admission that takes no time. The denials take 1 to n ms. They are not sent
// in the order of these times.
func spread(n int) *timeline.Timeline {
	var obs []timeline.Observation
	for i := range n {
		k := (i*37 + 11) % n
		obs = append(obs, req(i, 10*i, 10*i+k+1, 429))
	}
	return record(append(obs, req(n, 10*n, 10*n, 200))...)
}

func bound(q float64, limit time.Duration) Expect {
	return Expect{Latency: []LatencyBound{{timeline.Denied, q, limit, false}}}
}

func TestLatencyIsExactOnBothSides(t *testing.T) {
	run(t, bound(0.99, 99*ms),
		[]row{{"p99 of 100 is the 99th", spread(100), "pass",
			"p99 of the service time of 100 denied answers is 99.000 ms, bound 99.000 ms"}})
	run(t, bound(0.99, 99*ms-1),
		[]row{{"a nanosecond over", spread(100), "fail",
			"2 of 100 took longer than 98.999 ms, at most 1 may; the slowest is #"}})
	run(t, bound(0.5, 50*ms), []row{{"the median of 100 is the 50th", spread(100), "pass", "p50"}})
	run(t, bound(0.5, 49*ms),
		[]row{{"a rank over the median", spread(100), "fail",
			"51 of 100 took longer than 49.000 ms, at most 50 may"}})
	run(t, bound(1, 100*ms), []row{{"all", spread(100), "pass", "max of the"}})
	run(t, bound(1, 100*ms-1), []row{{"the largest is over", spread(100), "fail", "1 of 100 took longer"}})
	run(t, bound(0.999, 999*ms), []row{{"p99.9 of 1000 is the 999th", spread(1000), "pass", "p99.9 of"}})
	run(t, bound(0.999, 998*ms), []row{{"a rank below", spread(1000), "fail", ""}})
}

// TestTheWayIsNoLatencyOfTheTarget: each answer may have spent on the network as much time as the fastest
// answer took.
func TestTheWayIsNoLatencyOfTheTarget(t *testing.T) {
	far := spread(100)
	far.Observations[100].FirstByte += 30 * ms
	run(t, bound(0.99, 98*ms), []row{{"the fastest is a denial of 1 ms", far, "too-few",
		"the fastest of all answers took 1.000 ms"}})
	for i := range far.Observations {
		o := &far.Observations[i]
		o.FirstByte = max(o.FirstByte, o.Sent+30*ms)
	}
	run(t, bound(0.99, 69*ms), []row{{"69 ms and a way of 30 ms", far, "too-few", "took 30.000 ms"}})
	run(t, bound(0.99, 69*ms-1), []row{{"longer than both", far, "fail", "at most 1 may"}})
}

func TestLatencyOfFew(t *testing.T) {
	run(t, bound(0.99, 98*ms),
		[]row{{"99 answers have no p99 below their largest", spread(99), "too-few", "too few answers"}})
	run(t, bound(0.99, 99*ms), []row{{"but if even that is fast", spread(99), "pass", ""}})
	run(t, bound(0.99, ms), []row{
		{"none", record(req(1, 0, 9, 200), req(2, 0, 9, 500), req(3, 9, 0, 0)), "too-few",
			"no answer was denied"},
		{"the origin does not count",
			record(with(req(1, 0, 9, 429), func(o *timeline.Observation) { o.Origin = true })), "too-few",
			""},
	})
	run(t, bound(0, ms), []row{{"no quantile", spread(9), "setup-failed", ""}})
	run(t, bound(1.5, ms), []row{{"no quantile", spread(9), "setup-failed", ""}})
}

func TestLatencyIsNotBlamedOnTheTarget(t *testing.T) {
	e := bound(0.5, ms)
	tl := spread(100)
	late := func(by time.Duration, n int) *timeline.Timeline {
		tl := spread(100)
		for i := range n {
			tl.Observations[i].At = tl.Observations[i].Sent - by
		}
		return tl
	}
	unsent := spread(100)
	unsent.Header.Unsent = 1
	run(t, e, []row{
		{"in time", tl, "fail", ""},
		{"two in a hundred over 5 ms late", late(5*ms+1, 2), "schedule-missed",
			"so rlcheck may have taken the time"},
		{"one in a hundred", late(5*ms+1, 1), "fail", ""},
		{"two at 5 ms", late(5*ms, 2), "fail", ""},
		{"some not sent", unsent, "schedule-missed", "1 planned request could not be sent"},
	})
	e.LateP99 = 30 * ms
	// The median is 50 ms and 1 ms is allowed. A recorder that is 24.5 ms late twice explains the rest.
	for by, want := range map[time.Duration]result.Verdict{24*ms + ms/2 - 1: result.Fail,
		24*ms + ms/2: result.Inconclusive, 31 * ms: result.Inconclusive} {
		if c := judge(late(by, 2), nil, e, noWaits)[0]; c.Verdict != want {
			t.Errorf("%v late, 30 ms expected: got %s (%s), want %s", by, c.Verdict, c.Text, want)
		}
	}
}

// TestLatencyWithoutStalls: of a hundred requests a millisecond apart, twenty take 20 to 40 ms.
func TestLatencyWithoutStalls(t *testing.T) {
	slow := func(late ...int) *timeline.Timeline {
		tl := spread(100)
		for i := range tl.Observations {
			o := &tl.Observations[i]
			o.At = time.Duration(i) * ms
			o.Sent, o.FirstByte = o.At, o.At+ms
			if i >= 40 && i < 60 {
				o.FirstByte = 80*ms + ms/2
			}
		}
		for _, i := range late {
			tl.Observations[i].Sent += 4 * ms
			tl.Observations[i].FirstByte += 4 * ms
		}
		return tl
	}
	every := func(from, to int) (late []int) {
		for i := from; i < to; i++ {
			late = append(late, i)
		}
		return late
	}
	run(t, bound(0.9, 10*ms), []row{
		{"sent in time", slow(), "fail", "20 of 100 took longer than 10.000 ms"},
		{"late before and after", slow(append(every(0, 30), every(80, 100)...)...), "fail", ""},
		{"late in all of it", slow(every(30, 80)...), "schedule-missed",
			"without the times in which requests were sent late"},
		{"late in a third of it", slow(every(60, 64)...), "fail", ""},
	})
	still := slow()
	still.Header.Stalls = []timeline.Stall{{From: 39 * ms, To: 42 * ms}, {From: 58 * ms, To: 62 * ms}}
	run(t, bound(0.9, 10*ms), []row{{"away for a part of it", still, "fail", ""}})
	still.Header.Stalls[1] = timeline.Stall{From: 43 * ms, To: 81 * ms}
	run(t, bound(0.9, 10*ms),
		[]row{{"away in all of it", still, "schedule-missed", "the recorder stood still"}})
}

// TestLatencyWithoutStandstills: nothing is answered for 30 ms, and then everything is. The machine of the
// target may have stood still. A limiter that makes each request wait for 30 ms is slow.
func TestLatencyWithoutStandstills(t *testing.T) {
	answered := func(at func(i int) time.Duration) *timeline.Timeline {
		tl := spread(100)
		for i := range tl.Observations {
			o := &tl.Observations[i]
			o.At = time.Duration(i) * ms
			o.Sent, o.FirstByte = o.At, o.At+at(i)
		}
		tl.Header.Stalls = []timeline.Stall{{From: 300 * ms, To: 400 * ms}}
		return tl
	}
	quiet := func(tl *timeline.Timeline) *timeline.Timeline {
		tl.Header.Stalls = nil
		return tl
	}
	from := func(i int, took time.Duration) time.Duration {
		if i < 40 {
			return ms
		}
		return max(ms, took)
	}
	burst := func(one timeline.Outcome) *timeline.Timeline {
		tl := answered(func(int) time.Duration { return ms })
		for i := range 20 {
			o := &tl.Observations[80+i]
			o.At, o.Sent, o.FirstByte = 80*ms, 80*ms, 110*ms
		}
		tl.Observations[80].Outcome = one
		tl.Observations[100].Sent, tl.Observations[100].FirstByte = 200*ms, 201*ms
		return tl
	}
	all := func(stood bool) *timeline.Timeline { // all requests from 70 to 90 ms are slow
		tl := answered(func(i int) time.Duration {
			switch {
			case stood && i < 70:
				return from(i, time.Duration(70-i)*ms)
			case i >= 70 && i < 90:
				return 30 * ms
			}
			return ms
		})
		tl.Observations[70].Outcome = timeline.Allowed
		return tl
	}
	starved := func(i int) time.Duration { // answers come together each 8 ms, less than the bound
		return from(i, time.Duration((i+19)/8*8-i)*ms)
	}
	run(t, bound(0.9, 10*ms), []row{
		{"short standstills, again and again", answered(starved), "schedule-missed", ""},
		{"the same beside a quiet recorder", quiet(answered(starved)), "fail", ""},
		{"a standstill", answered(func(i int) time.Duration { return from(i, time.Duration(70-i)*ms) }),
			"schedule-missed", "sent late, the recorder stood still, or nothing was answered"},
		{"a target that hangs beside a quiet recorder", quiet(answered(func(i int) time.Duration {
			return from(i, time.Duration(70-i)*ms)
		})), "fail", ""},
		{"slow from then on", answered(func(i int) time.Duration { return from(i, 30*ms) }), "fail", ""},
		{"two standstills", answered(func(i int) time.Duration {
			if i > 59 {
				return from(i, time.Duration(85-i)*ms)
			}
			return from(i, time.Duration(70-i)*ms)
		}), "schedule-missed", ""},
		{"what came meanwhile is answered slowly", answered(func(i int) time.Duration {
			if i > 49 && i < 70 {
				return time.Duration(70+2*(i-49)-i) * ms
			}
			return from(i, time.Duration(70-i)*ms)
		}), "schedule-missed", ""},
		{"slow after it", answered(func(i int) time.Duration {
			if i > 69 {
				return 30 * ms
			}
			return from(i, time.Duration(70-i)*ms)
		}), "fail", ""},
		{"a burst of denials", burst(timeline.Denied), "fail", ""},
		{"a burst of which one is admitted", burst(timeline.Allowed), "fail", ""},
		{"slow with all", all(false), "fail", ""},
		{"slow with all after a standstill", all(true), "schedule-missed", ""},
	})
	queue := parse(t, "leaky-bucket-queue,rate=10/s,queue=5")
	if c := judge(all(true), queue, bound(0.9, 10*ms), noWaits)[0]; c.Verdict != result.Fail {
		t.Errorf("a queue keeps what it admits waiting: got %s (%s), want fail", c.Verdict, c.Text)
	}
}

func TestLatencyNamesTheSlowest(t *testing.T) {
	c := one(t, spread(100), bound(0.5, 95*ms-1))
	if c.Verdict != result.Pass {
		t.Fatalf("got %s, want pass", c.Verdict)
	}
	c = one(t, record(req(1, 0, 5, 429), req(2, 1, 9, 429), req(3, 2, 3, 429)), bound(0.5, 2*ms))
	if !strings.Contains(c.Findings[0].Text,
		"2 of 3 took longer than 2.000 ms, at most 1 may; the slowest is #2 with 8.000 ms") {
		t.Errorf("got %s, want #2 as the slowest", c.Findings[0].Text)
	}
	f := c.Findings[0]
	if f.Seen != int64(5*ms) || f.Bound != int64(2*ms) || len(f.Observations) != 2 ||
		f.Observations[0] != 1 || f.Observations[1] != 2 {
		t.Errorf("got %+v, want #1 and #2 with 5 ms over 2 ms", f)
	}
}

func TestNearestRank(t *testing.T) {
	for _, test := range []struct {
		q    float64
		n    int
		want int
	}{{0.5, 1, 1}, {0.5, 2, 1}, {0.5, 3, 2}, {0.99, 100, 99}, {0.99, 101, 100}, {0.999, 1000, 999},
		{0.9, 10, 9}, {0.07, 100, 7}, {0.29, 100, 29}, {1, 7, 7}, {0.0001, 7, 1}, {0.9999, 1000000, 999900}} {
		if got := nearestRank(test.q, test.n); got != test.want {
			t.Errorf("nearestRank(%v, %d): got %d, want %d", test.q, test.n, got, test.want)
		}
	}
}

func TestSchedule(t *testing.T) {
	late := func(by time.Duration, n int) *timeline.Timeline {
		tl := spread(200)
		for i := range n {
			tl.Observations[i].At = tl.Observations[i].Sent - by
		}
		return tl
	}
	early := spread(200)
	for i := range 3 {
		early.Observations[i].At += time.Second
	}
	unsent, stopped := late(0, 0), late(0, 0)
	unsent.Header.Unsent = 3
	stopped.Header.Interrupted = true
	run(t, Expect{LateP99: 5 * ms}, []row{
		{"in time", late(5*ms, 200), "pass", "the 99th percentile of 201 requests was sent 5.000 ms late"},
		{"two of 200 late", late(time.Second, 2), "pass", ""},
		{"three of 200 late", late(6*ms, 3), "schedule-missed", "6.000 ms late"},
		{"early is not late", early, "pass", "0.000 ms late"},
		{"some not sent", unsent, "schedule-missed", "3 of 204 planned requests could not be sent"},
		{"stopped", stopped, "interrupted", "stopped after 201 requests"},
		{"nothing", record(), "too-few", ""},
	})
}
