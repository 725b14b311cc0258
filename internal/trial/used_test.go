package trial

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
)

// TestWhatAnEarlierRunUsedAccusesNobody: partitions that every run uses are not new in the second one. It
// begins with a silence in which a limiter forgets the first, so that a right one is accused of nothing, and
// one that admits too much is found in both.
func TestWhatAnEarlierRunUsedAccusesNobody(t *testing.T) {
	for _, limit := range []string{
		"fixed-window,rate=5/4s,align=unknown", "fixed-window,rate=5/4s,align=first",
		"fixed-window,rate=5/4s", "sliding-window-log,rate=5/4s", "sliding-window-counter,rate=5/4s",
		"token-bucket,rate=5/4s,burst=5", "token-bucket,rate=5/4s,burst=5,ban=3s,start=unknown",
	} {
		for run, got := range twoRuns(t, limit, "") {
			if got.Verdict == result.Fail || got.Header.CompleteFrom == 0 {
				t.Errorf("%s, run %d: got %s, complete from %s, want no accusation of a recording that is "+
					"cut out of traffic: %s", limit, run+1, got.Verdict, got.Header.CompleteFrom,
					explain(got))
			}
		}
		failed := 0
		for _, got := range twoRuns(t, limit, "burst-off-by-one") {
			if got.Verdict == result.Fail {
				failed++
			}
		}
		if failed != 2 {
			t.Errorf("%s that admits one more: got %d runs that fail, want 2", limit, failed)
		}
	}
}

// twoRuns runs a scenario twice, a second apart, with the same partitions.
func twoRuns(t *testing.T, limit, fault string) (out []result.Scenario) {
	t.Helper()
	src := "id: x\ntitle: x\nkind: required\nlimit: \"" + limit +
		"\"\npartition: {header: X-Api-Key, fresh: false}\n" +
		"phases:\n  - {name: a, shape: at-once, requests: 2x}\n  - {name: b, shape: constant, rate: 3/s, " +
		"duration: 9s}\n" +
		"expect: {resolution: {burst: none, rate: none}}\ntarget: {url: \"http://127.0.0.1:1000/\"}\n"
	s, err := scenario.Parse([]byte(src), "x.yaml", scenario.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		n := new(lab.PipeNetwork)
		h, err := lab.New(lab.Options{Limit: s.Limit, Fault: fault, PartitionHeader: "X-Api-Key"})
		if err != nil {
			t.Fatal(err)
		}
		_, stop, _ := n.Listen(http.Handler(h))
		for range 2 {
			out = append(out, Scenario(context.Background(), s,
				Options{ID: "m", Seed: 1, Embed: embedded, Network: n, Pacer: transport.SleepingPacer()}))
			time.Sleep(time.Second)
		}
		_ = stop()
		_ = h.Close()
		time.Sleep(time.Minute) // lets what was on its way come to its end
	})
	return out
}
