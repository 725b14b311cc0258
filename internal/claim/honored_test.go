package claim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

var honored = Expect{RetryAfter: RetryAfterExpect{Honored: true, Waits: 1}}

// TestHonoredTakesSeveralWaits: one wait that was honored is no evidence, two are. One wait that was not
// honored is evidence.
func TestHonoredTakesSeveralWaits(t *testing.T) {
	const ra = "Retry-After: 1"
	e := Expect{RetryAfter: RetryAfterExpect{Honored: true}}
	var obs []timeline.Observation
	for n, want := range []string{"too-few", "pass", "pass"} {
		obs = append(obs, req(2*n, 2000*n, 2000*n+1, 429, ra), req(2*n+1, 2000*n+1001, 2000*n+1002, 200))
		text := fmt.Sprintf("%s of 1.000 s to 1.000 s honored", text.Plural(n+1, "wait"))
		run(t, e, []row{{fmt.Sprint(n+1, " waits"), record(obs...), want, text}})
	}
	lie := record(obs[0], req(1, 1001, 1002, 429))
	run(t, e, []row{{"one that was not honored", lie, "fail", "1 of 1 clients"}})
}

// TestAResetMayBeThatOfTheWindow: a client that comes back at the reset of its window may still be banned.
func TestAResetMayBeThatOfTheWindow(t *testing.T) {
	tl := record(req(41, 411, 412, 429, "X-Ratelimit-Reset: 1"), req(57, 2500, 2501, 429))
	for limit, want := range map[string]result.Verdict{
		"sliding-window-log,rate=1/1s":        result.Fail,
		"sliding-window-log,rate=1/1s,ban=1m": result.Inconclusive,
	} {
		if c := Judge(tl, parse(t, limit), honored)[0]; c.Verdict != want {
			t.Errorf("%s: got %s: %s, want %s", limit, c.Verdict, c.Text, want)
		}
	}
}

// TestADenialWithinATickIsNoHonoredWait: a clock of whole seconds may not have shown yet that the wait was
// over. Then neither that denial nor a later admission tells whether the wait was right.
func TestADenialWithinATickIsNoHonoredWait(t *testing.T) {
	const ra = "Retry-After: 5"
	tl := record(req(1, 100, 101, 429, ra), req(2, 5200, 5201, 429, ra), req(3, 10300, 10301, 200),
		req(4, 10400, 10401, 429, ra), req(5, 15500, 15501, 200))
	for limit, want := range map[string]string{
		"fixed-window,rate=1/10s,slots=10": "too-few: of 3 clients that waited as told 1 were denied again",
		"fixed-window,rate=1/10s":          "1 of 3 clients that waited as told were denied again",
	} {
		c := Judge(tl, parse(t, limit), honored)[0]
		if got := string(c.Reason) + ": " + c.Text; !strings.Contains(got, want) {
			t.Errorf("%s: got %s %q, want %q", limit, c.Verdict, got, want)
		}
	}
}

// costs returns what gives an observation a cost.
func costs(n int64) func(*timeline.Observation) { return func(o *timeline.Observation) { o.Cost = n } }

