package limiter

import (
	"math/rand/v2"
	"testing"
)

// TestZoneUnionIsExact compares union with all points of small zones: it has exactly the points of both, or
// there is no union.
func TestZoneUnionIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	const most = 5
	random := func() Zone {
		z := NewZone(3, 3, 3)
		for i := range z.N {
			for j := range z.N {
				if i != j {
					z.At[i*z.N+j] = most
				}
			}
		}
		for i := 1; i < z.N; i++ {
			z.At[i] = 0 // no time lies before zero
		}
		for range r.IntN(6) {
			i, j := r.IntN(z.N), r.IntN(z.N)
			c := int64(r.IntN(2*most) - most)
			if i != j && c+z.Bound(j, i) >= 0 {
				z.Limit(i, j, c)
			}
		}
		return z
	}
	has := func(z Zone, x [4]int64) bool {
		for i := range z.N {
			for j := range z.N {
				if x[i]-x[j] > z.Bound(i, j) {
					return false
				}
			}
		}
		return true
	}
	unions, zones := 0, 0
	for range 600 {
		a, b := random(), random()
		both, ok := a.Union(b)
		hull := a.Clone()
		hull.Join(b)
		more := false
		for p := range int64((most + 1) * (most + 1) * (most + 1)) {
			x := [4]int64{0, p % (most + 1), p / (most + 1) % (most + 1), p / (most + 1) / (most + 1)}
			in := has(a, x) || has(b, x)
			more = more || has(hull, x) && !in
			if ok && has(both, x) != in {
				t.Fatalf("%v union %v = %v: at %v got %v, want %v", a, b, both, x, has(both, x), in)
			}
		}
		if zones++; ok {
			unions++
		} else if !more && differing(a, hull) <= unionCap {
			t.Errorf("%v and %v: got no union, want %v", a, b, hull)
		}
	}
	if unions < zones/20 || unions > zones*19/20 {
		t.Errorf("%d unions of %d zones: one side was not tried", unions, zones)
	}
}

func differing(a, b Zone) int {
	n := 0
	for i := range a.At {
		if a.At[i] != b.At[i] {
			n++
		}
	}
	return n
}
