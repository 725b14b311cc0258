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
