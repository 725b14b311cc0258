package trial_test

import (
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/spec"
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
	caught := map[string]int{}
	for _, limit := range tokenLimits {
		for _, hold := range []string{"0s", "2s"} {
			trials, err := lab.Trials(strings.Replace(limit, "HOLD", hold, 1))
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range trials {
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
					if caught[x.Fault]++; out.Verdict != want && !hidesOne(x) {
						t.Errorf("got %s, want %s", out.Verdict, want)
					}
				})
			}
		}
	}
	t.Log(caught)
}

// hidesOne tells whether the fault is one unit too many, which an estimate, a cost that must fit or a refill
// hides: only a window that settles is asked when exactly all is spent.
func hidesOne(x lab.Trial) bool {
	l := x.Scenario.Limit
	p := l[len(l)-1]
	return x.Fault == "burst-off-by-one" &&
		(p.Charge != spec.ChargeCompletion || p.Reserve > 0 || p.Bucketed())
}
