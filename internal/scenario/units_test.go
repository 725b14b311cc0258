package scenario

import (
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"pgregory.net/rapid"
)

func TestMultiplesAreExactDecimals(t *testing.T) {
	for text, want := range map[string]multiple{
		"2": {2, 1}, "2.0": {2, 1}, "1.50": {15, 10}, "0.5": {5, 10},
		"999999.999999": {999999999999, 1000000}, "007": {7, 1},
	} {
		if got, ok := parseMultiple(text); !ok || got != want {
			t.Errorf("%s: got %v, %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", ".5", "5.", "-1", "+1", "1e3", "1_0", "1234567", "1.1234567", "1.2.3",
		" 1", "١"} {
		if got, ok := parseMultiple(text); ok {
			t.Errorf("%q: got %v, want a refusal", text, got)
		}
	}
}

func TestProductsAreExactOrSaturate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64Range(0, math.MaxInt64).Draw(t, "a"),
			rapid.Int64Range(0, math.MaxInt64).Draw(t, "b")
		c, up := rapid.Int64Range(1, math.MaxInt64).Draw(t, "c"), rapid.Bool().Draw(t, "up")
		want := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
		if up {
			want.Add(want, big.NewInt(c-1))
		}
		want.Quo(want, big.NewInt(c))
		if !want.IsInt64() {
			want.SetInt64(math.MaxInt64)
		}
		if got := mulDiv(a, b, c, up); got != want.Int64() {
			t.Fatalf("%d * %d / %d, up %v: got %d, want %s", a, b, c, up, got, want)
		}
	})
}

func TestRatesCompareAsFractions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := func(name string) spec.Rate {
			return spec.Rate{N: rapid.Int64Range(1, math.MaxInt64).Draw(t, name),
				Per: time.Duration(rapid.Int64Range(1, math.MaxInt64).Draw(t, name+" per"))}
		}
		a, b := rate("a"), rate("b")
		want := big.NewRat(a.N, int64(a.Per)).Cmp(big.NewRat(b.N, int64(b.Per))) < 0
		if got := less(a, b); got != want || less(a, a) {
			t.Fatalf("%d/%d < %d/%d: got %v, want %v", a.N, a.Per, b.N, b.Per, got, want)
		}
	})
}