func TestHonored(t *testing.T) {
	const ra, date = "Retry-After: 1", "Date: Fri, 20 Nov 2026 12:00:00 GMT"
	denied := req(41, 411, 412, 429, ra)
	change := func(f func(*timeline.Observation)) timeline.Observation { return with(denied, f) }
	rival := func(sent, first, status int) timeline.Observation { return req(50, sent, first, status) }
	run(t, honored, []row{
		{"nothing denied", record(req(0, 0, 1, 200), req(1, 2, 3, 200)), "too-few", "no request was denied"},
		{"nobody came back", record(denied), "too-few", "no client waited as one of 1 denial told"},
		{"admitted after the wait", record(denied, req(57, 1412, 1413, 200)), "pass",
			"1 wait of 1.000 s to 1.000 s honored"},
		{"admitted before the wait", record(denied, req(57, 1411, 1413, 200)), "too-few", "no client waited"},
		{"denied right at the wait", record(denied, req(57, 1412, 1413, 429)), "fail", "1 of 1 clients"},
		{"denied before the wait", record(denied, req(57, 1411, 1413, 429)), "too-few", "no client waited"},
		{"denied with another status", record(denied, req(57, 1413, 1414, 503)), "fail",
			"#41 was denied with Retry-After: 1 (first byte 0.412 s); its client waited 1.001 s, sent #57 " +
				"at 1.413 s, and was denied again"},
		{"not answered", record(denied, req(57, 1500, 0, 0)), "too-few", ""},
		{"not classified", record(denied, req(57, 1500, 1501, 500)), "too-few", ""},
		{"a denial without an answer", record(change(func(o *timeline.Observation) { o.Answered = false }),
			req(57, 1500, 1501, 429)), "too-few", ""},
		{"not answered, though called denied",
			record(denied, with(req(57, 1500, 1501, 429),
				func(o *timeline.Observation) { o.Answered = false })), "too-few", ""},
		{"a wait that overflows, and an admission",
			record(req(41, 411, 412, 429, "Retry-After: 9223372036854775807"), req(57, 1500, 1501, 200)),
			"too-few", ""},
		{"a wait that nearly overflows",
			record(req(41, 411, 412, 429, "Retry-After: 9223372036"), req(57, 1500, 1501, 429)), "too-few",
			""},
		{"a wait that would wrap round",
			record(with(req(41, 411, 412, 429, "Retry-After: 9223372036"),
				func(o *timeline.Observation) { o.FirstByte = 2 * time.Second; o.Sent = o.FirstByte }),
				req(57, 9999, 9999, 429)), "too-few", ""},
		{"no Retry-After", record(req(41, 411, 412, 429), req(57, 1500, 1501, 429)), "too-few", ""},
		{"a broken Retry-After", record(req(41, 411, 412, 429, "Retry-After: 0.5"), req(57, 1500, 1501, 429)),
			"too-few", ""},
		{"0 is a wait too", record(req(41, 411, 412, 429, "Retry-After: 0"), req(57, 412, 413, 429)), "fail",
			"waited 0.000 s"},
		{"who is told to wait for nothing, and is admitted, waited for the way there and back",
			record(req(41, 411, 412, 429, "Retry-After: 0"), req(57, 412, 413, 200)), "too-few", ""},
		{"a wait that overflows", record(req(41, 411, 412, 429, "Retry-After: 9223372036854775807"),
			req(57, 1500, 1501, 429)), "too-few", ""},

		{"a reset that passed", record(req(41, 411, 412, 429, "X-Ratelimit-Reset: 1"),
			req(57, 2500, 2501, 429)), "fail", "was denied with reset (x-ratelimit): 1.000 s"},
		{"a reset that passed, which may be that of one unit, and a cost of two", record(
			with(req(41, 411, 412, 429, "X-Ratelimit-Reset: 1"), costs(2)),
			with(req(57, 2500, 2501, 429), costs(2))), "too-few", ""},
		{"another cost", record(denied,
			with(req(57, 1500, 1501, 429), func(o *timeline.Observation) { o.Cost = 2 })), "too-few", ""},
		{"another partition",
			record(denied, with(req(57, 1500, 1501, 429),
				func(o *timeline.Observation) { o.Partition = "l" })), "too-few", ""},
		{"the origin", record(denied,
			with(req(57, 1500, 1501, 429), func(o *timeline.Observation) { o.Origin = true })), "too-few",
			""},
		{"a denial of the origin", record(change(func(o *timeline.Observation) { o.Origin = true }),
			req(57, 1500, 1501, 429)), "too-few", "one of 1 denial told"},

		{"a rival between", record(denied, rival(600, 601, 429), req(57, 1500, 1501, 429)), "too-few", ""},
		{"a rival between that was lost", record(denied, rival(600, 0, 0), req(57, 1500, 1501, 429)),
			"too-few", ""},
		{"a rival that may be decided after the denial",
			record(rival(300, 412, 200), denied, req(57, 1500, 1501, 429)), "too-few", ""},
		{"one answered as the denial is sent, of another cost",
			record(with(rival(300, 411, 200), func(o *timeline.Observation) { o.Cost = 2 }), denied,
				req(57, 1500, 1501, 429)), "too-few", ""},
		{"one of unknown outcome answered as the denial is sent",
			record(rival(300, 411, 500), denied, req(57, 1500, 1501, 429)), "too-few", ""},
		{"an admission of the same cost answered as the denial is sent",
			record(rival(300, 411, 200), denied, req(57, 1500, 1501, 429)), "fail", ""},
		{"one decided before the denial", record(rival(300, 410, 200), denied, req(57, 1500, 1501, 429)),
			"fail", ""},
		{"one lost long before", record(rival(100, 0, 0), denied, req(57, 1500, 1501, 429)), "too-few", ""},
		{"a long one from before another", record(rival(100, 800, 200), req(51, 200, 201, 200), denied,
			req(57, 1500, 1501, 429)), "too-few", ""},
		{"a rival sent while the retry is decided",
			record(denied, req(57, 1500, 1510, 429), rival(1509, 1511, 200)), "too-few", ""},
		{"one sent after the retry", record(denied, req(57, 1500, 1510, 429), rival(1511, 1512, 200)), "fail",
			""},
		{"one sent as the retry is answered, which may have taken its place",
			record(denied, req(57, 1500, 1510, 429), rival(1510, 1512, 200)), "too-few", ""},
		{"one sent as the retry is admitted",
			record(denied, req(57, 1500, 1510, 200), rival(1510, 1512, 200)), "pass", ""},
		{"one sent while the retry is admitted",
			record(denied, req(57, 1500, 1510, 200), rival(1509, 1512, 200)), "pass", ""},
		{"admitted after others were", record(denied, rival(600, 601, 200), req(57, 1500, 1510, 200)), "pass",
			"1 wait of 1.000 s to 1.000 s honored"},
		{"denied after others were admitted", record(denied, rival(600, 601, 200), req(57, 1500, 1510, 429)),
			"too-few", ""},
		{"told not to wait, and admitted beside others",
			record(req(41, 411, 412, 429, "Retry-After: 0"), rival(411, 413, 200), req(57, 1500, 1510, 200)),
			"too-few", ""},
		{"two that were told the same wait come back as one", record(denied, req(42, 411, 412, 429, ra),
			req(57, 1500, 1510, 200)), "pass", "1 wait of"},
		{"a rival on another partition",
			record(denied, with(rival(600, 601, 429), func(o *timeline.Observation) { o.Partition = "l" }),
				req(57, 1500, 1501, 429)), "fail", ""},

		{"a date", record(req(41, 411, 412, 429, "Retry-After: Fri, 20 Nov 2026 12:00:02 GMT", date),
			req(57, 2412, 2413, 429)), "fail",
			`Retry-After: "Fri, 20 Nov 2026 12:00:02 GMT", 2.000 s after its Date (first byte 0.412 s)`},
		{"a date, before its wait",
			record(req(41, 411, 412, 429, "Retry-After: Fri, 20 Nov 2026 12:00:02 GMT", date),
				req(57, 2411, 2413, 429)), "too-few", ""},
		{"a date without a Date", record(req(41, 411, 412, 429, "Retry-After: Fri, 20 Nov 2026 12:00:02 GMT"),
			req(57, 9999, 9999, 429)), "too-few", ""},
		{"a date that is past",
			record(req(41, 411, 412, 429, "Retry-After: Fri, 20 Nov 2026 11:59:00 GMT", date),
				req(57, 413, 414, 429)), "fail", "0.000 s after its Date"},

		{"some kept, one not", record(denied, req(57, 1412, 1413, 200), req(58, 2000, 2001, 429, ra),
			req(59, 3001, 3002, 429)), "fail", "1 of 2 clients"},
		{"one after the other", record(denied, req(57, 1412, 1413, 429, ra), req(58, 2413, 2414, 429, ra),
			req(59, 3414, 3415, 200)), "fail", "2 of 3 clients"},
	})
}

