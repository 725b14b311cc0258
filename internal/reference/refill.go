package reference

import (
	"github.com/rlcheck/rlcheck/internal/spec"
	"math/bits"
	"time"
)

// refill says how the units of a bucket come back. Amounts are in quota units times the window in
// nanoseconds. So a rate of n units a window brings n of these each nanosecond, and nothing rounds. With
// RefillInterval a batch comes back every batch/n nanoseconds. into, less than batch, is what was gained
// since the last batch.
type refill struct {
	n, batch uint64
}

func newRefill(p spec.Policy) refill {
	r := refill{n: uint64(p.Rate.N)}
	if p.Refill == spec.RefillInterval {
		r.batch = uint64(p.Fill) * uint64(p.Rate.Per)
	}
	return r
}

// over returns what comes back in the time past, at most `most`, and the new into.
func (r refill) over(past, into, most uint64) (gain, newInto uint64) {
	hi, lo := bits.Mul64(past, r.n)
	if r.batch == 0 {
		if hi != 0 || lo > most {
			lo = most
		}
		return lo, 0
	}
	lo, carry := bits.Add64(lo, into, 0)
	hi += carry
	if hi >= r.batch {
		return most, bits.Rem64(hi, lo, r.batch)
	}
	batches, into := bits.Div64(hi, lo, r.batch)
	if hi, lo = bits.Mul64(batches, r.batch); hi != 0 || lo > most {
		lo = most
	}
	return lo, into
}

// until returns the time until need has come back, rounded up to the nanosecond.
func (r refill) until(need, into uint64) time.Duration {
	if need == 0 {
		return 0
	}
	if r.batch != 0 {
		need = (need+r.batch-1)/r.batch*r.batch - into
	}
	return time.Duration((need + r.n - 1) / r.n)
}
