package check

// zone is a set of clock values given by differences: at[i][j] is the least upper bound of x_i - x_j, with
// x_0 = 0. It is kept closed (every bound is as tight as the others imply), so that two zones can be compared
// bound by bound. Variable now is 1; the limiter's own are 2 and up. All values are whole, so that a strict
// bound is one less. The dimension is small: one for every remembered time.
//
// (A difference bound matrix: Dill, "Timing assumptions and verification of finite-state concurrent systems",
// 1989.)
type zone struct {
	n  int // variables, with x_0
	at []int64
	// skip is the number of the limiter's variables before those of the model that sees the zone, clock how
	// far behind now the variable is that it takes for now.
	skip, clock int
}

// now is the index of the present time, firstVariable that of the limiter's first.
const (
	now           = 1
	firstVariable = 2
)

// noBound stands for a difference without a bound.
const noBound = maxTime

// newZone returns the zone in which every one of n-1 variables has the given value.
func newZone(values ...int64) zone {
	z := zone{n: len(values) + 1}
	z.at = make([]int64, z.n*z.n)
	value := append([]int64{0}, values...)
	for i := range value {
		for j := range value {
			z.at[i*z.n+j] = value[i] - value[j]
		}
	}
	return z
}

func (z zone) clone() zone {
	z.at = append([]int64(nil), z.at...)
	return z
}

// index returns where the variable that the model calls i is kept.
func (z zone) index(i int) int {
	switch {
	case i >= firstVariable:
		return i + z.skip
	case i == now:
		return now + z.clock
	}
	return i
}

// bound returns the least upper bound of x_i - x_j.
func (z zone) bound(i, j int) int64 { return z.at[z.index(i)*z.n+z.index(j)] }

// present returns the earliest and the latest instant that now may be.
func (z zone) present() (earliest, latest int64) { return -z.bound(0, now), z.bound(now, 0) }

func addBounds(a, b int64) int64 {
	if a >= noBound || b >= noBound {
		return noBound
	}
	return a + b
}

// limit adds the constraint x_i - x_j <= c, in place, and tells whether anything is left.
func (z zone) limit(i, j int, c int64) bool {
	i, j = z.index(i), z.index(j)
	if c >= z.at[i*z.n+j] {
		return true
	}
	if addBounds(c, z.at[j*z.n+i]) < 0 {
		return false
	}
	z.at[i*z.n+j] = c
	for a := range z.n {
		via := addBounds(z.at[a*z.n+i], c)
		if via >= noBound {
			continue
		}
		for b := range z.n {
			if d := addBounds(via, z.at[j*z.n+b]); d < z.at[a*z.n+b] {
				z.at[a*z.n+b] = d
			}
		}
	}
	return true
}

// elapse lets time pass: now may be any later instant.
func (z zone) elapse() { z.later(now) }

// later makes x_i what it is, or anything larger.
func (z zone) later(i int) {
	i = z.index(i)
	for j := range z.n {
		if j != i {
			z.at[i*z.n+j] = noBound
		}
	}
}

// set makes x_i = x_j + c, forgetting what x_i was. i differs from j.
func (z zone) set(i, j int, c int64) { z.spread(i, j, c, c) }

// spread makes x_i any of x_j + lo .. x_j + hi, forgetting what x_i was; lo may be -noBound. i differs from
// j.
func (z zone) spread(i, j int, lo, hi int64) {
	i, j = z.index(i), z.index(j)
	for k := range z.n {
		if k != i {
			z.at[i*z.n+k] = addBounds(hi, z.at[j*z.n+k])
			z.at[k*z.n+i] = addBounds(z.at[k*z.n+j], -lo)
		}
	}
	z.at[i*z.n+i] = 0
}

// withFirst returns z with one more variable in front of the limiter's own, which is now.
func (z zone) withFirst() zone {
	out := zone{n: z.n + 1, at: make([]int64, (z.n+1)*(z.n+1))}
	old := make([]int, 0, out.n)
	for i := range out.n {
		switch {
		case i < firstVariable:
			old = append(old, i)
		case i == firstVariable:
			old = append(old, now)
		default:
			old = append(old, i-1)
		}
	}
	for i, a := range old {
		for j, b := range old {
			out.at[i*out.n+j] = z.at[a*z.n+b]
		}
	}
	return out
}

// withLast returns z with one more variable behind all others, which is now.
func (z zone) withLast() zone {
	out := zone{n: z.n + 1, at: make([]int64, (z.n+1)*(z.n+1)), skip: z.skip}
	for i := range out.n {
		for j := range out.n {
			a, b := i, j
			if i == z.n {
				a = now
			}
			if j == z.n {
				b = now
			}
			out.at[i*out.n+j] = z.at[a*z.n+b]
		}
	}
	return out
}

// drop returns z without its variable at index i, of all.
func (z zone) drop(i int) zone {
	out := zone{n: z.n - 1, at: make([]int64, 0, (z.n-1)*(z.n-1)), skip: z.skip}
	for a := range z.n {
		for b := range z.n {
			if a != i && b != i {
				out.at = append(out.at, z.at[a*z.n+b])
			}
		}
	}
	return out
}

// shift adds c to x_i.
func (z zone) shift(i int, c int64) {
	i = z.index(i)
	for k := range z.n {
		if k != i {
			z.at[i*z.n+k] = addBounds(z.at[i*z.n+k], c)
			z.at[k*z.n+i] = addBounds(z.at[k*z.n+i], -c)
		}
	}
}

// within tells whether every point of z is one of other.
func (z zone) within(other zone) bool {
	for i, b := range z.at {
		if b > other.at[i] {
			return false
		}
	}
	return true
}

// join widens z, in place, to the smallest zone that holds z and other.
func (z zone) join(other zone) {
	for i, b := range other.at {
		z.at[i] = max(z.at[i], b)
	}
}

// union returns the zone of just the points of z and other, ok=false where those are no zone, or that is dear
// to find out.
func (z zone) union(other zone) (both zone, ok bool) {
	both = z.clone()
	both.join(other)
	differ := 0
	for i, b := range both.at {
		if b > z.at[i] {
			differ++
		}
	}
	if differ > unionCap {
		return zone{}, false
	}
	for i := range z.n {
		for j := range z.n {
			b := z.at[i*z.n+j]
			if b == both.at[i*z.n+j] {
				continue
			}
			beyond := both.clone() // what of both is not in z for this reason
			if beyond.limit(j, i, -b-1) && !beyond.within(other) {
				return zone{}, false
			}
		}
	}
	return both, true
}

// unionCap is the largest number of bounds in which a zone differs from its union with another.
const unionCap = 6

// free makes x_i any value up to c, whatever it was.
func (z zone) free(i int, c int64) {
	i = z.index(i)
	for k := range z.n {
		if k != i {
			z.at[i*z.n+k] = addBounds(c, z.at[k])
			z.at[k*z.n+i] = noBound
		}
	}
}