func TestHonoredWidensByTheClocks(t *testing.T) {
	for _, test := range []struct {
		name        string
		clock, tick time.Duration
		sent        int
		status      int
		want        result.Verdict
	}{
		{"one clock", 0, 0, 1412, 429, result.Fail},
		{"two clocks, not surely waited", 10 * ms, 0, 1431, 429, result.Inconclusive},
		{"two clocks, surely waited", 10 * ms, 0, 1432, 429, result.Fail},
		{"a coarse clock, not surely waited", 0, 10 * ms, 1421, 429, result.Inconclusive},
		{"a coarse clock, surely waited", 0, 10 * ms, 1422, 429, result.Fail},
		{"a coarse clock, admitted", 0, 10 * ms, 1412, 200, result.Pass},
	} {
		tl := record(req(41, 411, 412, 429, "Retry-After: 1"), req(57, test.sent, test.sent+1, test.status))
		tl.Header.ClockError, tl.Header.Tick = test.clock, test.tick
		if got := one(t, tl, honored); got.Verdict != test.want {
			t.Errorf("%s: got %s (%s), want %s", test.name, got.Verdict, got.Text, test.want)
		}
	}
}

// TestHonoredLooksBeyondATick: a client that is told nothing, and comes back all the time, refutes it by its
// first denial that is surely later. An admission between takes a unit, and denials that count leave a trace.
func TestHonoredLooksBeyondATick(t *testing.T) {
	for _, test := range []struct {
		name    string
		limit   string
		between int
		last    int
		want    result.Verdict
	}{
		{"denied again and again", "token-bucket,rate=10/s,burst=20", 429, 429, result.Fail},
		{"admitted between", "token-bucket,rate=10/s,burst=20", 200, 429, result.Inconclusive},
		{"admitted at last", "token-bucket,rate=10/s,burst=20", 429, 200, result.Inconclusive},
		{"denials count", "sliding-window-log,rate=20/1s,count=all", 429, 429, result.Inconclusive},
	} {
		tl := record(req(41, 400, 401, 429, "Retry-After: 0"), req(42, 402, 403, test.between),
			req(43, 405, 406, test.between), req(44, 412, 413, test.last))
		tl.Header.Tick = 10 * ms
		c := Judge(tl, sampleLimit(t, test.limit), honored)[0]
		if c.Verdict != test.want {
			t.Errorf("%s: got %s (%s), want %s", test.name, c.Verdict, c.Text, test.want)
		}
		if c.Verdict == result.Fail && !slices.Equal(c.Findings[0].Observations, []int{41, 44}) {
			t.Errorf("%s: got %v as its proof", test.name, c.Findings[0].Observations)
		}
	}
}

