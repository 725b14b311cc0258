package check

// windows are the windows [P + k*size, P + (k+1)*size) for every phase P in the closed box [from, to], from <= to.
// Whatever is said of them holds for every phase of the box.
type windows struct{ from, to, size int64 }

// first and last return the smallest and the largest window that the closed interval [s,e] may touch.
func (w windows) first(s int64) int64 { return floorDiv(s-w.to, w.size) }
func (w windows) last(e int64) int64  { return floorDiv(e-w.from, w.size) }

// earliest and latest return when window k begins at the earliest, and the instant before which it ends at the latest.
func (w windows) earliest(k int64) int64 { return w.from + k*w.size }
func (w windows) latest(k int64) int64   { return w.to + (k+1)*w.size }

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
