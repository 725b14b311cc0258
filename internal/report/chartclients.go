package report

import "github.com/rlcheck/rlcheck/internal/result"

// chartedClients returns the clients of a scenario, in its order, with their nearness to the limit as in the
// charts, as far as its recording shows it. May be empty.
func chartedClients(s *result.Scenario) []result.Client {
	out := append([]result.Client{}, s.Clients...)
	tl := s.Whole()
	if tl == nil {
		return out
	}
	if len(out) == 0 {
		out = result.ClientsOf(tl)
	}
	near := map[string]float64{}
	for _, part := range tl.ByPartition() {
		if share, known := nearness(s, part); known {
			near[part.Partition] = share
		}
	}
	for i := range out {
		if share, known := near[out[i].Partition]; known {
			out[i].Nearness = &share
		}
	}
	return out
}
