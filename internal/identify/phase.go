package identify

import "time"

// Phase is a part of an experiment: a silence, then requests one after the other.
type Phase struct {
	// Name says what the phase tells apart.
	Name string
	// Rest is the silence between the last answer and the first request.
	Rest time.Duration
	// Requests are sent Every apart, until Denials are denied or Admits are admitted; 0: all are sent.
	Requests int
	Every    time.Duration
	Denials  int
	Admits   int
	// Until is the latest time of the last request, since the start of the recording; 0: none.
	Until time.Duration
	// AtOnce is how many requests may be under way at once; the next one waits for an answer then. 0: as many
	// as fit into the time of an answer.
	AtOnce int
	// Way is what the client differs in; nil for the plain client.
	Way *Way
}

// Over tells whether a phase ends after these outcomes.
func (p Phase) Over(admitted, denied int) bool {
	return admitted+denied >= p.Requests || p.Denials > 0 && denied >= p.Denials ||
		p.Admits > 0 && admitted >= p.Admits
}