// TestHonoredTies: a denial or an admission may lie at the same instant as a denial or its retry. The limit
// decides whether it matters.
func TestHonoredTies(t *testing.T) {
	denied, retry := req(41, 411, 412, 429, "Retry-After: 1"), req(57, 1500, 1501, 429)
	before, after := record(req(40, 300, 411, 429), denied, retry),
		record(denied, retry, req(58, 1501, 1502, 429))
	for text, want := range map[string]result.Verdict{
		"":                                      result.Inconclusive,
		"token-bucket,rate=1/s,burst=1":         result.Fail,
		"sliding-window-log,rate=1/s":           result.Fail,
		"sliding-window-log,rate=1/s,count=all": result.Inconclusive,
		"token-bucket,rate=1/s,burst=1,ban=2s":  result.Inconclusive,
	} {
		var limit spec.Limit
		if text != "" {
			limit = parse(t, text)
		}
		for name, tl := range map[string]*timeline.Timeline{"before": before, "after": after} {
			if got := judge(tl, limit, honored, noWaits)[0]; got.Verdict != want {
				t.Errorf("%s, a denial in the same instant %s: got %s (%s), want %s", text, name, got.Verdict,
					got.Text, want)
			}
		}
		taken := record(denied, retry, req(58, 1501, 1502, 200))
		if got := judge(taken, limit, honored, noWaits)[0]; got.Verdict != result.Inconclusive {
			t.Errorf("%s, an admission in the same instant: got %s (%s), want inconclusive", text,
				got.Verdict, got.Text)
		}
		// One nanosecond between two clocks is wider than any tie. A request two nanoseconds away is seen
		// apart again.
		late := req(57, 1501, 1502, 429)
		for name, tl := range map[string]*timeline.Timeline{
			"before, two clocks": record(req(40, 300, 411, 429), denied, late),
			"after, two clocks":  record(denied, late, req(58, 1502, 1503, 429)),
			"nearly before, two clocks": record(with(req(40, 300, 411, 429),
				func(o *timeline.Observation) { o.FirstByte -= 2 }), denied, late),
			"nearly after, two clocks": record(denied, late,
				with(req(58, 1502, 1503, 429), func(o *timeline.Observation) { o.Sent += 2 })),
		} {
			tl.Header.ClockError = 1
			if got := judge(tl, limit, honored, noWaits)[0]; got.Verdict != result.Inconclusive {
				t.Errorf("%s, a denial %s: got %s (%s), want inconclusive", text, name, got.Verdict, got.Text)
			}
		}
	}
}

