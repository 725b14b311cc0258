package check

import (
	"encoding/binary"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// tape keeps the observations of one partition, ascending by Sent, in some ten bytes each: what a judgement needs of
// them, as differences from the one before. The zero value is empty.
type tape struct {
	tapeHead
	bytes []byte
}

// tapeHead is where the next observation of a tape is written.
type tapeHead struct {
	n int
	// first and last are when the first and the last observation were sent; seq is the number of the last.
	first, last time.Duration
	seq         int
	// dones tells to keep when the last byte was read, which only some policies ask for.
	dones bool
}

// The bits of the byte that an observation begins with, above its outcome.
const (
	tapeOutcome  = 3
	tapeAnswered = 1 << 2
	tapeOneUnit  = 1 << 3
	tapeNextSeq  = 1 << 4
	tapeSigned   = 1 << 5 // a difference of times is negative
	tapeDone     = 1 << 6
)

// tapeMost is the most bytes that an observation takes.
const tapeMost = 1 + 5*binary.MaxVarintLen64

// code appends to b what is kept of an observation.
func (t *tapeHead) code(b []byte, o *timeline.Observation) []byte {
	flags := byte(o.Outcome) & tapeOutcome
	if o.Answered {
		flags |= tapeAnswered
	}
	if o.Cost == 1 {
		flags |= tapeOneUnit
	}
	if o.Seq == t.seq+1 {
		flags |= tapeNextSeq
	}
	if t.n == 0 {
		t.first = o.Sent
	}
	wait, took := o.Sent-t.last, o.FirstByte-o.Sent
	if t.dones && o.Answered && o.Done > 0 {
		flags |= tapeDone
	}
	rest := o.Done - o.FirstByte
	if wait < 0 || o.Answered && took < 0 || flags&tapeDone != 0 && rest < 0 {
		flags |= tapeSigned
	}
	b = append(b, flags)
	b = appendTime(b, wait, flags)
	if o.Answered {
		b = appendTime(b, took, flags)
	}
	if flags&tapeDone != 0 {
		b = appendTime(b, rest, flags)
	}
	if flags&tapeOneUnit == 0 {
		b = binary.AppendVarint(b, o.Cost)
	}
	if flags&tapeNextSeq == 0 {
		b = binary.AppendVarint(b, int64(o.Seq-t.seq))
	}
	t.last, t.seq = o.Sent, o.Seq
	t.n++
	return b
}

// add appends an observation.
func (t *tape) add(o *timeline.Observation) { t.bytes = t.code(t.bytes, o) }

func appendTime(b []byte, d time.Duration, flags byte) []byte {
	if flags&tapeSigned != 0 {
		return binary.AppendVarint(b, int64(d))
	}
	return binary.AppendUvarint(b, uint64(d))
}

// each calls f for every observation, in order; o is overwritten by the next.
func (t *tape) each(f func(o *timeline.Observation)) { eachOf(t.bytes, f) }

// eachOf calls f for every observation of what a tape keeps.
func eachOf(rest []byte, f func(o *timeline.Observation)) {
	var o timeline.Observation
	next := func(signed bool) int64 {
		if signed {
			v, n := binary.Varint(rest)
			rest = rest[n:]
			return v
		}
		v, n := binary.Uvarint(rest)
		rest = rest[n:]
		return int64(v)
	}
	for len(rest) > 0 {
		flags := rest[0]
		rest = rest[1:]
		signed := flags&tapeSigned != 0
		o.Outcome, o.Answered = timeline.Outcome(flags&tapeOutcome), flags&tapeAnswered != 0
		o.Sent += time.Duration(next(signed))
		o.At, o.FirstByte, o.Done, o.Cost = o.Sent, 0, 0, 1
		if o.Answered {
			o.FirstByte = o.Sent + time.Duration(next(signed))
		}
		if flags&tapeDone != 0 {
			o.Done = o.FirstByte + time.Duration(next(signed))
		}
		if flags&tapeOneUnit == 0 {
			o.Cost = next(true)
		}
		if o.Seq++; flags&tapeNextSeq == 0 {
			o.Seq += int(next(true)) - 1
		}
		f(&o)
	}
}
