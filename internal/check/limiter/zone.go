package limiter

// Zone is a set of clock values: a difference bound matrix. At[i*N+j] is the least upper bound of x_i - x_j,
// with x_0 = 0. Variable 1 is now; the limiter's own variables are 2 and up. The matrix is kept closed: every
// bound is as tight as the others imply. So two zones can be compared bound by bound. All values are whole
// numbers, so a strict bound is one less. N is small: one variable for every remembered time. A closed matrix
// costs O(N*N) for each new bound.
//
// Source: Dill, "Timing assumptions and verification of finite-state concurrent systems", 1989.
type Zone struct {
	N  int // the number of variables, x_0 included
	At []int64
	// Skip is how many of the limiter's variables come before those of the model that sees the zone. Clock is
	// how far behind Now the variable is kept that the model takes for now.
	Skip, Clock int
}

// ZoneNow is the index of the present time. FirstVariable is the index of the limiter's first variable.
const (
	ZoneNow       = 1
	FirstVariable = 2
)

// NoBound stands for a difference that has no bound.
const NoBound = int64(1) << 61

// NewZone returns the zone of a single point: variable 1 has the first value, and so on.
func NewZone(values ...int64) Zone {
	z := Zone{N: len(values) + 1}
	z.At = make([]int64, z.N*z.N)
	value := append([]int64{0}, values...)
	for i := range value {
		for j := range value {
			z.At[i*z.N+j] = value[i] - value[j]
		}
	}
	return z
}

// Clone returns a copy that shares no memory with z.
func (z Zone) Clone() Zone {
	z.At = append([]int64(nil), z.At...)
	return z
}

// Index returns the position of the variable that the model calls i.
func (z Zone) Index(i int) int {
	switch {
	case i >= FirstVariable:
		return i + z.Skip
	case i == ZoneNow:
		return ZoneNow + z.Clock
	}
	return i
}

// Bound returns the least upper bound of x_i - x_j.
func (z Zone) Bound(i, j int) int64 { return z.At[z.Index(i)*z.N+z.Index(j)] }

// Present returns the earliest and the latest instant that now may be.
func (z Zone) Present() (earliest, latest int64) { return -z.Bound(0, ZoneNow), z.Bound(ZoneNow, 0) }

// place returns the position of variable i of another zone, in a zone that has skip variables in front of it.
func place(i, skip int) int {
	if i >= FirstVariable {
		return i + skip
	}
	return i
}

// Put sets the bounds among some variables of z to those of part. skip variables come before them in z.
func (z Zone) Put(part Zone, skip int) {
	for i := range part.N {
		for j := range part.N {
			z.At[place(i, skip)*z.N+place(j, skip)] = part.Bound(i, j)
		}
	}
}

// PutBetween sets the bounds between the variables of two parts to those through x_0: the parts are
// unrelated.
func (z Zone) PutBetween(a Zone, skipA int, b Zone, skipB int) {
	for i := range a.N {
		for j := range b.N {
			z.At[place(i, skipA)*z.N+place(j, skipB)] = addBounds(a.Bound(i, 0), b.Bound(0, j))
		}
	}
}

// addBounds adds two bounds, of which either may be NoBound.
func addBounds(a, b int64) int64 {
	if a >= NoBound || b >= NoBound {
		return NoBound
	}
	return a + b
}

// Limit adds the constraint x_i - x_j <= c, in place. false: no value is left, and z is unchanged. The matrix
// stays closed. Cost: O(N*N).
func (z Zone) Limit(i, j int, c int64) bool {
	i, j = z.Index(i), z.Index(j)
	if c >= z.At[i*z.N+j] {
		return true
	}
	if addBounds(c, z.At[j*z.N+i]) < 0 {
		return false
	}
	z.At[i*z.N+j] = c
	for a := range z.N {
		via := addBounds(z.At[a*z.N+i], c)
		if via >= NoBound {
			continue
		}
		for b := range z.N {
			if d := addBounds(via, z.At[j*z.N+b]); d < z.At[a*z.N+b] {
				z.At[a*z.N+b] = d
			}
		}
	}
	return true
}

