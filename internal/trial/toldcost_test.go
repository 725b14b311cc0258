package trial

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
)

// gateway admits while the units of its window are under the quota, and charges an answer before it sends it.
type gateway struct {
	sync.Mutex
	quota, used, answers int
	begun                time.Time
	costs                []int
	// charge returns what is charged at the decision and at the end. nil: nothing, and the cost.
	charge func(cost int) (first, last int)
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	g.Lock()
	if now := time.Now(); now.Sub(g.begun) >= 4*time.Second {
		g.begun, g.used = now, 0
	}
	if g.used >= g.quota {
		g.Unlock()
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	cost := g.costs[g.answers%len(g.costs)]
	first, last := 0, cost
	if g.charge != nil {
		first, last = g.charge(cost)
	}
	g.used, g.answers = g.used+first, g.answers+1
	g.Unlock()
	time.Sleep(50 * time.Millisecond)
	g.Lock()
	g.used += last
	g.Unlock()
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"usage":{"total_tokens":%d}}`, cost)
}

// TestCostsThatOnlyAnswersTell: a budget whose costs stand in the answers is measured in steps of these. A
// gateway that is wrong by more fails. What proves too little says what would prove more.
func TestCostsThatOnlyAnswersTell(t *testing.T) {
	const paced = "shape: constant, rate: 1/200ms, duration: 9s"
	const closed = "shape: closed, clients: 1, requests: 60"
	const first = "fixed-window,rate=100/4s,align=first,charge=completion"
	for name, c := range map[string]struct {
		quota  int
		costs  []int
		charge func(int) (int, int)
		limit  string
		phase  string
		want   result.Verdict
		says   string // the measured quota, or the mend
	}{
		"right, one cost": {100, []int{30}, nil, first + ",linger=20ms", paced, result.Pass, "91..120"},
		"right, four costs": {100, []int{30, 20, 30, 10}, nil, first + ",linger=20ms", paced, result.Pass,
			"91..110"},
		"one unit each": {100, []int{30}, func(int) (int, int) { return 0, 1 }, first + ",linger=20ms", paced,
			result.Fail, "571.."},
		"half of it": {100, []int{30}, func(c int) (int, int) { return 0, c / 2 }, first + ",linger=20ms",
			paced, result.Fail, "181..210"},
		"a reserve that is kept": {100, []int{30}, func(c int) (int, int) { return 40, c }, first +
			",linger=20ms", paced, result.Fail, "31..60"},
		"130 of 100": {130, []int{30}, nil, first + ",linger=20ms", paced, result.Fail, "121..150"},
		"70 of 100":  {70, []int{30}, nil, first + ",linger=20ms", paced, result.Fail, "61..90"},
		"too soon": {100, []int{30}, nil, first + ",linger=20ms", closed, result.Inconclusive,
			"shape: constant, rate: 1/100ms"},
		"windows anywhere": {100, []int{30}, nil, strings.Replace(first, "first", "unknown", 1) +
			",linger=20ms", paced, result.Inconclusive, "say where windows begin (align=first)"},
		"too dear": {100, []int{60}, nil, first + ",linger=20ms", paced, result.Inconclusive,
			"ask for answers that cost less"},
		"too far apart for the rate": {100, []int{30}, nil, first + ",linger=20ms",
			strings.Replace(paced, "9s", "20s", 1), result.Inconclusive, "expect.resolution.rate=10%"},
	} {
		t.Run(name, func(t *testing.T) {
			var out result.Scenario
			synctest.Test(t, func(t *testing.T) {
				n := new(lab.PipeNetwork)
				url, stop, err := n.Listen(&gateway{quota: c.quota, costs: c.costs, charge: c.charge})
				if err != nil {
					t.Fatal(err)
				}
				defer stop()
				text := fmt.Sprintf("id: budget\ntitle: A budget\nkind: required\n"+
					"source: \"https://a.example/\"\n"+
					"target: {url: %q}\npartition: {header: X-Api-Key, fresh: true}\nlimit: %s\n"+
					"cost: {body: usage.total_tokens}\nphases: [{name: one, %s}]\n"+
					"expect: {conformance: exact}\n", url, c.limit, c.phase)
				s, err := scenario.Parse([]byte(text), "x.yaml", scenario.ParseOptions{})
				if err != nil {
					t.Fatal(err)
				}
				out = Scenario(context.Background(), s, Options{ID: "m", Seed: 1, Embed: embedded, Network: n,
					Pacer: transport.SleepingPacer()})
				time.Sleep(time.Minute)
			})
			_, together := Together([]result.Scenario{out})
			out = together[0]
			says := fmt.Sprint(out.Judgement.Measured.Burst)
			if out.Verdict == result.Inconclusive {
				_, says = out.Coarse()
			}
			if out.Verdict != c.want || !strings.Contains(says, c.says) {
				t.Errorf("got %s, %s (%s), want %s, %s", out.Verdict, says, out.Detail, c.want, c.says)
			}
		})
	}
}
