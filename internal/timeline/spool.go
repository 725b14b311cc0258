package timeline

import (
	"cmp"
	"encoding/binary"
	"io"
	"iter"
	"math"
	"slices"
	"sync"
	"time"
)

// Spool keeps the observations of a long recording in the order in which they are added, in about sixteen
// bytes each. It stores differences of times, and the numbers of texts that came before. The last block is in
// memory, the others are in a file. It is read from the beginning, as often as needed.
type Spool struct {
	// N is the number of observations.
	N int

	shelf   *Shelf
	block   []byte
	last    spoolLast
	strings Slots[string]
	sets    Slots[*Field]
	// free and change belong to one view of the observations. free is one more than the number of the first
	// observation without a number; 0: they have none. change changes each observation that is read.
	free   int
	change func(o *Observation)
}

// spoolBlock is how many bytes a block of a spool has when it is written.
const spoolBlock = 256 << 10

// NewSpool returns an empty Spool. open makes its file, when the first block is full.
func NewSpool(open func() (Spill, error)) *Spool { return &Spool{shelf: NewShelf(open)} }

// Add appends an observation. A negative Seq means that it has no number yet (From). Fields that share one
// slice are kept once, so they must not be changed.
func (s *Spool) Add(o *Observation) {
	x := *o
	s.last.code((*spoolWriter)(s), &x)
	if s.N++; len(s.block) >= spoolBlock {
		s.spill()
	}
}

// spoolCoder writes values into a spool, and returns them, or reads them from one, whatever it is given.
type spoolCoder interface {
	number(v int64) int64
	text(v string) string
	fields(v Fields) Fields
}

// spoolLast has what the next observation is told by its differences from.
type spoolLast struct {
	sent        time.Duration
	seq, status int
}

// code writes an observation, or reads it into o. Few observations have what is rare.
func (l *spoolLast) code(c spoolCoder, o *Observation) {
	const outcomes, answered, origin, rare = 3, 1 << 2, 1 << 3, 1 << 4
	bit := func(on bool, bit int64) int64 {
		if on {
			return bit
		}
		return 0
	}
	flags := c.number(int64(o.Outcome) | bit(o.Answered, answered) | bit(o.Origin, origin) |
		bit(o.Cost != 1 || o.Observer != 0 || o.Error != "" || o.Body != "", rare))
	o.Outcome, o.Answered, o.Origin = Outcome(flags&outcomes), flags&answered != 0, flags&origin != 0
	o.Sent = l.sent + time.Duration(c.number(int64(o.Sent-l.sent)))
	o.At = o.Sent + time.Duration(c.number(int64(o.At-o.Sent)))
	o.FirstByte = o.Sent + time.Duration(c.number(int64(o.FirstByte-o.Sent)))
	o.Done = o.FirstByte + time.Duration(c.number(int64(o.Done-o.FirstByte)))
	o.Seq = l.seq + 1 + int(c.number(int64(o.Seq-l.seq-1)))
	o.Status = l.status + int(c.number(int64(o.Status-l.status)))
	o.Partition, o.Phase = c.text(o.Partition), c.text(o.Phase)
	o.Fields = c.fields(o.Fields)
	if flags&rare == 0 {
		o.Cost = 1
	} else {
		o.Cost, o.Observer = c.number(o.Cost), int32(c.number(int64(o.Observer)))
		o.Error, o.Body = c.text(o.Error), c.text(o.Body)
	}
	l.sent, l.seq, l.status = o.Sent, o.Seq, o.Status
}

type spoolWriter Spool

func (s *spoolWriter) number(v int64) int64 {
	s.block = binary.AppendVarint(s.block, v)
	return v
}

// begin appends 0 for what is empty, 2 and its number for what is known, or 1. The content then follows.
func begin[K comparable](s *spoolWriter, known *Slots[K], k K, size int) (fresh bool) {
	if size == 0 {
		s.number(0)
	} else if n, known := known.Find(k); known {
		s.number(int64(n) + 2)
	} else {
		s.number(1)
		s.number(int64(size))
		return true
	}
	return false
}

func (s *spoolWriter) text(v string) string {
	if begin(s, &s.strings, v, len(v)) {
		s.block = append(s.block, v...)
	}
	return v
}

func (s *spoolWriter) fields(f Fields) Fields {
	if len(f) > 0 && begin(s, &s.sets, &f[0], len(f)) {
		for _, x := range f {
			s.text(x.Name)
			s.text(x.Value)
		}
	} else if len(f) == 0 {
		s.number(0)
	}
	return f
}

// spill writes the block to the file, with its length in front.
func (s *Spool) spill() {
	n := binary.BigEndian.AppendUint64(nil, uint64(len(s.block)))
	_, _ = s.shelf.Write(n) // the Shelf keeps its error
	_, _ = s.shelf.Write(s.block)
	s.block = s.block[:0]
}