// Elapse lets time pass: now may be any later instant.
func (z Zone) Elapse() { z.Later(ZoneNow) }

// Later lets x_i grow by any amount.
func (z Zone) Later(i int) {
	i = z.Index(i)
	for j := range z.N {
		if j != i {
			z.At[i*z.N+j] = NoBound
		}
	}
}

// Set makes x_i = x_j + c and forgets the old x_i. i differs from j.
func (z Zone) Set(i, j int, c int64) { z.Spread(i, j, c, c) }

// Spread makes x_i any value of x_j + lo .. x_j + hi and forgets the old x_i. lo may be -NoBound. i differs
// from j.
func (z Zone) Spread(i, j int, lo, hi int64) {
	i, j = z.Index(i), z.Index(j)
	for k := range z.N {
		if k != i {
			z.At[i*z.N+k] = addBounds(hi, z.At[j*z.N+k])
			z.At[k*z.N+i] = addBounds(z.At[k*z.N+j], -lo)
		}
	}
	z.At[i*z.N+i] = 0
}

// WithFirst returns z with one more variable in front of the limiter's own. Its value is now.
func (z Zone) WithFirst() Zone {
	out := Zone{N: z.N + 1, At: make([]int64, (z.N+1)*(z.N+1))}
	old := make([]int, 0, out.N)
	for i := range out.N {
		switch {
		case i < FirstVariable:
			old = append(old, i)
		case i == FirstVariable:
			old = append(old, ZoneNow)
		default:
			old = append(old, i-1)
		}
	}
	for i, a := range old {
		for j, b := range old {
			out.At[i*out.N+j] = z.At[a*z.N+b]
		}
	}
	return out
}

// Shift adds c to x_i.
func (z Zone) Shift(i int, c int64) {
	i = z.Index(i)
	for k := range z.N {
		if k != i {
			z.At[i*z.N+k] = addBounds(z.At[i*z.N+k], c)
			z.At[k*z.N+i] = addBounds(z.At[k*z.N+i], -c)
		}
	}
}

// Within tells whether every point of z is one of other.
func (z Zone) Within(other Zone) bool {
	for i, b := range z.At {
		if b > other.At[i] {
			return false
		}
	}
	return true
}

// Join widens z, in place, to the smallest zone that holds z and other (the convex hull in this domain).
func (z Zone) Join(other Zone) {
	for i, b := range other.At {
		z.At[i] = max(z.At[i], b)
	}
}

// Union returns the zone that has exactly the points of z and other. ok=false: these points are no zone, or
// it would cost too much to find out.
func (z Zone) Union(other Zone) (both Zone, ok bool) {
	both = z.Clone()
	both.Join(other)
	differ := 0
	for i, b := range both.At {
		if b > z.At[i] {
			differ++
		}
	}
	if differ > unionCap {
		return Zone{}, false
	}
	for i := range z.N {
		for j := range z.N {
			b := z.At[i*z.N+j]
			if b == both.At[i*z.N+j] {
				continue
			}
			beyond := both.Clone() // the part of both that lies outside z because of bound (i, j)
			if beyond.Limit(j, i, -b-1) && !beyond.Within(other) {
				return Zone{}, false
			}
		}
	}
	return both, true
}

// unionCap is the largest number of bounds in which a zone and its union may differ for Union to look
// further.
const unionCap = 6

// Free makes x_i any value up to c and forgets the old x_i.
func (z Zone) Free(i int, c int64) {
	i = z.Index(i)
	for k := range z.N {
		if k != i {
			z.At[i*z.N+k] = addBounds(c, z.At[k])
			z.At[k*z.N+i] = NoBound
		}
	}
}
