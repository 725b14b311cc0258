package trial_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
)

// tokenLimits are budgets of tokens that users have: what is admitted a minute, a second and a day, by
// gateways that settle, reserve, or know the cost beforehand.
var tokenLimits = []string{
	minute + "fixed-window,rate=10000/1m,charge=completion,linger=10ms",
	minute + "token-bucket,rate=10000/1m,burst=10000,charge=completion,linger=10ms",
	minute + "fixed-window,rate=10000/1m,reserve=3000,linger=10ms",
	minute + "fixed-window,rate=10000/1m",
	second + "sliding-window-log,rate=1000/1s,charge=completion,hold=HOLD..,linger=10ms",
	second + "token-bucket,rate=1000/1s,burst=1000,reserve=300,hold=HOLD..,linger=10ms",
	second + "token-bucket,rate=1000/1s,burst=1000",
	second + "fixed-window,rate=1000000/1d,charge=completion,linger=10ms",
	"fixed-window,rate=1000000/1d,charge=completion,linger=10ms",
	"fixed-window,rate=1000000/1d,reserve=300000,linger=10ms",
	minute + "fixed-window,rate=10000/1m,align=first,charge=completion,linger=1s",
	minute + "fixed-window,rate=10000/1m,align=first,tick=1s,reserve=500,linger=1s",
	minute + "fixed-window,rate=10000/1m,charge=completion,linger=1s + " +
		"fixed-window,rate=1000000/1d,charge=completion,linger=1s",
	second + "fixed-window,rate=1000/1s,align=first,charge=completion,hold=HOLD..,linger=10ms",
}

// bluntLimits leave too little that is certain for some scenarios: an answer outlasts a window, and nothing
// says so, or an estimate is too small to be seen, or a boundary may lie anywhere.
var bluntLimits = []string{
	second + "fixed-window,rate=1000/1s,align=first,charge=completion,linger=10ms",
	second + "fixed-window,rate=1000/1s,charge=completion,hold=2s..,linger=10ms",
	second + "fixed-window,rate=1000/1s,align=first,reserve=300,hold=2s..,linger=10ms",
	second + "fixed-window,rate=100/10s,align=first,reserve=10,linger=10ms",
	minute + "fixed-window,rate=10000/1m,align=first,tick=1s,reserve=1,linger=1s",
	"fixed-window,rate=10000/1m,align=unknown,charge=completion,linger=1s",
	"token-bucket,rate=1/86400us,burst=1000000,charge=completion,linger=1s",
}

