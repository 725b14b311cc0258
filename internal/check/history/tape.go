package history

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Tape keeps the observations of one partition, ascending by Sent, in about eight bytes each: what a
// judgement needs, as differences from the observation before. The bytes lie in a Store that many tapes
// share. A tape can be read any number of times. The zero value is empty.
type Tape struct {
	N int
	// last is when the last observation was sent, seq is its number.
	last time.Duration
	seq  int
	// Dones: the tape keeps when the last byte of an answer was read. Statuses: it keeps what they say. Only
	// some policies ask for these.
	Dones, Statuses bool
	// head and tail are the first and the last piece in memory, size the number of bytes there. Earlier bytes
	// are in the file.
	head, tail uint32
	size       int
	file       []extent
}

// An observation begins with a byte of flags: its outcome in the low bits, and these bits.
const (
	tapeOutcome  = 3
	tapeAnswered = 1 << 2
	tapeOneUnit  = 1 << 3
	tapeNextSeq  = 1 << 4
	tapeSigned   = 1 << 5 // a difference of times is negative
	tapeDone     = 1 << 6
	tapeStatus   = 1 << 7
)

// tapeMost is the most bytes that one observation takes.
const tapeMost = 1 + 6*binary.MaxVarintLen64

// code appends the bytes of an observation to b.
func (t *Tape) code(b []byte, o *Observation) []byte {
	wait, took, rest := o.Sent-t.last, o.FirstByte-o.Sent, o.Done-o.FirstByte
	flags := t.flags(o)
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
	if flags&tapeStatus != 0 {
		b = binary.AppendUvarint(b, uint64(o.Status))
	}
	if flags&tapeOneUnit == 0 {
		b = binary.AppendVarint(b, o.Cost)
	}
	if flags&tapeNextSeq == 0 {
		b = binary.AppendVarint(b, int64(o.Seq-t.seq))
	}
	t.last, t.seq = o.Sent, o.Seq
	t.N++
	return b
}

// flags returns the flags of an observation without tapeSigned.
func (t *Tape) flags(o *Observation) byte {
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
	if t.Dones && o.Answered && o.Done > 0 {
		flags |= tapeDone
	}
	if t.Statuses && o.Status > 0 {
		flags |= tapeStatus
	}
	return flags
}

func appendTime(b []byte, d time.Duration, flags byte) []byte {
	if flags&tapeSigned != 0 {
		return binary.AppendVarint(b, int64(d))
	}
	return binary.AppendUvarint(b, uint64(d))
}

// Add appends an observation.
func (t *Tape) Add(s *Store, o *Observation) {
	var room [tapeMost]byte
	for b := t.code(room[:0], o); len(b) > 0; {
		at := t.size % pieceBytes
		if at == 0 {
			k := s.fresh()
			if t.size == 0 {
				t.head = k
			} else {
				s.piece(t.tail).next = k
			}
			t.tail = k
		}
		n := copy(s.piece(t.tail).bytes[at:], b)
		t.size += n
		b = b[n:]
	}
}

// Each calls f for every observation, in order, until f returns false. The next observation overwrites o.
func (t *Tape) Each(s *Store, f func(o *Observation) bool) {
	var p player
	for _, x := range t.file {
		for at, end := x.at, x.at+int64(x.size); at < end; {
			n := int(min(readBytes, end-at))
			k := len(p.rest)
			p.rest = slices.Grow(p.rest, n)[:k+n]
			if !s.read(p.rest[k:], at) || !p.play(tapeMost, f) {
				return
			}
			at += int64(n)
		}
	}
	for k, left := t.head, t.size; left > 0; {
		on := s.piece(k)
		n := min(pieceBytes, left)
		p.rest = append(p.rest, on.bytes[:n]...)
		k, left = on.next, left-n
		if len(p.rest) >= readBytes && !p.play(tapeMost, f) {
			return
		}
	}
	p.play(0, f)
}

// player reads observations. o is the last one that was read, rest the bytes that were not read yet.
type player struct {
	o    Observation
	rest []byte
}

// play reads observations while more than least bytes are left. false: f wants no more.
func (p *player) play(least int, f func(o *Observation) bool) bool {
	b := p.rest
	for len(b) > least {
		b = p.next(b)
		if !f(&p.o) {
			return false
		}
	}
	p.rest = p.rest[:copy(p.rest, b)]
	return true
}

