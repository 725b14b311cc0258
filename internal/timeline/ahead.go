package timeline

import "io"

import ()

// ahead is a batch of observations that were read ahead, each with its line. err is what Next returned after
// them, or nil.
type ahead struct {
	observations []Observation
	lines        []int
	err          error
}

// A reader is at most aheadBatches times aheadSize observations ahead of its user.
const (
	aheadSize    = 256
	aheadBatches = 4
)

// Each calls take for every observation that Next would return, in their order and with its line, until take
// returns false. Another goroutine reads ahead meanwhile. take is called in the goroutine of the caller, and
// the observation is overwritten later. The error is that of Next. It is nil at the end of the file, or if
// take returned false. Observations before a problem were taken by then. Nothing may be read from r
// afterwards.
func (r *Reader) Each(take func(o *Observation, line int) bool) error {
	full, empty := make(chan ahead, aheadBatches), make(chan ahead, aheadBatches)
	for range aheadBatches {
		empty <- ahead{observations: make([]Observation, aheadSize), lines: make([]int, aheadSize)}
	}
	go func() {
		defer close(full)
		for batch := range empty {
			for i := range batch.observations {
				if batch.err = r.Next(&batch.observations[i]); batch.err != nil {
					batch.observations = batch.observations[:i]
					break
				}
				batch.lines[i] = r.lines.last()
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
			if !take(&batch.observations[i], batch.lines[i]) {
				return nil
			}
		}
		if batch.err == io.EOF {
			return nil
		}
		if batch.err != nil {
			return batch.err
		}
		empty <- batch
	}
	return nil
}
