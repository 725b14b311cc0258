package timeline

// Latencies are the two measures of the answers of one outcome.
type Latencies struct {
	// Corrected is the latency, FirstByte - At. It counts from the plan, so a request that was sent late
	// counts as slow. For requests without a plan (closed loop) it is the service time.
	Corrected Distribution `json:"corrected"`
	// Service is the service time, FirstByte - Sent.
	Service Distribution `json:"service"`
}

// LatencySummary is what one recording says about latency. Allowed.Service.Count + Denied.Service.Count +
// Unknown.Service.Count + Unanswered is the number of observations.
type LatencySummary struct {
	Allowed Latencies `json:"allowed"`
	Denied  Latencies `json:"denied"`
	// Unknown are the answers whose status is not classified.
	Unknown Latencies `json:"unknown"`
	// Unanswered counts the observations without a first byte, which have no latency.
	Unanswered int64 `json:"unanswered"`
	// Lateness is Sent - At of the requests with a plan. A phase has a plan if at least one of its requests
	// was not sent at the very nanosecond of its At. Count is 0 for a recording of closed loops, or in
	// virtual time.
	Lateness Distribution `json:"lateness"`
}

// Of returns the latencies of one outcome.
func (s *LatencySummary) Of(o Outcome) *Latencies {
	switch o {
	case Allowed:
		return &s.Allowed
	case Denied:
		return &s.Denied
	default:
		return &s.Unknown
	}
}
