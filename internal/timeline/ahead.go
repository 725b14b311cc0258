package timeline

import "io"

// ahead is a number of observations that were read ahead, and what Next returned instead of one more; nil if nothing.
type ahead struct {
	observations []Observation
	err          error
}

// A reader is at most aheadBatches times aheadSize observations ahead of who takes them.
const (
	aheadSize    = 256
	aheadBatches = 4
)

// Each calls take for every observation that Next would return, in their order, until it returns false. It reads on in
// another goroutine meanwhile; take is called in that of the caller, and the observation is overwritten later. The error is
// that of Next, nil at the end of the file or where take returned false; observations in front of a problem were taken by
// then. Nothing may be read from r afterwards.
func (r *Reader) Each(take func(o *Observation) bool) error {
	full, empty := make(chan ahead, aheadBatches), make(chan []Observation, aheadBatches)
	for range aheadBatches {
		empty <- make([]Observation, aheadSize)
	}
	go func() {
		defer close(full)
		for room := range empty {
			batch := ahead{observations: room}
			for i := range room {
				if batch.err = r.Next(&room[i]); batch.err != nil {
					batch.observations = room[:i]
					break
				}
			}
			if full <- batch; batch.err != nil {
				return
			}
		}
	}()
	defer func() { // the goroutine has ended when Each returns
		close(empty)
		for range full {
		}
	}()
	for batch := range full {
		for i := range batch.observations {
			if !take(&batch.observations[i]) {
				return nil
			}
		}
		if batch.err == io.EOF {
			return nil
		}
		if batch.err != nil {
			return batch.err
		}
		empty <- batch.observations
	}
	return nil
}