// TestNoFaultPassesABluntBudget: a limit under which little is certain makes a scenario INCONCLUSIVE, with
// the reason. It lets no fault pass that the scenario claims to catch.
func TestNoFaultPassesABluntBudget(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	verdicts := map[result.Verdict]int{}
	for _, limit := range bluntLimits {
		trials, err := lab.Trials(limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range trials {
			if x.Unfit != "" || !strings.HasPrefix(x.Scenario.ID, "token-") {
				continue
			}
			out := x.Try(func(s *scenario.Scenario) result.Scenario {
				return provenVirtually(t, s, &lab.PipeNetwork{}, 1)
			})
			if out.Missed() || out.Accused() || out.Verdict == result.Inconclusive && out.Why == "" {
				t.Errorf("%s/%s/%s: got %s: %s", limit, x.Scenario.ID, x.Fault, out.Verdict, out.Why)
			}
			verdicts[out.Verdict]++
		}
	}
	t.Log(verdicts)
}

// The requests beside a budget of tokens.
const (
	minute = "fixed-window,rate=60/1m,unit=request + "
	second = "fixed-window,rate=5/1s,unit=request + "
)

// TestTokenBudgets: every fault of a budget of tokens is caught at every limit that can show it, and no right
// gateway is accused. Each scenario has one, eight and sixty-four requests in flight, and streams of two
// seconds.
func TestTokenBudgets(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	claimed, caught := map[string]bool{}, map[string]bool{}
	for _, limit := range tokenLimits {
		for _, hold := range []string{"0s", "2s"} {
			trials, err := lab.Trials(strings.Replace(limit, "HOLD", hold, 1))
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range trials {
				if strings.HasPrefix(x.Scenario.ID, "token-") {
					claimed[x.Fault] = true
				}
				streams := x.Scenario.ID == "token-stream"
				if x.Unfit != "" || !strings.HasPrefix(x.Scenario.ID, "token-") || streams != (hold == "2s") {
					continue
				}
				t.Run(limit+"/"+x.Scenario.ID+"/"+x.Fault, func(t *testing.T) {
					out := x.Try(func(s *scenario.Scenario) result.Scenario {
						return provenVirtually(t, s, &lab.PipeNetwork{}, 1)
					})
					t.Log(out.Verdict, out.Why)
					want := result.Fail
					if x.Fault == "" {
						want = result.Pass
					}
					caught[x.Fault] = caught[x.Fault] || out.Verdict == want
					if out.Verdict != want {
						t.Errorf("got %s, want %s", out.Verdict, want)
					}
				})
			}
		}
	}
	for fault := range claimed {
		if !caught[fault] {
			t.Errorf("%s: no limit of a budget shows it", fault)
		}
	}
}

// TestNoImpostorPassesATokenBudget: what answers 200, 429 or 502 to all, and tells no cost, passes no
// scenario of token budgets.
func TestNoImpostorPassesATokenBudget(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	tried := 0
	for _, limit := range tokenLimits {
		trials, err := lab.Trials(strings.Replace(limit, "HOLD", "0s", 1))
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range trials {
			if x.Unfit != "" || x.Fault != "" || !strings.HasPrefix(x.Scenario.ID, "token-") {
				continue
			}
			for _, i := range impostors {
				tried++
				out := provenVirtually(t, x.Scenario, &impostor{Handler: i.make()}, 1)
				if out.Verdict == result.Pass {
					t.Errorf("%s/%s/%s: %s", limit, i.name, x.Scenario.ID, said(out))
				}
			}
		}
	}
	t.Logf("%d impostors", tried)
}

// TestRightGatewaysAreNeverAccused runs right gateways with random budgets of tokens in virtual time, near
// and far. RLCHECK_SOAK=1 runs ten thousand.
func TestRightGatewaysAreNeverAccused(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	runs := uint64(60)
	if share := os.Getenv("RLCHECK_SOAK"); share != "" {
		part, err := strconv.ParseFloat(share, 64)
		if err != nil {
			t.Fatal(err)
		}
		runs = uint64(10_000 * part)
	}
	verdicts := map[result.Verdict]int{}
	first, _ := strconv.ParseUint(os.Getenv("RLCHECK_SEED"), 10, 64)
	for seed, n := first, uint64(0); n < runs; seed++ {
		r := rand.New(rand.NewPCG(seed, 38))
		limit := randomBudget(r)
		trials, err := lab.Trials(limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range trials {
			if x.Unfit != "" || x.Fault != "" || !strings.HasPrefix(x.Scenario.ID, "token-") {
				continue
			}
			way := time.Duration(r.Int64N(int64(60*time.Millisecond))) * time.Duration(r.IntN(2))
			out := provenVirtually(t, x.Scenario, &lab.PipeNetwork{Pipes: transport.Pipes{Way: way}}, seed)
			n++
			if verdicts[out.Verdict]++; out.Verdict == result.Fail {
				t.Errorf("seed %d: %s under %s, %s away: accused: %s", seed, x.Scenario.ID, limit, way,
					said(out))
			}
			if out.Verdict == result.Inconclusive {
				t.Logf("seed %d: %s under %s, %s away: %s", seed, x.Scenario.ID, limit, way, said(out))
			}
		}
	}
	t.Log(verdicts)
	if verdicts[result.Pass]*5 < int(runs)*4 {
		t.Errorf("got %v, want four in five of %d to pass", verdicts, runs)
	}
}

// randomBudget returns a limit of tokens, of a gateway that settles, reserves, or knows costs beforehand.
func randomBudget(r *rand.Rand) string {
	any := func(of ...string) string { return of[r.IntN(len(of))] }
	quota, window := 100+r.IntN(10_000), any("1s", "10s", "1m", "1h", "1d")
	if window == "1h" || window == "1d" { // longer ones are round, or too much for exact products
		quota -= quota % 100
	}
	text := fmt.Sprintf(any("fixed-window,rate=%d/%s", "fixed-window,rate=%d/%s,align=unknown",
		"fixed-window,rate=%d/%s,align=first",
		"token-bucket,rate=%d/%s,burst=QUOTA",
		"gcra,rate=%d/%s,burst=QUOTA", "sliding-window-log,rate=%d/%s", "sliding-window-counter,rate=%d/%s"),
		quota, window)
	text = strings.Replace(text, "QUOTA", fmt.Sprint(quota), 1)
	settles := fmt.Sprintf(",linger=%dms%s", r.IntN(30), any("", "", ",hold=40ms..", ",hold=2s..",
		",hold=10ms..3s"))
	switch {
	case r.IntN(3) == 0 && !strings.HasPrefix(text, "sliding"):
		text += fmt.Sprintf(",reserve=%d", 1+r.IntN(quota)) + settles
	case r.IntN(3) > 0:
		text += ",charge=completion" + settles
	default: // it must be told apart from a limit of requests
		return any(minute, second) + text
	}
	return any("", minute, second) + text
}
