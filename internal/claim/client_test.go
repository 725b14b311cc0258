package claim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

var start = time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)

// read makes a recording of lines "MS CLIENT URL STATUS [NAME=VALUE]...". Each is a request that arrived at
// that millisecond and was answered 0.1 ms later, or later by took=MS. date=SECONDS is a Retry-After with
// that second of the recording, key= an Idempotency-Key.
func read(t *testing.T, text string) *timeline.Timeline {
	t.Helper()
	tl := &timeline.Timeline{Header: timeline.Header{Started: start}}
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		words := strings.Fields(line)
		var ms float64
		status, took := 0, 0.1
		if _, err := fmt.Sscan(words[0]+" "+words[3], &ms, &status); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Partition: words[1], Cost: 1},
			Answered: true, Status: status, Outcome: timeline.StatusOutcome(status)}
		o.Fields = timeline.Fields{{Name: ":method", Value: "GET"}, {Name: ":path", Value: words[2]}}
		for _, w := range words[4:] {
			name, value, _ := strings.Cut(w, "=")
			switch name {
			case "took":
				fmt.Sscan(value, &took)
				continue
			case "date":
				var s int
				fmt.Sscan(value, &s)
				name, value = "Retry-After", start.Add(time.Duration(s)*time.Second).
					Format("Mon, 02 Jan 2006 15:04:05 GMT")
			case "key":
				name = "Idempotency-Key"
			case "after":
				name = "Retry-After"
			}
			o.Fields = append(o.Fields, timeline.Field{Name: name, Value: value})
		}
		o.Sent = time.Duration(ms * 1e6)
		o.FirstByte = o.Sent + time.Duration(took*1e6)
		tl.Observations = append(tl.Observations, o)
	}
	return tl
}

// claimed returns the claim of a kind.
func claimed(t *testing.T, claims []result.Claim, kind result.ClaimKind) result.Claim {
	t.Helper()
	i := slices.IndexFunc(claims, func(c result.Claim) bool { return c.Kind == kind })
	if i < 0 {
		t.Fatalf("no claim %s", kind)
	}
	return claims[i]
}

func TestWaits(t *testing.T) {
	const pass, fail, open = result.Pass, result.Fail, result.Inconclusive
	for _, x := range []struct {
		name, text string
		same       string
		want       result.Verdict
		witness    string
	}{
		{"kept in seconds", `0 a / 429 key=1 after=2
			2001 a / 200 key=1`, "", pass, "[]"},
		{"early by name of a key", `0 a / 429 key=1 after=2
			1500 a / 200 key=1`, "", fail, "[[0 1]]"},
		{"a timer may be 20 ms early", `0 a / 429 key=1 after=2
			1981 a / 200 key=1`, "", pass, "[]"},
		{"25 ms are no timer", `0 a / 429 key=1 after=2
			1975 a / 200 key=1`, "", fail, "[[0 1]]"},
		{"another key is another request", `0 a / 429 key=1 after=2
			100 a / 200 key=2`, "", open, "[]"},
		{"another client is another request", `0 a / 429 key=1 after=2
			100 b / 200 key=1`, "", open, "[]"},
		{"a date kept", `200 a / 429 key=1 date=2
			2003 a / 200 key=1`, "", pass, "[]"},
		{"a date read as a number is no wait", `200 a / 429 key=1 date=2
			203 a / 200 key=1`, "", fail, "[[0 1]]"},
		{"a date that is past is no wait", `3200 a / 429 key=1 date=2
			3203 a / 200 key=1`, "", open, "[]"},
		{"no wait in zero seconds", `0 a / 429 key=1 after=0
			3 a / 200 key=1`, "", open, "[]"},
		{"nor in what nobody can read", `0 a / 429 key=1 after=soon
			3 a / 200 key=1`, "", open, "[]"},
		{"one URL may have many requests", `0 a / 429 after=2
			100 a / 429 after=2`, "", open, "[]"},
		{"unless that is ruled out", `0 a / 429 after=2
			100 a / 429 after=2`, SameURL, fail, "[[0 1]]"},
		{"a loop that waits passes without names", `0 a / 200
			1 a / 429 after=1
			1010 a / 200
			1011 a / 429 after=1
			2020 a / 200`, "", pass, "[]"},
		{"sent while the denial came is no retry", `0 a / 429 key=1 after=2 took=50
			90 a / 200 key=1`, "", open, "[]"},
		{"a field that was named", `0 a / 429 X-Request-Id=7 after=2
			90 a / 200 X-Request-Id=7`, "X-Request-Id", fail, "[[0 1]]"},
	} {
		_, claims := JudgeClients(read(t, x.text), ClientOptions{Same: x.same})
		c := claimed(t, claims, result.ClaimClientWaits)
		seqs := [][]int{}
		for _, f := range c.Findings {
			seqs = append(seqs, f.Observations)
		}
		if got := fmt.Sprint(seqs); c.Verdict != x.want || got != x.witness {
			t.Errorf("%s: got %v %s (%s), want %v %s", x.name, c.Verdict, got, c.Text, x.want, x.witness)
		}
	}
}

