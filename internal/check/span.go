package check

// phases is a closed box of window phases, in nanoseconds since the start of the recording.
type phases struct{ from, to int64 }

// cut divides b: the upper part begins at the given phase.
func (b phases) cut(at int64) (lower, upper phases) {
	return phases{b.from, at - 1}, phases{at, b.to}
}

// middle returns the phase at which the upper half of b begins, in (b.from, b.to].
func (b phases) middle() int64 { return b.from + (b.to-b.from+1)/2 }
