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
			whole, err := Judge(tl, limit, Options{})
			if err != nil {
				t.Fatal(err)
			}
			s := newStream(limit, tl.Header, Options{}, caps{held: 1, whole: wholeLimit, tapes: tapeBudget})
			for i := range tl.Observations {
				if err := s.Observe(&tl.Observations[i]); err != nil {
					t.Fatal(err)
				}
			}
			apart, err := s.Finish()
			if err != nil {
				t.Fatal(err)
			}
			for _, j := range []*result.Judgement{whole, apart} {
				short := j.Chances().Short()
				blurred := strings.Contains(short, "tell the target from a gateway")
				if j.Verdict != result.Pass || blurred != x.blurred {
					t.Errorf("%s: %q, want blurred: %v", j.Verdict, short, x.blurred)
				}
			}
		})
	}
}

const (
	slow   = "token-bucket,rate=1/s,burst=10"
	brisk  = "token-bucket,rate=100/s,burst=10"
	hiding = "fixed-window,rate=10/10s,align=unknown"
)

// burstsOf is a recording of a right limiter. Each client asks for three times a quota of 10, one after the
// other.
func burstsOf(t *testing.T, limit spec.Limit, clients []string,
	every time.Duration) *timeline.Timeline {
	t.Helper()
	target, err := reference.NewLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	tl := &timeline.Timeline{}
	tl.Header.Started = time.Unix(1000, 0)
	for c, client := range clients {
		state := target.Init()
		for i := range 30 {
			at := time.Duration(c)*every + time.Duration(i)*time.Microsecond
			var d reference.Decision
			state, d = target.Step(state, at, 1)
			asked := timeline.Arrival{Seq: 30*c + i, At: at, Cost: 1, Partition: client}
			o := timeline.Observation{Arrival: asked, Sent: at, FirstByte: at + 1, Answered: true,
				Outcome: timeline.Denied}
			if d.Allow {
				o.Outcome = timeline.Allowed
			}
			tl.Observations = append(tl.Observations, o)
		}
	}
	return tl
}