// denials makes n requests that are denied, `apart` milliseconds after each other. Each is tried again
// place(i) milliseconds after the stated time, which is two seconds later.
func denials(n int, apart float64, client func(int) string, place func(int) float64) string {
	type line struct {
		at   float64
		text string
	}
	var lines []line
	for i := range n {
		at := apart * float64(i)
		lines = append(lines, line{at, fmt.Sprintf("%f %s / 429 key=%d after=2", at, client(i), i)},
			line{at + 2000 + place(i), fmt.Sprintf("%f %s / 200 key=%d", at+2000.1+place(i), client(i), i)})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return int(1000 * (a.at - b.at)) })
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text + "\n")
	}
	return b.String()
}

func TestJitterAndStorms(t *testing.T) {
	one := func(int) string { return "a" }
	each := func(i int) string { return fmt.Sprintf("c%02d", i) }
	still := func(i int) float64 { return 2 + float64(i%3) }
	wide := func(i int) float64 { return float64(i) * 40 }
	narrow := func(i int) float64 { return float64(i) * 7 }
	two := func(i int) float64 { return still(i) + float64(i/8*300) } // all but the last two
	three := func(i int) float64 { return still(i) + float64(i/9*300) }
	late := func(i int) float64 { return 600 + still(i) }
	const none = "no claim"
	for _, x := range []struct {
		name          string
		text          string
		jitter, storm string
	}{
		{"eight alike, far apart", denials(8, 3000, one, still), "fail", none},
		{"eight alike of ten", denials(10, 3000, one, two), "fail", none},
		{"nine alike of thirteen", denials(13, 3000, one, three), "pass", none},
		{"eight of ten at once", denials(10, 1, each, two), "fail", "fail"},
		{"eight alike, far apart and late", denials(8, 3000, one, late), "fail", none},
		{"eight clients at once, perhaps after a standstill", denials(8, 1, each, late), "inconclusive",
			"inconclusive"},
		{"seven alike", denials(7, 3000, one, still), "inconclusive", none},
		{"eight spread", denials(8, 3000, one, wide), "pass", none},
		{"eight of 1 to 5 %", denials(8, 3000, one, narrow), "inconclusive", none},
		{"eight clients alike, far apart", denials(8, 3000, each, still), "fail", none},
		{"eight clients at once", denials(8, 1, each, still), "fail", "fail"},
		{"seven clients at once", denials(7, 1, each, still), "inconclusive", none},
		{"eight clients spread", denials(8, 1, each, wide), "pass", "pass"},
		{"eight clients a little spread", denials(8, 1, each, narrow), "inconclusive", "inconclusive"},
	} {
		_, claims := JudgeClients(read(t, x.text), ClientOptions{})
		if got := claimed(t, claims, result.ClaimClientJitter).Verdict.String(); got != x.jitter {
			t.Errorf("%s: jitter: got %s, want %s", x.name, got, x.jitter)
		}
		storm := none
		for _, c := range claims {
			if c.Kind == result.ClaimClientStorm {
				storm = c.Verdict.String()
			}
		}
		if storm != x.storm {
			t.Errorf("%s: storm: got %s, want %s", x.name, storm, x.storm)
		}
	}
}

