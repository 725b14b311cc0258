package check

import (
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestClientsThatMayBeOneProveNothing: a right limiter answers bursts of clients whose keys a wrong one takes
// for the same. Unless one client cannot have all their admissions, the target may be the wrong one.
func TestClientsThatMayBeOneProveNothing(t *testing.T) {
	const soon, later = time.Millisecond, time.Minute
	long := strings.Repeat("long", 16)
	longs := []string{long + "a", long + "b"}
	for name, x := range map[string]struct {
		limit, against string
		clients        []string
		every          time.Duration // from one burst to the next
		blurred        bool
	}{
		"letters":                      {slow, "letters-dropped", []string{"é", "è"}, soon, false},
		"letters, no two such clients": {slow, "letters-dropped", []string{"é", "a"}, later, false},
		"letters, the quota is back":   {slow, "letters-dropped", []string{"é", "è"}, later, true},
		"letters, a quick bucket":      {brisk, "letters-dropped", []string{"é", "è"}, 200 * soon, true},
		"long keys":                    {slow, "truncated-key", longs, soon, false},
		"long keys, the quota is back": {slow, "truncated-key", longs, later, true},
		"any keys":                     {slow, "keys-shared", []string{"a", "b"}, soon, false},
		"any keys, the quota is back":  {slow, "keys-shared", []string{"a", "b"}, later, true},
		"a hidden window, two clients": {hiding, "keys-shared", []string{"a", "b"}, soon, true},
		"a hidden window, three":       {hiding, "keys-shared", []string{"a", "b", "c"}, soon, false},
		"costs, which clients are not": {slow, "tokens-one-each", []string{"a", "b"}, later, false},
	} {
		t.Run(name, func(t *testing.T) {
			limit, err := spec.Parse(x.limit)
			if err != nil {
				t.Fatal(err)
			}
			tl := burstsOf(t, limit, x.clients, x.every)
			tl.Header.Judged.Against = []string{x.against}
			for _, j := range bothWays(t, tl, limit) {
				short := j.Chances().Short()
				blurred := strings.Contains(short, "tell the target from a gateway")
				if j.Verdict != result.Pass || blurred != x.blurred {
					t.Errorf("%s: %q, want blurred: %v", j.Verdict, short, x.blurred)
				}
			}
		})
	}
}

// TestWhatADefectWouldHaveDone: a right limiter answers bursts of one client. Where a limiter with a defect
// would have done what keeps the limit too, the recording says nothing of the defect.
func TestWhatADefectWouldHaveDone(t *testing.T) {
	const (
		window = "fixed-window,rate=10/10s"
		queue  = "leaky-bucket-queue,rate=1/s,queue=9"
		two    = slow + "+fixed-window,rate=15/1m,align=first"
	)
	for name, x := range map[string]struct {
		limit, against string
		every          time.Duration // from one burst to the next
		blurred        bool
	}{
		"a unit too many":                     {slow, "burst-off-by-one", time.Millisecond, false},
		"forgotten after half of the silence": {slow, "state-expires-early", 5100 * time.Millisecond, false},
		"the quota is back":                   {slow, "state-expires-early", 11 * time.Second, true},
		"it asks again too soon":              {slow, "state-expires-early", time.Second, true},
		"a slow refill, asked at once":        {slow, "refill-too-slow", time.Millisecond, true},
		"a slow refill, asked after a while":  {slow, "refill-too-slow", 5 * time.Second, false},
		"no other limit can show it":          {window, "refill-truncated", time.Millisecond, false},
		"never again":                         {slow, "never-recovers", 5 * time.Second, false},
		"never again, asked too soon":         {slow, "never-recovers", time.Millisecond, true},
		"a queue that counts twice":           {queue, "counted-twice", time.Millisecond, false},
		"a queue that locks out":              {queue, "never-recovers", 5 * time.Second, false},
		"a queue, asked too soon":             {queue, "never-recovers", time.Millisecond, true},
		"two limits":                          {two, "refused-still-pays", 5 * time.Second, false},
		"two limits, asked too soon":          {two, "refused-still-pays", time.Millisecond, true},
	} {
		t.Run(name, func(t *testing.T) {
			limit, err := spec.Parse(x.limit)
			if err != nil {
				t.Fatal(err)
			}
			tl := burstsOf(t, limit, []string{"a", "a"}, x.every)
			tl.Header.Judged.Against = []string{x.against}
			for _, j := range bothWays(t, tl, limit) {
				short := j.Chances().Short()
				blurred := strings.Contains(short, "tell the target from a gateway")
				if j.Verdict != result.Pass || blurred != x.blurred {
					t.Errorf("%s: %q, want blurred: %v", j.Verdict, short, x.blurred)
				}
			}
		})
	}
}

// bothWays judges a recording at once, and one partition after the other.
func bothWays(t *testing.T, tl *timeline.Timeline, limit spec.Limit) (all []*result.Judgement) {
	t.Helper()
	s := newStream(limit, tl.Header, Options{}, caps{held: 1, whole: wholeLimit, tapes: tapeBudget})
	for i := range tl.Observations {
		if err := s.Observe(&tl.Observations[i]); err != nil {
			t.Fatal(err)
		}
	}
	for _, judge := range []func() (*result.Judgement, error){s.Finish,
		func() (*result.Judgement, error) { return Judge(tl, limit, Options{}) }} {
		j, err := judge()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, j)
	}
	return all
}

const (
	slow   = "token-bucket,rate=1/s,burst=10"
	brisk  = "token-bucket,rate=100/s,burst=10"
	hiding = "fixed-window,rate=10/10s,align=unknown"
)

// burstsOf is a recording of a right limiter. Each time a client asks for three times a quota of 10.
func burstsOf(t *testing.T, limit spec.Limit, clients []string,
	every time.Duration) *timeline.Timeline {
	t.Helper()
	target, err := reference.NewLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	tl := &timeline.Timeline{}
	tl.Header.Started = time.Unix(1000, 0)
	states := map[string]reference.State{}
	for c, client := range clients {
		state, known := states[client]
		if !known {
			state = target.Init()
		}
		for i := range 30 {
			at := time.Duration(c)*every + time.Duration(i)*time.Microsecond
			var d reference.Decision
			state, d = target.Step(state, at, 1)
			asked := timeline.Arrival{Seq: 30*c + i, At: at, Cost: 1, Partition: client}
			o := timeline.Observation{Arrival: asked, Sent: at, FirstByte: at + 1 + d.Delay, Answered: true,
				Outcome: timeline.Denied}
			if d.Allow {
				o.Outcome = timeline.Allowed
			}
			tl.Observations = append(tl.Observations, o)
		}
		states[client] = state
	}
	return tl
}
