package history

// Interval is a closed interval, in nanoseconds since the start of the recording: often a box of window
// phases.
type Interval struct{ From, To int64 }

// Cut divides b in two. The upper part begins at `at`.
func (b Interval) Cut(at int64) (lower, upper Interval) {
	return Interval{b.From, at - 1}, Interval{at, b.To}
}

// Middle returns where the upper half of b begins, in (b.From, b.To].
func (b Interval) Middle() int64 { return b.From + (b.To-b.From+1)/2 }