func TestBounds(t *testing.T) {
	const three = `0 a /x 429 key=1 after=1
		1001 a /x 429 key=1 after=1
		2002 a /x 429 key=1 after=1`
	const attempts = result.ClaimClientAttempts
	const later = "\n\t\t9000 b / 200"
	for _, x := range []struct {
		name, text string
		opts       ClientOptions
		kind       result.ClaimKind
		want       result.Verdict
	}{
		{"more tries than declared", three, ClientOptions{MaxAttempts: 2}, attempts, result.Fail},
		{"as many, given up", three + later, ClientOptions{MaxAttempts: 3}, attempts, result.Pass},
		{"as many, who knows for how long", three, ClientOptions{MaxAttempts: 3}, attempts,
			result.Inconclusive},
		{"more, perhaps of several requests", strings.ReplaceAll(three, "key=1", ""),
			ClientOptions{MaxAttempts: 2},
			attempts, result.Inconclusive},
		{"over the budget", three + later, ClientOptions{Budget: 99}, result.ClaimClientBudget, result.Fail},
		{"at the budget", three + later, ClientOptions{Budget: 100}, result.ClaimClientBudget, result.Pass},
		{"perhaps over it", strings.ReplaceAll(three, "key=1", "") + later, ClientOptions{Budget: 99},
			result.ClaimClientBudget, result.Inconclusive},
	} {
		_, claims := JudgeClients(read(t, x.text), x.opts)
		if c := claimed(t, claims, x.kind); c.Verdict != x.want {
			t.Errorf("%s: got %v (%s), want %v", x.name, c.Verdict, c.Text, x.want)
		}
	}
}

// TestNoRightClientIsAccused plays clients that keep each wait. They send many requests at once to one URL or
// several, with and without keys, over a network with delays. None is accused of an early retry. A client
// that comes half a wait too early and names its requests is accused.
func TestNoRightClientIsAccused(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		keys, urls, hasty := rnd.IntN(2) == 0, 1+rnd.IntN(4), rnd.IntN(4) == 0
		var lines []timeline.Observation
		for n := range 1 + rnd.IntN(12) { // each is a worker with some requests
			at := float64(rnd.IntN(30))
			for r := range 1 + rnd.IntN(3) {
				o := timeline.Observation{Arrival: timeline.Arrival{Partition: "a", Cost: 1}, Answered: true}
				o.Fields = timeline.Fields{{Name: ":path", Value: fmt.Sprint("/", rnd.IntN(urls))}}
				if keys {
					key := timeline.Field{Name: "Idempotency-Key", Value: fmt.Sprint(n, r)}
					o.Fields = append(o.Fields, key)
				}
				for range 1 + rnd.IntN(4) {
					at += rnd.Float64() * 40 // the way to the server
					wait := float64(1 + rnd.IntN(2))
					try := o
					try.Sent, try.Status, try.Outcome = time.Duration(at*1e6), 429, timeline.Denied
					try.FirstByte = try.Sent + time.Duration(rnd.Float64()*1e5)
					try.Fields = append(slices.Clone(o.Fields), timeline.Field{Name: "Retry-After",
						Value: fmt.Sprint(wait)})
					if rnd.IntN(3) == 0 {
						try.Status, try.Outcome = 200, timeline.Allowed
					}
					lines = append(lines, try)
					if try.Outcome == timeline.Allowed {
						break
					}
					at += 0.2 + rnd.Float64()*40 // the way back
					if hasty {
						wait /= 2
					}
					at += wait * 1000
				}
			}
		}
		slices.SortFunc(lines, timeline.BySent)
		retried := false
		seen := map[string]bool{}
		for i := range lines {
			lines[i].Seq = i
			k, _ := lines[i].Fields.Get("Idempotency-Key")
			retried, seen[k] = retried || seen[k], true
		}
		tl := &timeline.Timeline{Header: timeline.Header{Started: start}, Observations: lines}
		_, claims := JudgeClients(tl, ClientOptions{})
		c := claimed(t, claims, result.ClaimClientWaits)
		if want := hasty && keys && retried; (c.Verdict == result.Fail) != want {
			t.Errorf("seed %d: keys %t, hasty %t, retried %t: got %v (%s), want FAIL %t", seed, keys, hasty,
				retried, c.Verdict, c.Text, want)
		}
	}
}