// From returns a view of s in which the observations without a number are numbered from free on, in their
// order.
func (s *Spool) From(free int) *Spool {
	out := *s
	out.free = free + 1
	return &out
}

// With returns a view of s in which change was made to each observation. change must not change its Fields in
// place.
func (s *Spool) With(change func(o *Observation)) *Spool {
	out, before := *s, s.change
	out.change = func(o *Observation) {
		if before != nil {
			before(o)
		}
		change(o)
	}
	return &out
}

// Open makes another file like that of s.
func (s *Spool) Open() (Spill, error) { return s.shelf.open() }

// Err returns the first error of the file, or nil.
func (s *Spool) Err() error { return s.shelf.Err() }

// Unroll makes the observations of s those of t. s is in order, but for observations without a number. If
// there are at most `most`, and its file is sound, all go into memory and s is closed. Otherwise s is the
// Spool of t, and t holds the first quarter of most in memory. Of these, requests that were answered after
// the last of them was sent have no answer.
func (t *Timeline) Unroll(s *Spool, most int) {
	room, cut := s.N, time.Duration(math.MaxInt64)
	if s.N > most {
		room = most / 4
	}
	t.Observations = make([]Observation, 0, room)
	s.Each(func(o *Observation) bool {
		if len(t.Observations) == room {
			cut = o.Sent
			return false
		}
		t.Observations = append(t.Observations, *o)
		return true
	})
	if t.Spool = s; s.N <= most && s.Err() == nil {
		slices.SortStableFunc(t.Observations, BySent)
		t.Spool = nil
		s.Close()
		return
	}
	for i := range t.Observations {
		if o := &t.Observations[i]; o.Answered && o.FirstByte >= cut {
			*o = Observation{Arrival: o.Arrival, Sent: o.Sent, Error: Interrupted}
		}
	}
}

// Close removes the file. Nothing can be read any more.
func (s *Spool) Close() { s.shelf.Close() }

// Each calls take for every observation in their order, until take returns false. o is overwritten by the
// next. Nothing may be added meanwhile. It calls take for none if the file had an error before (Err), since a
// part of a recording would be judged as if it were all.
func (s *Spool) Each(take func(o *Observation) bool) {
	if s.Err() != nil {
		return
	}
	p := spoolReader{Spool: s, free: s.free}
	var size [8]byte
	var room []byte
	for at := int64(0); at < s.shelf.Size(); {
		if _, err := s.shelf.ReadAt(size[:], at); err != nil {
			return
		}
		at += int64(len(size))
		n := int(binary.BigEndian.Uint64(size[:]))
		room = slices.Grow(room[:0], n)[:n]
		if _, err := s.shelf.ReadAt(room, at); err != nil || !p.play(room, take) {
			return
		}
		at += int64(n)
	}
	p.play(s.block, take)
}

// spoolReader reads a spool once.
type spoolReader struct {
	*Spool
	free    int
	o       Observation
	before  spoolLast
	texts   [MostSlots]string
	sets    [MostSlots]Fields
	strings int
	nSets   int
	rest    []byte
}

// play reads the observations of a block, and tells whether take asks for more.
func (p *spoolReader) play(block []byte, take func(o *Observation) bool) bool {
	for p.rest = block; len(p.rest) > 0; {
		p.o = Observation{}
		if p.before.code(p, &p.o); p.o.Seq < 0 && p.free > 0 {
			p.o.Seq = p.free - 1
			p.free++
		}
		if p.change != nil {
			p.change(&p.o)
		}
		if !take(&p.o) {
			return false
		}
	}
	return true
}

func (p *spoolReader) number(int64) int64 {
	if b := p.rest[0]; b < 0x80 { // most numbers have one byte
		p.rest = p.rest[1:]
		return int64(b>>1) ^ -int64(b&1)
	}
	v, n := binary.Varint(p.rest)
	p.rest = p.rest[n:]
	return v
}

func (p *spoolReader) text(string) string {
	switch k := p.number(0); k {
	case 0:
		return ""
	case 1:
		n := p.number(0)
		text := string(p.rest[:n])
		p.rest = p.rest[n:]
		p.texts[p.strings%MostSlots] = text
		p.strings++
		return text
	default:
		return p.texts[k-2]
	}
}

func (p *spoolReader) fields(Fields) Fields {
	switch k := p.number(0); k {
	case 0:
		return nil
	case 1:
		f := make(Fields, p.number(0))
		at := p.nSets % MostSlots
		p.nSets++
		for i := range f {
			f[i] = Field{Name: p.text(""), Value: p.text("")}
		}
		p.sets[at] = f
		return f
	default:
		return p.sets[k-2]
	}
}

// Spill is where a Spool puts what it does not hold in memory. It is written once, from the beginning to the
// end, and read at any place.
type Spill interface {
	io.Writer
	io.ReaderAt
	io.Closer
}

