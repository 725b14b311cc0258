package rlcheck_test

import (
	"math"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck"
)

// TestTheStandardLibraryIsEnough: whoever imports the package pulls no other module in.
func TestTheStandardLibraryIsEnough(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	ours := 0
	for path := range strings.FieldsSeq(string(out)) {
		inside := strings.HasPrefix(path+"/", "github.com/rlcheck/rlcheck/")
		if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ".") && !inside {
			t.Errorf("it imports %s", path)
		}
		if inside {
			ours++
		}
	}
	if ours < 5 {
		t.Errorf("got %d packages of this module, want the judge: %s", ours, out)
	}
}

// limits are one of each algorithm.
var limits = []string{"token-bucket,rate=10/s,burst=20", "gcra,rate=5/s,burst=3", "fixed-window,rate=7/1s",
	"sliding-window-log,rate=9/2s", "sliding-window-counter,rate=8/1s", "leaky-bucket,rate=20/s,burst=4",
	"fixed-window,rate=100/1h,align=first", "fixed-window,rate=20/1m + token-bucket,rate=5/s,burst=5"}

// decided returns n requests of two clients, as a right limiter decides them: at the instant Sent, which is
// somewhere in the interval that is recorded.
func decided(t *testing.T, limit rlcheck.Limit, n int, random *rand.Rand) []rlcheck.Request {
	t.Helper()
	all := make([]rlcheck.Request, n)
	at := noon
	for i := range all {
		at = at.Add(time.Duration(random.ExpFloat64() * float64(20*time.Millisecond)))
		all[i] = rlcheck.Request{Client: string(rune('a' + i%2)), Sent: at}
	}
	decisions, err := limit.Decide(all)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		all[i].Outcome = rlcheck.Denied
		if decisions[i].Allow {
			all[i].Outcome = rlcheck.Allowed
		}
		all[i].Answered = all[i].Sent.Add(time.Duration(random.Int64N(int64(time.Millisecond))))
		all[i].Sent = all[i].Sent.Add(-time.Duration(random.Int64N(int64(time.Millisecond))))
	}
	return all
}

// TestWhatTheReferenceDecidesIsNeverAccused: Judge explains what Decide decided, in any order of the slice.
func TestWhatTheReferenceDecidesIsNeverAccused(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const tries = 2
	passed := 0
	for _, spec := range limits {
		limit, err := rlcheck.ParseLimit(spec)
		if err != nil {
			t.Fatal(err)
		}
		for range tries {
			all := decided(t, limit, 200, random)
			j := limit.Judge(all, rlcheck.SameClock())
			if j.Verdict == rlcheck.Fail {
				t.Errorf("%s: %s", spec, j)
			}
			if j.Verdict == rlcheck.Pass {
				passed++
			}
			random.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
			if again := limit.Judge(all, rlcheck.SameClock()); again.Verdict != j.Verdict {
				t.Errorf("%s: got %s when shuffled, want %s", spec, again, j)
			}
		}
	}
	if passed < len(limits) {
		t.Errorf("got %d passes of %d", passed, tries*len(limits))
	}
}

// TestAProofStandsAlone: what no limiter admits is a Fail, and its proof alone is one. Without one of its
// requests it is none.
func TestAProofStandsAlone(t *testing.T) {
	for _, spec := range limits {
		limit, err := rlcheck.ParseLimit(spec)
		if err != nil {
			t.Fatal(err)
		}
		all := decided(t, limit, 300, rand.New(rand.NewPCG(3, 4)))
		for i := range all {
			all[i].Outcome = rlcheck.Allowed
		}
		j := limit.Judge(all)
		if j.Verdict != rlcheck.Fail || !slices.IsSorted(j.Proof.Requests) {
			t.Errorf("%s: got %s", spec, j)
			continue
		}
		pick := func(without int) (out []rlcheck.Request) {
			for k, i := range j.Proof.Requests {
				if k != without {
					out = append(out, all[i])
				}
			}
			return out
		}
		if alone := limit.Judge(pick(-1)); alone.Verdict != rlcheck.Fail {
			t.Errorf("%s: the proof alone is %s", spec, alone)
		}
		several := strings.Contains(spec, "+")
		if less := limit.Judge(pick(0)); less.Verdict == rlcheck.Fail && !several {
			t.Errorf("%s: the proof fails without one of its requests: %s", spec, less)
		}
	}
}