// TestWaitsThatAreToldOtherwise: where no Retry-After can be read, the shortest reading of what a denial says
// counts.
func TestWaitsThatAreToldOtherwise(t *testing.T) {
	const pass, fail, open = result.Pass, result.Fail, result.Inconclusive
	for _, x := range []struct {
		name, said string
		after      int
		want       result.Verdict
		text       string
	}{
		{"a fraction", "after=2.9", 1, fail, "Retry-After: 2.9"},
		{"a fraction cut to the second", "after=2.9", 2001, pass,
			"1 denial had a Retry-After that no client"},
		{"less than a second", "after=0.493", 1, open, "that no client can read"},
		{"a list", "after=2814,2", 1, fail, "Retry-After: 2814,2"},
		{"the shortest of a list", "after=2814,2", 2001, pass, ""},
		{"a unit", "after=3s", 2500, fail, ""},
		{"milliseconds", "Retry-After-Ms=1500", 1400, fail, "Retry-After-Ms: 1500"},
		{"milliseconds, kept", "Retry-After-Ms=1500", 1501, pass, ""},
		{"the shorter of two", "after=2 Retry-After-Ms=1500", 1501, pass, ""},
		{"seconds from now", "X-Ratelimit-Reset=3", 900, fail, "reset (x-ratelimit): 3.000 s"},
		{"seconds from now, kept", "X-Ratelimit-Reset=3", 3001, pass, ""},
		{"an instant", fmt.Sprint("X-Ratelimit-Reset=", start.Unix()+3), 900, fail,
			"reset (x-ratelimit): 2.999"},
		{"the next of two resets", `Ratelimit="a";r=0;t=60,"b";r=0;t=2`, 2001, pass, ""},
		{"the next reset is stated first", `Ratelimit="a";r=0;t=2,"b";r=0;t=60`, 2001, pass, ""},
		{"RateLimit", `Ratelimit="a";r=0;t=2`, 900, fail, "reset (ratelimit-08)"},
		{"a reset beside what is no wait", "after=soon X-Ratelimit-Reset=3", 900, fail,
			"reset (x-ratelimit)"},
		{"a body in seconds", `body={"retryDelay":"2s"}`, 900, fail, "retryDelay: 2s in its body"},
		{"a body that may count milliseconds", `body={"retry_after":900}`, 901, pass, ""},
	} {
		tl := read(t, fmt.Sprintf("0 a / 429 key=1 %s\n%d a / 200 key=1", x.said, x.after))
		for i, f := range tl.Observations[0].Fields {
			if f.Name == "body" {
				tl.Observations[0].Body = tl.Observations[0].Fields[i].Value
			}
		}
		_, claims := JudgeClients(tl, ClientOptions{})
		c := claimed(t, claims, result.ClaimClientWaits)
		all := c.Text
		for _, f := range c.Findings {
			all += " " + f.Text
		}
		if c.Verdict != x.want || !strings.Contains(all, x.text) {
			t.Errorf("%s: got %v (%s), want %v with %q", x.name, c.Verdict, all, x.want, x.text)
		}
	}
}

// tries is one request that is denied without a wait, and tried again after some milliseconds each.
func tries(key string, gaps ...float64) string {
	at, out := 0.0, ""
	for i, gap := range append(gaps, 0) {
		out += fmt.Sprintf("%g a / 429 key=%s\n", at, key)
		if i < len(gaps) {
			at += gap + 0.1
		}
	}
	return out
}