// next reads one observation and returns the bytes behind it.
func (p *player) next(rest []byte) []byte {
	number := func(signed bool) int64 {
		if signed {
			v, n := binary.Varint(rest)
			rest = rest[n:]
			return v
		}
		v, n := binary.Uvarint(rest)
		rest = rest[n:]
		return int64(v)
	}
	o, flags := &p.o, rest[0]
	rest = rest[1:]
	signed := flags&tapeSigned != 0
	o.Outcome, o.Answered = timeline.Outcome(flags&tapeOutcome), flags&tapeAnswered != 0
	o.Sent += time.Duration(number(signed))
	o.FirstByte, o.Done, o.Cost, o.Status = 0, 0, 1, 0
	if o.Answered {
		o.FirstByte = o.Sent + time.Duration(number(signed))
	}
	if flags&tapeDone != 0 {
		o.Done = o.FirstByte + time.Duration(number(signed))
	}
	if flags&tapeStatus != 0 {
		o.Status = int16(number(false))
	}
	if flags&tapeOneUnit == 0 {
		o.Cost = number(true)
	}
	if o.Seq++; flags&tapeNextSeq == 0 {
		o.Seq += int(number(true)) - 1
	}
	return rest
}

// Beginning returns the first observations of the tape, at most `most`.
func (t *Tape) Beginning(s *Store, most int) []Observation {
	out := make([]Observation, 0, min(t.N, most))
	if most <= 0 {
		return out
	}
	t.Each(s, func(o *Observation) bool {
		out = append(out, *o)
		return len(out) < most
	})
	return out
}

// Store has the bytes of many tapes. In memory they lie in small pieces, so that a tape grows without being
// copied and wastes little. Bytes that were spilled lie in one file.
type Store struct {
	Blocks []*[blockPieces]piece
	used   uint32
	// file is nil as long as nothing was spilled.
	file *timeline.Shelf
}

// piece is a part of one tape. next is the number of the piece behind it.
type piece struct {
	bytes [pieceBytes]byte
	next  uint32
}

// extent is a part of one tape in the file: size bytes from offset at.
type extent struct {
	at   int64
	size int
}

// The sizes of a piece and of a read in bytes, and of a block in pieces.
const (
	pieceBytes  = 60
	blockPieces = 1 << 12
	readBytes   = 1 << 15
)

func (s *Store) piece(k uint32) *piece { return &s.Blocks[k/blockPieces][k%blockPieces] }

// Bytes returns the memory of all pieces in use.
func (s *Store) Bytes() int { return int(s.used) * (pieceBytes + 4) }

func (s *Store) fresh() uint32 {
	if s.used == uint32(len(s.Blocks))*blockPieces {
		s.Blocks = append(s.Blocks, new([blockPieces]piece))
	}
	s.used++
	return s.used - 1
}

// Spill writes the bytes in memory to the file, which open makes at the first call. tapes must give every
// tape.
func (s *Store) Spill(open func() (timeline.Spill, error), tapes func(func(t *Tape))) {
	if s.file == nil {
		s.file = timeline.NewShelf(open)
	}
	w, at := bufio.NewWriterSize(s.file, readBytes), s.file.Size()
	tapes(func(t *Tape) {
		if t.size == 0 {
			return
		}
		t.file = append(t.file, extent{at, t.size})
		at += int64(t.size)
		for k, left := t.head, t.size; left > 0; left -= pieceBytes {
			on := s.piece(k)
			_, _ = w.Write(on.bytes[:min(pieceBytes, left)]) // Err returns its error
			k = on.next
		}
		t.size = 0
	})
	s.used = 0
	_ = w.Flush() // Err returns its error
}

// Spilled tells whether bytes lie in the file.
func (s *Store) Spilled() bool { return s.file != nil }

// read fills b from the offset at of the file. false: it could not, and Err says why.
func (s *Store) read(b []byte, at int64) bool {
	_, err := s.file.ReadAt(b, at)
	return err == nil
}

// Err returns the first error of the file, or nil.
func (s *Store) Err() error {
	if s.file == nil || s.file.Err() == nil {
		return nil
	}
	return fmt.Errorf("check: the file of what does not fit into memory: %w", s.file.Err())
}

// Close gives the file back.
func (s *Store) Close() {
	if s.file != nil {
		s.file.Close()
	}
}
