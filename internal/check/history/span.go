package history

// Interval is a closed box of window phases, in nanoseconds since the start of the recording.
type Interval struct{ From, To int64 }

// Cut divides b: the upper part begins at the given phase.
func (b Interval) Cut(at int64) (lower, upper Interval) {
	return Interval{b.From, at - 1}, Interval{at, b.To}
}

// Middle returns the phase at which the upper half of b begins, in (b.from, b.to].
func (b Interval) Middle() int64 { return b.From + (b.To-b.From+1)/2 }