func TestHonoredPrintsTimesThatProveIt(t *testing.T) {
	tl := record(req(1, 0, 0, 429, "Retry-After: 1"), req(2, 0, 0, 429))
	tl.Observations[0].FirstByte = 412_345_678
	tl.Observations[1].Sent, tl.Observations[1].FirstByte = 1_412_345_999, 1_412_400_000
	c := one(t, tl, honored)
	const want = "(first byte 0.412345678 s); its client waited 1.000000321 s, sent #2 at 1.412345999 s"
	if len(c.Findings) != 1 || !strings.Contains(c.Findings[0].Text, want) {
		t.Errorf("got %+v, want %q", c.Findings, want)
	}
	tl.Observations[1].Sent = 1_412_400_000
	c = one(t, tl, honored)
	if len(c.Findings) != 1 ||
		!strings.Contains(c.Findings[0].Text,
			"(first byte 0.412346 s); its client waited 1.000054 s, sent #2 at 1.412400 s") {
		t.Errorf("got %+v, want microseconds", c.Findings)
	}
	if f := c.Findings[0]; f.Seen != 1_000_054_322 || f.Bound != 1_000_000_000 ||
		fmt.Sprint(f.Observations) != "[1 2]" || f.Partition != "k" {
		t.Errorf("got %+v, want what was waited and told, in nanoseconds", f)
	}
}

func TestHonoredCountsFindingsItDoesNotShow(t *testing.T) {
	var obs []timeline.Observation
	for i := range 13 {
		obs = append(obs, req(i, 2000*i, 2000*i+1, 429, "Retry-After: 1"))
	}
	c := one(t, record(obs...), honored)
	if len(c.Findings) != MostFindings ||
		c.Text != "12 of 12 clients that waited as told were denied again; the first 10 are shown" {
		t.Errorf("got %d findings: %s", len(c.Findings), c.Text)
	}
}

// client sends requests to l and records them. The limiter decides anywhere in the interval of a request.
// told gets the exact wait.
type client struct {
	rng   *rand.Rand
	l     reference.Limiter
	state reference.State
	now   time.Duration
	obs   []timeline.Observation
}

