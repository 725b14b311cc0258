package limiter

import (
	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// lastBatch is the index of the instant of the last counted batch, or of the creation of the bucket. The
// counts are wasCreated and inBucket: the units in the bucket at lastBatch, less the units taken since.
const (
	lastBatch = FirstVariable
	inBucket  = 1
)

// batchModel is a bucket that gets `batch` units every `apart` (scaled), counted from its creation.
type batchModel struct {
	base
	Bucket
	scale, apart int64
}

// newBatchModel returns nil where the start level is a range: when the batches of such a bucket come is not
// known either.
func newBatchModel(p spec.Policy) Model {
	b := batchModel{Bucket: NewBucket(p), scale: 1}
	if b.startLeast != b.StartMost {
		return nil
	}
	b.scale, b.apart = b.N, b.batch*b.Per
	common := history.Gcd(b.scale, b.apart) // batches may be whole nanoseconds apart where units are not
	b.scale, b.apart = b.scale/common, b.apart/common
	return b
}

func (b batchModel) Traits() Traits { return Traits{Scale: b.scale, Counted: b.all, Created: true} }

func (b batchModel) Scaled(k int64) Model {
	b.scale *= k
	b.apart *= k
	return b
}

func (b batchModel) Start(begin int64) State {
	return State{Counts: make([]int64, 2), Zone: NewZone(begin, begin)}
}

// create makes the bucket at the present, if it does not exist yet.
func (b batchModel) create(m State) {
	if *m.count(wasCreated) == 1 {
		return
	}
	m.Zone.Set(lastBatch, ZoneNow, 0)
	*m.count(wasCreated) = 1
	*m.count(inBucket) = b.startLeast
}

// came returns the least and the most batches that may have come since lastBatch.
func (b batchModel) came(m State) (least, most int64) {
	return max(0, history.FloorDiv(-m.Zone.Bound(lastBatch, ZoneNow), b.apart)),
		history.FloorDiv(m.Zone.Bound(ZoneNow, lastBatch), b.apart)
}

// after counts k more batches. false: exactly k cannot have come.
func (b batchModel) after(m State, k int64) bool {
	if !m.Zone.Limit(lastBatch, ZoneNow, -k*b.apart) || !m.Zone.Limit(ZoneNow, lastBatch, (k+1)*b.apart-1) {
		return false
	}
	m.Zone.Shift(lastBatch, k*b.apart)
	*m.count(inBucket) = min(b.Burst, *m.count(inBucket)+k*b.batch)
	return true
}

// needs returns how many batches must come before a request of this cost is admitted.
func (b batchModel) needs(m State, cost int64) int64 {
	return max(0, -history.FloorDiv(*m.count(inBucket)-cost, b.batch))
}

func (b batchModel) Admit(m State, a Request) []State {
	if a.Cost > b.Burst {
		return nil
	}
	b.create(m)
	var out []State
	from, to := b.came(m)
	for k := max(from, b.needs(m, a.Cost)); k <= to && len(out) <= OutcomeCap; k++ {
		if k > from+fewBatches && *m.count(inBucket)+k*b.batch >= b.Burst {
			if b.filled(m, k) {
				*m.count(inBucket) -= a.Cost
				out = append(out, m)
			}
			break
		}
		if one := m.Clone(); b.after(one, k) {
			*one.count(inBucket) -= a.Cost
			out = append(out, one)
		}
	}
	return out
}

// fewBatches is how many batches are told apart. If more may have come, and the bucket is full, only that is
// kept.
const fewBatches = 8

// filled counts k or more batches, which fill the bucket. It forgets when, within the last `apart`, the last
// batch came. false: fewer than k came.
func (b batchModel) filled(m State, k int64) bool {
	if !m.Zone.Limit(lastBatch, ZoneNow, -k*b.apart) {
		return false
	}
	m.Zone.Spread(lastBatch, ZoneNow, 1-b.apart, 0)
	*m.count(inBucket) = b.Burst
	return true
}

// Pass creates the bucket. Where denied requests count, the request takes its cost.
func (b batchModel) Pass(m State, a Request) []State {
	if b.all || a.Cost > b.Burst {
		return b.Admit(m, a)
	}
	b.create(m)
	short := b.needs(m, a.Cost)
	return onlyIf(short == 0 || m.Zone.Limit(lastBatch, ZoneNow, -short*b.apart), m)
}

// Deny: too few batches have come. A denial that does not count leaves the batches to be counted later.
func (b batchModel) Deny(m State, a Request) []State {
	b.create(m)
	if a.Cost <= b.Burst {
		if short := b.needs(m, a.Cost); short == 0 || !m.Zone.Limit(ZoneNow, lastBatch, short*b.apart-1) {
			return nil
		}
	}
	if !b.all {
		return []State{m}
	}
	var out []State
	from, to := b.came(m)
	for k := from; k <= to && len(out) <= OutcomeCap; k++ {
		if one := m.Clone(); b.after(one, k) {
			*one.count(inBucket) = max(0, *one.count(inBucket)-a.Cost)
			out = append(out, one)
		}
	}
	return out
}