// Shelf is a Spill that is opened at the first write. It keeps its first error, and nothing is written after
// that. One goroutine writes; then several may read.
type Shelf struct {
	open func() (Spill, error)
	file Spill
	size int64
	mu   sync.Mutex
	err  error
}

// NewShelf returns an empty Shelf. open makes its file.
func NewShelf(open func() (Spill, error)) *Shelf { return &Shelf{open: open} }

// Err returns the first error of the file, or nil.
func (f *Shelf) Err() error { return f.failed(nil) }

// Size returns how many bytes were written.
func (f *Shelf) Size() int64 { return f.size }

// failed keeps the first error, and returns it.
func (f *Shelf) failed(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = cmp.Or(f.err, err)
	return f.err
}

// Write appends b. The error is that of Err.
func (f *Shelf) Write(b []byte) (int, error) {
	if f.file == nil && f.Err() == nil {
		file, err := f.open()
		f.file = file
		f.failed(err)
	}
	if f.Err() == nil {
		_, err := f.file.Write(b)
		f.size += int64(len(b))
		f.failed(err)
	}
	return len(b), f.Err()
}

// ReadAt fills b from a place at or before Size. The error is that of Err.
func (f *Shelf) ReadAt(b []byte, at int64) (int, error) {
	n, err := f.file.ReadAt(b, at)
	if n == len(b) {
		err = nil // a file may tell of its end too
	}
	return n, f.failed(err)
}

// Close removes the file. Nothing can be read any more.
func (f *Shelf) Close() {
	if f.file != nil {
		_ = f.file.Close() // nobody needs its content any more
	}
}

// Sorter puts observations into the order of a recording (BySent), in bounded memory. It is made for
// observations that come nearly in order, as requests end. It holds some, and passes on the first half of
// them. Observations that come too late for that go to a Sorter of their own. Both are merged at the end.
type Sorter struct {
	open func() (Spill, error)
	// sorted has what was passed on, up to last. late has what should have come before last.
	sorted *Spool
	last   Observation
	late   *Sorter
	// held waits to be passed on. spare is memory for the next observations.
	held   []held
	spare  []*Observation
	window int
}

// held is an observation and the keys of its order.
type held struct {
	sent time.Duration
	seq  int
	o    *Observation
}

// sortWindow is how many observations a Sorter holds at most.
const sortWindow = 1 << 14

// NewSorter returns a Sorter without observations. open makes the files of its spools.
func NewSorter(open func() (Spill, error)) *Sorter {
	return &Sorter{open: open, sorted: NewSpool(open), window: sortWindow}
}

// Add takes an observation. It keeps a copy, whose fields must not be changed.
func (s *Sorter) Add(o *Observation) {
	if s.sorted.N > 0 && BySent(*o, s.last) < 0 {
		if s.late == nil {
			s.late = NewSorter(s.open)
			s.late.window = s.window
		}
		s.late.Add(o)
		return
	}
	var x *Observation
	if n := len(s.spare); n > 0 {
		x, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		x = new(Observation)
	}
	*x = *o
	if s.held = append(s.held, held{o.Sent, o.Seq, x}); len(s.held) > s.window {
		s.pass(s.window/2 + 1)
	}
}

// pass passes on the first n of the observations that are held.
func (s *Sorter) pass(n int) {
	slices.SortFunc(s.held, func(a, b held) int {
		if a.sent != b.sent {
			return cmp.Compare(a.sent, b.sent)
		}
		return cmp.Compare(a.seq, b.seq)
	})
	for _, h := range s.held[:n] {
		s.sorted.Add(h.o)
		s.last = *h.o
		s.spare = append(s.spare, h.o)
	}
	s.held = append(s.held[:0], s.held[n:]...)
}

// Err returns the first error of a file, or nil. s may be nil.
func (s *Sorter) Err() error {
	if s == nil {
		return nil
	}
	if err := s.sorted.Err(); err != nil {
		return err
	}
	return s.late.Err()
}

// Finish returns all observations in their order. Nothing may be added afterwards.
func (s *Sorter) Finish() *Spool {
	s.pass(len(s.held))
	s.held, s.spare = nil, nil
	if s.late == nil {
		return s.sorted
	}
	late, out := s.late.Finish(), NewSpool(s.open)
	defer s.sorted.Close()
	defer late.Close()
	next, stop := iter.Pull(late.Each)
	defer stop()
	l, more := next()
	s.sorted.Each(func(o *Observation) bool {
		for ; more && BySent(*l, *o) < 0; l, more = next() {
			out.Add(l)
		}
		out.Add(o)
		return true
	})
	for ; more; l, more = next() {
		out.Add(l)
	}
	out.shelf.failed(s.sorted.Err())
	out.shelf.failed(late.Err())
	out.N = s.sorted.N + late.N // also those that a broken file does not give back
	return out
}