// send sends one request, which takes up to 50 ms. It returns the wait that was told, and whether the request
// was denied.
func (c *client) send(told func(time.Duration) string) (wait time.Duration, denied bool) {
	sent := c.now
	decided := sent + time.Duration(c.rng.Int64N(int64(25*ms)))
	first := decided + time.Duration(c.rng.Int64N(int64(25*ms)))
	var d reference.Decision
	c.state, d = c.l.Step(c.state, decided, 1)
	o := req(len(c.obs), 0, 0, 200)
	o.Sent, o.At, o.FirstByte, c.now = sent, sent, first, first+time.Microsecond
	if !d.Allow {
		v := told(d.RetryAfter)
		o = req(o.Seq, 0, 0, 429, "Retry-After: "+v)
		o.Sent, o.At, o.FirstByte = sent, sent, first
		var n time.Duration
		fmt.Sscan(v, &n)
		wait = n * time.Second
	}
	c.obs = append(c.obs, o)
	return wait, !d.Allow
}

func roundUp(d time.Duration) string   { return fmt.Sprint(int64((d + time.Second - 1) / time.Second)) }
func roundDown(d time.Duration) string { return fmt.Sprint(int64(d / time.Second)) }

// play lets a client wait as told most of the time. Otherwise it comes too early, or after a long silence.
func play(t *testing.T, seed uint64, spec string, told func(time.Duration) string) *timeline.Timeline {
	l, err := reference.NewLimit(parse(t, spec))
	if err != nil {
		t.Fatal(err)
	}
	c := &client{rng: rand.New(rand.NewPCG(seed, 1)), l: l, state: l.Init()}
	for len(c.obs) < 60 {
		wait, denied := c.send(told)
		switch x := c.rng.IntN(10); {
		case denied && x < 7:
			c.now += wait
		case denied && x < 9:
			c.now += wait / 2
		case x == 9:
			c.now += time.Duration(c.rng.Int64N(int64(3 * time.Second)))
		}
	}
	return record(c.obs...)
}

var specs = []string{"token-bucket,rate=2/3s,burst=3", "gcra,rate=1/1.7s,burst=2",
	"fixed-window,rate=3/5s,align=first", "sliding-window-log,rate=3/5s"}

func TestHonoredAcceptsRightLimitersAndCatchesWrongOnes(t *testing.T) {
	caught := 0
	for seed := range uint64(200) {
		for _, spec := range specs {
			if c := one(t, play(t, seed, spec, roundUp), honored); c.Verdict == result.Fail {
				t.Fatalf("%s, seed %d: a right limiter was accused: %s", spec, seed, c.Findings[0].Text)
			}
			if c := one(t, play(t, seed, spec, roundDown), honored); c.Verdict == result.Fail {
				caught++
			}
		}
	}
	if caught < 600 {
		t.Errorf("limiters that round down: got %d of 800 caught, want at least 600", caught)
	}
}

// TestHonoredNeedsEvidence: an observation that says less never makes a recording an accusation.
func TestHonoredNeedsEvidence(t *testing.T) {
	less := map[string]func(*timeline.Observation){
		"the answer is lost": func(o *timeline.Observation) {
			o.Answered, o.Outcome, o.Status, o.FirstByte = false, timeline.Unknown, 0, 0
		},
		"the outcome is unknown": func(o *timeline.Observation) {
			o.Outcome, o.Status = timeline.Unknown,
				500
		},
		"the fields are lost":      func(o *timeline.Observation) { o.Fields = nil },
		"the answer comes later":   func(o *timeline.Observation) { o.FirstByte += 700 * ms },
		"it was sent a bit before": func(o *timeline.Observation) { o.Sent -= min(o.Sent, 5*ms) },
	}
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 2))
		round := roundUp
		if seed%2 == 1 {
			round = roundDown
		}
		tl := play(t, seed, specs[seed%4], round)
		before := one(t, tl, honored)
		for name, change := range less {
			for range 10 {
				obs := append([]timeline.Observation(nil), tl.Observations...)
				change(&obs[rng.IntN(len(obs))])
				after := one(t, record(obs...), honored)
				if len(after.Findings) > len(before.Findings) && len(before.Findings) < MostFindings {
					t.Fatalf("seed %d, %s: got %s, before %s: %s", seed, name, after.Verdict, before.Verdict,
						after.Text)
				}
			}
		}
	}
}