// TestNothingPassesByAccident: what could not have failed is no Pass, and what cannot be read is told.
func TestNothingPassesByAccident(t *testing.T) {
	limit, err := rlcheck.ParseLimit("token-bucket,rate=10/s,burst=20")
	if err != nil {
		t.Fatal(err)
	}
	backward := burst(2, 2)
	backward[1].Answered = noon.Add(-time.Second)
	silent := burst(40, 20)
	for i := range silent {
		silent[i].Answered = time.Time{}
	}
	for name, tt := range map[string]struct {
		limit    rlcheck.Limit
		requests []rlcheck.Request
		reason   rlcheck.Reason
	}{
		"nothing was asked":  {limit, nil, rlcheck.TooFew},
		"too little":         {limit, burst(20, 20), rlcheck.TooFew},
		"no answers":         {limit, silent, rlcheck.Unanswered},
		"no limit":           {rlcheck.Limit{}, burst(40, 20), rlcheck.Malformed},
		"no times":           {limit, []rlcheck.Request{{}}, rlcheck.Malformed},
		"answered too early": {limit, backward, rlcheck.Malformed},
		"a cost below 0":     {limit, []rlcheck.Request{{Sent: noon, Cost: -1}}, rlcheck.Malformed},
		"too large": {limit, []rlcheck.Request{{Sent: noon, Cost: math.MaxInt64 / 2},
			{Sent: noon, Cost: math.MaxInt64 / 2}}, rlcheck.SearchLimit},
	} {
		j := tt.limit.Judge(tt.requests)
		if text := j.String(); j.Verdict != rlcheck.Inconclusive || j.Reason != tt.reason ||
			j.Detail == "" || !strings.HasPrefix(text, "INCONCLUSIVE  ") ||
			!strings.Contains(text, string(tt.reason)) {
			t.Errorf("%s: got %s", name, j)
		}
	}
}

// TestAnyKindExplains: a recording of each kind keeps the promise of its number. One that admits twice as
// much breaks it, whatever the kind.
func TestAnyKindExplains(t *testing.T) {
	promise, err := rlcheck.ParseLimit("any:rate=20/1s")
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(5, 6))
	for _, kind := range []string{"token-bucket,rate=20/s,burst=20", "fixed-window,rate=20/1s",
		"fixed-window,rate=20/1s,align=first", "sliding-window-log,rate=20/1s",
		"sliding-window-counter,rate=20/1s"} {
		limit, err := rlcheck.ParseLimit(kind)
		if err != nil {
			t.Fatal(err)
		}
		if j := promise.Judge(decided(t, limit, 300, random)); j.Verdict != rlcheck.Pass {
			t.Errorf("%s: got %s", kind, j)
		}
		limit, err = rlcheck.ParseLimit(strings.ReplaceAll(kind, "=20", "=24"))
		if err != nil {
			t.Fatal(err)
		}
		j := promise.Judge(decided(t, limit, 300, random))
		if j.Verdict != rlcheck.Fail || !strings.Contains(j.String(), "no kind of limit explains") {
			t.Errorf("%s and 20 %% more: got %s", kind, j)
		}
	}
	for _, bad := range []string{"any:", "any:rate=5", "any:burst=5", "any:rate=5/s,rate=6/s",
		"any:rate=5/s,align=first"} {
		if l, err := rlcheck.ParseLimit(bad); err == nil {
			t.Errorf("%s: got %s, want an error", bad, l)
		}
	}
	if _, err := promise.Decide(burst(1, 1)); err == nil {
		t.Error("any: decides, but is no limiter")
	}
}

// BenchmarkHour judges two hours of requests under a limit of an hour.
func BenchmarkHour(b *testing.B) {
	limit, err := rlcheck.ParseLimit("fixed-window,rate=1000/1h")
	if err != nil {
		b.Fatal(err)
	}
	all := make([]rlcheck.Request, 2400)
	for i := range all {
		all[i].Sent = noon.Add(time.Duration(i) * 3 * time.Second)
	}
	decisions, err := limit.Decide(all)
	if err != nil {
		b.Fatal(err)
	}
	for i := range all {
		all[i].Answered, all[i].Outcome = all[i].Sent.Add(time.Millisecond), rlcheck.Denied
		if decisions[i].Allow {
			all[i].Outcome = rlcheck.Allowed
		}
	}
	for b.Loop() {
		if j := limit.Judge(all); j.Verdict != rlcheck.Pass {
			b.Fatal(j)
		}
	}
}

// BenchmarkFail judges thirty requests of which one is too many, and looks for a limit that explains them.
func BenchmarkFail(b *testing.B) {
	for _, spec := range []string{"token-bucket,rate=10/s,burst=20", "sliding-window-counter,rate=8/1s"} {
		limit, err := rlcheck.ParseLimit(spec)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(spec, func(b *testing.B) {
			for b.Loop() {
				if j := limit.Judge(burst(30, 21)); j.Verdict != rlcheck.Fail || j.Hint == "" {
					b.Fatal(j)
				}
			}
		})
	}
}
