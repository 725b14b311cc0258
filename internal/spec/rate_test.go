package spec

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestRatesCompareAsFractions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := func(name string) Rate {
			return Rate{N: rapid.Int64Range(1, math.MaxInt64).Draw(t, name),
				Per: time.Duration(rapid.Int64Range(1, math.MaxInt64).Draw(t, name+" per"))}
		}
		a, b := rate("a"), rate("b")
		want := big.NewRat(a.N, int64(a.Per)).Cmp(big.NewRat(b.N, int64(b.Per))) < 0
		if got := a.Less(b); got != want || a.Less(a) {
			t.Fatalf("%d/%d < %d/%d: got %v, want %v", a.N, a.Per, b.N, b.Per, got, want)
		}
	})
}

func TestALimitAdmitsWhatItsTightestPolicyDoes(t *testing.T) {
	for text, want := range map[string]int64{
		"token-bucket,rate=10/s,burst=20":                                      20,
		"token-bucket,rate=10/s,burst=20 + fixed-window,rate=7/1m":             7,
		"fixed-window,rate=7/1m + leaky-bucket-queue,rate=10/s,queue=5":        6,
		"fixed-window,rate=7/1m + concurrency,limit=2 + gcra,rate=3/s,burst=4": 2,
	} {
		l, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Full(); got != want {
			t.Errorf("%s: got %d, want %d", text, got, want)
		}
	}
	if got := (Limit{}).Full(); got != 0 {
		t.Errorf("no policy: got %d, want 0", got)
	}
}
