package rlcheck_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck"
)

// noon is when the recordings of the examples begin.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// burst returns n requests of one client within n milliseconds, of which the first are admitted.
func burst(n, allowed int) []rlcheck.Request {
	all := make([]rlcheck.Request, n)
	for i := range all {
		sent := noon.Add(time.Duration(i) * time.Millisecond)
		all[i] = rlcheck.Request{Client: "alice", Sent: sent, Answered: sent.Add(time.Millisecond),
			Outcome: rlcheck.Denied}
		if i < allowed {
			all[i].Outcome = rlcheck.Allowed
		}
	}
	return all
}

// A limiter admits 21 requests of a burst although its bucket has 20.
func Example() {
	limit, err := rlcheck.ParseLimit("token-bucket,rate=10/s,burst=20")
	if err != nil {
		panic(err)
	}
	fmt.Println(limit.Judge(burst(30, 20)))
	j := limit.Judge(burst(30, 21))
	fmt.Println(j.Verdict)
	for part := range strings.SplitSeq(j.Proof.Text, "; ") {
		fmt.Println(part)
	}
	fmt.Println(len(j.Proof.Requests), "requests prove it")
	// Output:
	// PASS  burst 20 (measured 20..20), rate 10/s (measured at most 35.73/s)
	// fail
	// 21 requests allowed within 0.021 s (0.021004 s with a drift of up to 200 ppm)
	// at most 20 + floor(10/s * 0.021004 s) = 20 are possible
	// 21 requests prove it
}

func ExampleParseLimit() {
	for _, spec := range []string{"fixed-window,rate=100/m", "nginx:rate=10r/s,burst=20,nodelay",
		"any:rate=100/1m", "fixed-window,rate=10"} {
		limit, err := rlcheck.ParseLimit(spec)
		fmt.Println(limit, err)
	}
	// Output:
	// fixed-window,rate=100/1m <nil>
	// leaky-bucket,rate=10/s,burst=21 <nil>
	// any:rate=100/1m <nil>
	//  rlcheck: limit:19: rate "10": a bare number needs a unit, a rate is N/PER (write "10/s")
}

// The proof of a Fail is the few requests that no decision times explain.
func ExampleLimit_Judge() {
	limit, _ := rlcheck.ParseLimit("fixed-window,rate=5/1m,align=first")
	requests := burst(8, 5)
	requests[7].Outcome = rlcheck.Allowed
	j := limit.Judge(requests)
	fmt.Println(j.Verdict)
	fmt.Println(j.Proof.Text)
	fmt.Println(j.Proof.Requests)
	// Output:
	// fail
	// 6 requests allowed within 0.008 s, in 1 window of 1m0s; at most 5 are possible
	// [0 1 2 3 4 7]
}

// One that promises 5 requests a minute and says no more may have any kind of limit.
func ExampleLimit_Judge_any() {
	limit, _ := rlcheck.ParseLimit("any:rate=5/1m")
	fmt.Println(limit.Judge(burst(20, 5)))
	fmt.Println(limit.Judge(burst(20, 11)).Verdict)
	// Output:
	// PASS  as token-bucket,rate=5/1m,burst=5: burst 5 (measured 5..5), rate 5/1m (not measured)
	// fail
}

// A recording in which no limiter could have shown a fault is no Pass.
func ExampleReason() {
	limit, _ := rlcheck.ParseLimit("token-bucket,rate=10/s,burst=20")
	j := limit.Judge(burst(3, 3))
	fmt.Println(j.Verdict, j.Reason)
	// Output:
	// inconclusive too-few
}

func ExampleMeasured() {
	limit, _ := rlcheck.ParseLimit("token-bucket,rate=10/s,burst=20")
	for _, m := range limit.Judge(burst(30, 20)).Measured {
		fmt.Println("burst", m.Burst, "rate", m.Rate)
	}
	// Output:
	// burst 20..20 rate -Inf..35.7219
}

// A recording in which no wrong limiter could have shown is no Pass.
func ExampleChances() {
	limit, _ := rlcheck.ParseLimit("token-bucket,rate=10/s,burst=20")
	for _, n := range []int{30, 3} {
		j := limit.Judge(burst(n, min(n, 20)))
		fmt.Println(j.Verdict, j.Chances.Seen, "of", j.Chances.Needed, j.Chances.Of)
	}
	// Output:
	// pass 1 of 1 clients that were answered more often than the limit admits
	// inconclusive 0 of 1 clients that were answered more often than the limit admits
}

// Each client has a quota of its own.
func ExampleRequest() {
	limit, _ := rlcheck.ParseLimit("fixed-window,rate=1/1m,align=first")
	var all []rlcheck.Request
	for i, client := range []string{"alice", "bob", "alice", "bob"} {
		r := rlcheck.Request{Client: client, Sent: noon.Add(time.Duration(i) * time.Second),
			Outcome: rlcheck.Allowed}
		r.Answered = r.Sent.Add(time.Millisecond)
		if i >= 2 {
			r.Outcome = rlcheck.Denied
		}
		all = append(all, r)
	}
	fmt.Println(limit.Judge(all).Verdict)
	// Output: pass
}

// What a right limiter answers, such as the tests of a limiter want.
func ExampleLimit_Decide() {
	limit, _ := rlcheck.ParseLimit("token-bucket,rate=1/s,burst=2")
	var requests []rlcheck.Request
	for i := range 4 {
		requests = append(requests, rlcheck.Request{Client: "alice",
			Sent: noon.Add(time.Duration(i) * 300 * time.Millisecond)})
	}
	decisions, err := limit.Decide(requests)
	if err != nil {
		panic(err)
	}
	for _, d := range decisions {
		fmt.Println(d.Allow, d.Remaining, d.RetryAfter)
	}
	// Output:
	// true 1 0s
	// true 0 0s
	// false 0 400ms
	// false 0 100ms
}

// In one process the limiter reads the clock that stamps the requests. Then the start of a window is known.
func ExampleSameClock() {
	limit, _ := rlcheck.ParseLimit("fixed-window,rate=5/1s")
	edge := burst(20, 20) // 10 before the edge of a window, 10 behind it
	for i := range edge {
		edge[i].Sent = noon.Add(time.Duration(10*(i-10)) * time.Millisecond)
		edge[i].Answered = edge[i].Sent.Add(time.Millisecond)
		if i >= 6 && i < 10 || i >= 14 { // 6 are admitted before the edge, and 4 behind it
			edge[i].Outcome = rlcheck.Denied
		}
	}
	fmt.Println(limit.Judge(edge, rlcheck.AtMost()).Verdict)
	fmt.Println(limit.Judge(edge, rlcheck.AtMost(), rlcheck.SameClock()).Verdict)
	// Output:
	// pass
	// fail
}

// A limiter that denies too early keeps its limit, if only the most is asked.
func ExampleAtMost() {
	limit, _ := rlcheck.ParseLimit("token-bucket,rate=10/s,burst=20")
	early := burst(30, 15)
	fmt.Println(limit.Judge(early).Verdict, limit.Judge(early, rlcheck.AtMost()).Verdict)
	// Output: fail pass
}

// Requests of others may have used the quota.
func ExampleShared() {
	limit, _ := rlcheck.ParseLimit("token-bucket,rate=10/s,burst=20")
	j := limit.Judge(burst(30, 15), rlcheck.Shared())
	fmt.Println(j.Verdict, j.Reason)
	// Output: inconclusive foreign-traffic
}
