package scenario

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

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
		if got := MulDiv(a, b, c, up); got != want.Int64() {
			t.Fatalf("%d * %d / %d, up %v: got %d, want %s", a, b, c, up, got, want)
		}
	})
}
