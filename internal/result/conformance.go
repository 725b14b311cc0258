package result

// Conformance says which side of a limit is judged.
type Conformance string

// The sides. The zero value means Exact: both.
const (
	Exact      Conformance = "exact"
	UpperBound Conformance = "upper-bound"
	LowerBound Conformance = "lower-bound"
)
