package check

import "github.com/rlcheck/rlcheck/internal/spec"

// lastBatch is the index of the instant at which a bucket that is refilled in batches got the last one that
// is counted, or was created. Its counts are wasCreated, and inBucket: the units that it held then, less what
// was taken since.
const (
	lastBatch = firstVariable
	inBucket  = 1
)

// batchModel is a bucket that gets `batch` units every `apart`, counted from its creation.
type batchModel struct {
	base
	bucket
	scale, apart int64
}

// newBatchModel returns nil for a start level that is not one value: when the batches of such a bucket come
// is not known either.
func newBatchModel(p spec.Policy) model {
	b := batchModel{bucket: newBucket(p), scale: 1}
	if b.startLeast != b.startMost {
		return nil
	}
	b.scale, b.apart = b.n, b.batch*b.per
	common := gcd(b.scale, b.apart) // the batches may be a whole time apart, though the units are not
	b.scale, b.apart = b.scale/common, b.apart/common
	return b
}

func (b batchModel) traits() traits { return traits{scale: b.scale, counted: b.all, created: true} }

func (b batchModel) scaled(k int64) model {
	b.scale *= k
	b.apart *= k
	return b
}

func (b batchModel) start(begin int64) memoryState {
	return memoryState{counts: make([]int64, 2), zone: newZone(begin, begin)}
}

// create makes the bucket at the present, where it is not there yet.
func (b batchModel) create(m memoryState) {
	if *m.count(wasCreated) == 1 {
		return
	}
	m.zone.set(lastBatch, now, 0)
	*m.count(wasCreated) = 1
	*m.count(inBucket) = b.startLeast
}

// came returns the least and the largest number of batches that came since the last one that is counted.
func (b batchModel) came(m memoryState) (least, most int64) {
	return max(0, floorDiv(-m.zone.bound(lastBatch, now), b.apart)),
		floorDiv(m.zone.bound(now, lastBatch), b.apart)
}

// after counts k more batches, and tells whether just so many may have come.
func (b batchModel) after(m memoryState, k int64) bool {
	if !m.zone.limit(lastBatch, now, -k*b.apart) || !m.zone.limit(now, lastBatch, (k+1)*b.apart-1) {
		return false
	}
	m.zone.shift(lastBatch, k*b.apart)
	*m.count(inBucket) = min(b.burst, *m.count(inBucket)+k*b.batch)
	return true
}

// needs returns the number of batches from which on a request of the cost is admitted.
func (b batchModel) needs(m memoryState, cost int64) int64 {
	return max(0, -floorDiv(*m.count(inBucket)-cost, b.batch))
}

func (b batchModel) admit(m memoryState, a ask) []memoryState {
	if a.cost > b.burst {
		return nil
	}
	b.create(m)
	var out []memoryState
	from, to := b.came(m)
	for k := max(from, b.needs(m, a.cost)); k <= to && len(out) <= outcomeCap; k++ {
		if k > from+fewBatches && *m.count(inBucket)+k*b.batch >= b.burst {
			if b.filled(m, k) {
				*m.count(inBucket) -= a.cost
				out = append(out, m)
			}
			break
		}
		if one := m.clone(); b.after(one, k) {
			*one.count(inBucket) -= a.cost
			out = append(out, one)
		}
	}
	return out
}

// fewBatches is the number of batches that may have come of which each is followed, when the last one came.
// Of a full bucket that more of them may have reached only that it is full is known.
const fewBatches = 8

// filled counts k or more batches, which fill the bucket, and forgets when in the last `apart` the last one
// came.
func (b batchModel) filled(m memoryState, k int64) bool {
	if !m.zone.limit(lastBatch, now, -k*b.apart) {
		return false
	}
	m.zone.spread(lastBatch, now, 1-b.apart, 0)
	*m.count(inBucket) = b.burst
	return true
}

// pass creates the bucket; where denied requests are counted it takes what it costs.
func (b batchModel) pass(m memoryState, a ask) []memoryState {
	if b.all || a.cost > b.burst {
		return b.admit(m, a)
	}
	b.create(m)
	short := b.needs(m, a.cost)
	return onlyIf(short == 0 || m.zone.limit(lastBatch, now, -short*b.apart), m)
}

// deny: too few batches have come. A denial that is not counted leaves them to be counted later.
func (b batchModel) deny(m memoryState, a ask) []memoryState {
	b.create(m)
	if a.cost <= b.burst {
		if short := b.needs(m, a.cost); short == 0 || !m.zone.limit(now, lastBatch, short*b.apart-1) {
			return nil
		}
	}
	if !b.all {
		return []memoryState{m}
	}
	var out []memoryState
	from, to := b.came(m)
	for k := from; k <= to && len(out) <= outcomeCap; k++ {
		if one := m.clone(); b.after(one, k) {
			*one.count(inBucket) = max(0, *one.count(inBucket)-a.cost)
			out = append(out, one)
		}
	}
	return out
}