func TestBackoff(t *testing.T) {
	const pass, fail = result.Pass, result.Fail
	for _, x := range []struct {
		name, backoff string
		gaps          []float64
		want          result.Verdict
		text          string
	}{
		{"never waits", "", []float64{1, 1, 1, 1, 1, 1, 1, 1}, fail, "8 of 8 retries"},
		{"waits after one", "", []float64{1, 1, 1, 500, 1, 1, 1, 1}, pass, ""},
		{"one of ten came late", "", []float64{1, 1, 1, 500, 1, 1, 1, 1, 1, 1}, fail, "9 of 10 retries"},
		{"waits", "", []float64{100, 200, 400, 800, 1600, 3200, 5000, 5000}, pass, "8 waits"},
		{"doubles", "1s..4s", []float64{1000, 2000, 4000, 4000}, pass, ""},
		{"does not double", "1s..4s", []float64{1000, 1000}, fail, "declared are at least 2.000 s"},
		{"stops too low", "1s..4s", []float64{1000, 2000, 3000}, fail, "declared are at least 4.000 s"},
		{"within its jitter", "1s..4s,jitter=50%", []float64{500, 1000, 2000}, pass, ""},
		{"below its jitter", "1s..4s,jitter=50%", []float64{400, 1000, 2000}, fail, "at least 0.500 s"},
		{"by another factor", "1s..9s,factor=3", []float64{1000, 3000, 9000}, pass, ""},
	} {
		o := ClientOptions{}
		if x.backoff != "" {
			var err error
			if o.Backoff, err = ParseBackoff(x.backoff); err != nil {
				t.Fatal(err)
			}
		}
		_, claims := JudgeClients(read(t, tries("1", x.gaps...)), o)
		c := claimed(t, claims, result.ClaimClientBackoff)
		text := c.Text
		if len(c.Findings) > 0 {
			text = c.Findings[0].Text
		}
		if c.Verdict != x.want || !strings.Contains(text, x.text) {
			t.Errorf("%s: got %v (%s), want %v with %q", x.name, c.Verdict, text, x.want, x.text)
		}
	}
	// Too few waits say nothing, and without names of requests nobody is accused.
	for _, text := range []string{tries("1", 1, 1, 1), strings.ReplaceAll(tries("1", 1, 1, 1, 1, 1, 1, 1, 1),
		"key=1", "")} {
		_, claims := JudgeClients(read(t, text), ClientOptions{})
		if slices.ContainsFunc(claims,
			func(c result.Claim) bool { return c.Kind == result.ClaimClientBackoff }) {
			t.Errorf("got a claim on %q", text)
		}
	}
	for _, bad := range []string{"", "1s", "2s..1s", "1s..2s,factor=0", "1s..2s,jitter=5", "1s..2s,x=1",
		"0s..1s"} {
		if _, err := ParseBackoff(bad); err == nil {
			t.Errorf("%q: got no error", bad)
		}
	}
}

func TestBreaker(t *testing.T) {
	const pass, fail, open = result.Pass, result.Fail, result.Inconclusive
	const three = "0 a / 429 key=1\n10 a / 429 key=2\n20 a / 429 key=3\n"
	for _, x := range []struct {
		name, text string
		want       result.Verdict
	}{
		{"kept", three + "1030 a / 200 key=4", pass},
		{"a timer may be early", three + "1005 a / 200 key=4", pass},
		{"sends while it is open", three + "900 a / 200 key=4", fail},
		{"two denials open nothing", "0 a / 429 key=1\n10 a / 429 key=2\n900 a / 200 key=4", open},
		{"an admission between them",
			"0 a / 429 key=1\n10 a / 429 key=2\n15 a / 200 key=3\n20 a / 429 key=3\n" +
				"900 a / 200 key=4", open},
		{"another client", three + "900 b / 200 key=4\n1030 a / 200 key=4", pass},
		{"what was under way is no evidence", "0 a / 429 key=1\n10 a / 429 key=2\n20 a / 429 key=3 took=5\n" +
			"28 a / 429 key=4\n1100 a / 200 key=4", pass},
		{"an admission closes it", three[:len(three)-len("20 a / 429 key=3\n")] +
			"14 a / 200 key=5 took=50\n20 a / 429 key=3\n100 a / 200 key=6\n1100 a / 200 key=4", pass},
		{"three more denials open it again", three[:len(three)-len("20 a / 429 key=3\n")] +
			"14 a / 200 key=5 took=50\n20 a / 429 key=3\n70 a / 429 key=6\n80 a / 429 key=7\n" +
			"90 a / 429 key=8\n200 a / 200 key=9\n1100 a / 200 key=4", fail},
		{"a probe opens it again", three + "1030 a / 429 key=4\n1500 a / 200 key=5", fail},
	} {
		_, claims := JudgeClients(read(t, x.text), ClientOptions{Breaker: Breaker{3, time.Second}})
		if c := claimed(t, claims, result.ClaimClientBreaker); c.Verdict != x.want {
			t.Errorf("%s: got %v (%s %v), want %v", x.name, c.Verdict, c.Text, c.Findings, x.want)
		}
	}
	if b, err := ParseBreaker("5/30s"); err != nil || b != (Breaker{5, 30 * time.Second}) {
		t.Errorf("got %v, %v", b, err)
	}
	for _, bad := range []string{"", "5", "0/1s", "5/0s", "x/1s"} {
		if _, err := ParseBreaker(bad); err == nil {
			t.Errorf("%q: got no error", bad)
		}
	}
}
