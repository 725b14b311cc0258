package trial

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// echo returns a recording of echo v5.4.4. After a denial its limiter reserves and cancels, and a token that
// came back in between is lost. Denials with 1 of 5 units in use prove it.
func echo(t *testing.T) *result.Scenario {
	t.Helper()
	f, err := os.Open("testdata/echo.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	tl, err := timeline.Read(f, "echo", timeline.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := spec.Parse("token-bucket,rate=5/2s,burst=5")
	if err != nil {
		t.Fatal(err)
	}
	j, err := check.Judge(tl, l, check.Options{Conformance: result.Exact})
	if err != nil {
		t.Fatal(err)
	}
	return &result.Scenario{ID: "quota-window", Verdict: j.Verdict, Limit: l, Target: "t", Judgement: j,
		Timeline: tl}
}

// later returns the recording of s as that of another client, which began later.
func later(s *result.Scenario, id string, by time.Duration) *result.Scenario {
	out, tl := *s, *s.Timeline
	tl.Header.Started = tl.Header.Started.Add(by)
	tl.Observations = slices.Clone(tl.Observations)
	for i := range tl.Observations {
		tl.Observations[i].Partition = id
	}
	out.ID, out.Timeline = id, &tl
	return &out
}

// TestTokensThatAreLostAreNoDisturbance: clients that came later do not explain that a token was lost. One
// quota for all of them would.
func TestTokensThatAreLostAreNoDisturbance(t *testing.T) {
	s := echo(t)
	if s.Verdict != result.Fail {
		t.Fatalf("got %s, want fail", s.Verdict)
	}
	var beside []*result.Scenario
	for n, id := range []string{"burst", "recovery", "retry-after", "tiers", "own-window"} {
		beside = append(beside, later(s, id, time.Duration(44+7*n)*100*time.Millisecond))
	}
	if why := Disturbed(s, beside); why != "" {
		t.Errorf("got %q, want nothing", why)
	}
	first := s.Findings()[0]
	at := slices.IndexFunc(s.Timeline.Observations, func(o timeline.Observation) bool {
		return o.Seq == first.Observations[len(first.Observations)-1]
	})
	loud := later(s, "loud", 0)
	loud.Timeline.Observations = nil
	for i := range 9 { // at the same time as the denial in question, nine others are admitted
		o := s.Timeline.Observations[at]
		o.Seq, o.Outcome, o.Partition = i, timeline.Allowed, "loud"
		o.Sent, o.FirstByte = o.Sent-time.Millisecond, o.Sent-time.Millisecond/2
		loud.Timeline.Observations = append(loud.Timeline.Observations, o)
	}
	if why := Disturbed(s, append(beside, loud)); why == "" {
		t.Error("nine others were admitted just before the denial: got nothing")
	}
}

// TestNoCounterOfAllClientsIsRefuted: a counter for all clients, of any kind, denies requests of one that are
// admitted where the others send nothing. No such denial is refuted. Others are: those that it denies alone.
func TestNoCounterOfAllClientsIsRefuted(t *testing.T) {
	runs := uint64(300)
	if os.Getenv("RLCHECK_SOAK") != "" {
		runs = 20_000
	}
	disturbed, refuted := 0, 0
	for seed := range runs {
		r := rand.New(rand.NewPCG(seed, 5))
		kinds := []string{"token-bucket,rate=RATE/s,burst=N", "fixed-window,rate=N/WINDOW",
			"fixed-window,rate=N/WINDOW,align=first", "sliding-window-log,rate=N/WINDOW",
			"sliding-window-counter,rate=N/WINDOW"}
		window := []string{"1s", "2s", "4s", "1m"}[r.IntN(4)]
		limit := strings.NewReplacer("RATE", fmt.Sprint(1+r.IntN(40)), "N", fmt.Sprint(3+r.IntN(20)),
			"WINDOW", window).Replace(kinds[r.IntN(len(kinds))])
		if r.IntN(2) == 0 {
			limit += ",count=all"
		}
		l, err := spec.Parse(limit)
		if err != nil {
			t.Fatal(err)
		}
		counter, err := reference.NewLimit(l)
		if err != nil {
			t.Fatal(err)
		}
		asked := randomTraffic(r)
		before := r.IntN(2) == 0
		all := counted(asked, counter, before, false)
		alone := counted(asked, counter, before, true)
		tr := trafficOf(all, all[0])
		for i, o := range all[0].Timeline.Observations {
			if o.Status != http.StatusTooManyRequests { // the client's own limit denied it
				continue
			}
			switch {
			case tr.refutesAt(tr.denials[i]) && alone[0].Timeline.Observations[i].Outcome == timeline.Allowed:
				t.Fatalf("seed %d: %s: denial %d is refuted, and others caused it", seed, limit, i)
			case tr.refutesAt(tr.denials[i]):
				refuted++
			default:
				disturbed++
			}
		}
	}
	t.Logf("%d denials may come from others, %d are refuted", disturbed, refuted)
	if disturbed == 0 || refuted == 0 {
		t.Error("want some of both")
	}
}

// ask is a request of client 0 or 1, in flight from sent to answered, and decided between them. own: the
// limit of its client denies it.
type ask struct {
	client                  int
	sent, decided, answered time.Duration
	own                     bool
}

// randomTraffic returns bursts and single requests of two clients, ascending by their decisions.
func randomTraffic(r *rand.Rand) (out []ask) {
	latency := 1 + r.Int64N(int64(20*time.Millisecond))
	for range 1 + r.IntN(12) {
		client, at := r.IntN(2), time.Duration(r.Int64N(int64(6*time.Second)))
		for range 1 + r.IntN(15) {
			if r.IntN(4) == 0 {
				at += time.Duration(r.Int64N(int64(100 * time.Millisecond)))
			}
			d := at + time.Duration(r.Int64N(latency))
			out = append(out, ask{client, at, d, d + time.Duration(r.Int64N(latency)), r.IntN(4) == 0})
		}
	}
	slices.SortFunc(out, func(a, b ask) int { return cmp.Compare(a.decided, b.decided) })
	return out
}

// counted returns the recordings of both clients under a counter for all, before or behind their own limits.
// alone: it counts client 0 only.
func counted(asked []ask, counter reference.Limiter, before, alone bool) []*result.Scenario {
	all := []*result.Scenario{{ID: "s", Timeline: &timeline.Timeline{}},
		{ID: "x", Timeline: &timeline.Timeline{}}}
	state := counter.Init()
	for _, a := range asked {
		o := timeline.Observation{Arrival: timeline.Arrival{Seq: len(all[a.client].Timeline.Observations)},
			Sent: a.sent, FirstByte: a.answered, Answered: true, Outcome: timeline.Allowed, Status: 200}
		d := reference.Decision{Allow: true}
		if (before || !a.own) && !(alone && a.client == 1) {
			state, d = counter.Step(state, a.decided, 1)
		}
		if a.own {
			o.Outcome, o.Status = timeline.Denied, http.StatusForbidden
		}
		if !d.Allow {
			o.Outcome, o.Status = timeline.Denied, http.StatusTooManyRequests
		}
		tl := all[a.client].Timeline
		tl.Observations = append(tl.Observations, o)
	}
	return all
}
