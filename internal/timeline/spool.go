package timeline

import (
	"encoding/binary"
	"math"
	"slices"
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
	last    Observation
	strings Slots[string]
	sets    Slots[*Field]
	// free and change belong to one view of the observations. free is one more than the number of the first
	// observation without a number; 0: they have none. change changes each observation that is read.
	free   int
	change func(o *Observation)
}

// spoolBlock is how many bytes a block of a spool has when it is written.
const spoolBlock = 256 << 10

// The bits of the first byte of an observation in a spool, above its outcome. spoolRare: another byte
// follows, for what few observations have.
const (
	spoolOutcome  = 3
	spoolAnswered = 1 << 2
	spoolDone     = 1 << 3
	spoolOneUnit  = 1 << 4
	spoolNextSeq  = 1 << 5
	spoolRare     = 1 << 6
	spoolFree     = 1 << 7

	rareOrigin   = 1 << 0
	rareObserver = 1 << 1
	rareError    = 1 << 2
	rareBody     = 1 << 3
)

// rare returns the bits of the second byte of an observation.
func rare(o *Observation) (bits byte) {
	set := func(bit byte, on bool) {
		if on {
			bits |= bit
		}
	}
	set(rareOrigin, o.Origin)
	set(rareObserver, o.Observer != 0)
	set(rareError, o.Error != "")
	set(rareBody, o.Body != "")
	return bits
}

// NewSpool returns an empty Spool. open makes its file, when the first block is full.
func NewSpool(open func() (Spill, error)) *Spool { return &Spool{shelf: NewShelf(open)} }

// Add appends an observation. A negative Seq means that it has no number yet (From). Fields that share one
// slice are kept once, so they must not be changed.
func (s *Spool) Add(o *Observation) {
	flags, few := byte(o.Outcome)&spoolOutcome, rare(o)
	set := func(bit byte, on bool) {
		if on {
			flags |= bit
		}
	}
	set(spoolAnswered, o.Answered)
	set(spoolDone, o.Done != 0)
	set(spoolOneUnit, o.Cost == 1)
	set(spoolNextSeq, o.Seq == s.last.Seq+1)
	set(spoolRare, few != 0)
	set(spoolFree, o.Seq < 0)
	b := append(s.block, flags)
	if few != 0 {
		b = append(b, few)
	}
	b = binary.AppendVarint(b, int64(o.Sent-s.last.Sent))
	b = binary.AppendVarint(b, int64(o.Sent-o.At))
	from := o.Sent
	if o.Answered {
		b = binary.AppendVarint(b, int64(o.FirstByte-o.Sent))
		from = o.FirstByte
	}
	if o.Done != 0 {
		b = binary.AppendVarint(b, int64(o.Done-from))
	}
	if o.Cost != 1 {
		b = binary.AppendVarint(b, o.Cost)
	}
	if flags&(spoolNextSeq|spoolFree) == 0 {
		b = binary.AppendVarint(b, int64(o.Seq))
	}
	b = s.text(s.text(binary.AppendVarint(b, int64(o.Status)), o.Partition), o.Phase)
	if few != 0 {
		b = s.few(b, o, few)
	}
	s.block = s.fields(b, o.Fields)
	s.last.Sent = o.Sent
	if o.Seq >= 0 {
		s.last.Seq = o.Seq
	}
	if s.N++; len(s.block) >= spoolBlock {
		s.spill()
	}
}

// few appends what few observations have.
func (s *Spool) few(b []byte, o *Observation, bits byte) []byte {
	if bits&rareObserver != 0 {
		b = binary.AppendVarint(b, int64(o.Observer))
	}
	if bits&rareError != 0 {
		b = s.text(b, o.Error)
	}
	if bits&rareBody != 0 {
		b = s.text(b, o.Body)
	}
	return b
}

// text appends a text: 0 for an empty one, 1 and the text itself for a new one, or 2 and its number.
func (s *Spool) text(b []byte, text string) []byte {
	if text == "" {
		return append(b, 0)
	}
	n, known := s.strings.Find(text)
	if known {
		return binary.AppendUvarint(b, uint64(n)+2)
	}
	return append(binary.AppendUvarint(append(b, 1), uint64(len(text))), text...)
}

// fields appends a set of fields like a text: 0, 1 and the fields, or 2 and a number.
func (s *Spool) fields(b []byte, f Fields) []byte {
	if len(f) == 0 {
		return append(b, 0)
	}
	n, known := s.sets.Find(&f[0])
	if known {
		return binary.AppendUvarint(b, uint64(n)+2)
	}
	b = binary.AppendUvarint(append(b, 1), uint64(len(f)))
	for _, x := range f {
		b = s.text(s.text(b, x.Name), x.Value)
	}
	return b
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
func (s *Spool) Close() {
	s.shelf.Close()
}

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
	seq     int
	texts   [MostSlots]string
	fields  [MostSlots]Fields
	strings int
	sets    int
	rest    []byte
}

// play reads the observations of a block, and tells whether take asks for more.
func (p *spoolReader) play(block []byte, take func(o *Observation) bool) bool {
	sent := p.o.Sent
	for p.rest = block; len(p.rest) > 0; {
		p.o.Sent = sent
		p.next()
		sent = p.o.Sent
		if p.change != nil {
			p.change(&p.o)
		}
		if !take(&p.o) {
			return false
		}
	}
	p.o.Sent = sent
	return true
}

func (p *spoolReader) next() {
	flags, o := p.byte(), &p.o
	var few byte
	if flags&spoolRare != 0 {
		few = p.byte()
	}
	sent := o.Sent + time.Duration(p.signed())
	*o = Observation{Sent: sent, Outcome: Outcome(flags & spoolOutcome), Answered: flags&spoolAnswered != 0}
	o.Origin, o.Cost, o.At = few&rareOrigin != 0, 1, sent-time.Duration(p.signed())
	from := sent
	if o.Answered {
		o.FirstByte = sent + time.Duration(p.signed())
		from = o.FirstByte
	}
	if flags&spoolDone != 0 {
		o.Done = from + time.Duration(p.signed())
	}
	if flags&spoolOneUnit == 0 {
		o.Cost = p.signed()
	}
	switch {
	case flags&spoolFree != 0:
		if o.Seq = -1; p.free > 0 {
			o.Seq = p.free - 1
			p.free++
		}
	case flags&spoolNextSeq != 0:
		p.seq++
		o.Seq = p.seq
	default:
		p.seq = int(p.signed())
		o.Seq = p.seq
	}
	o.Status, o.Partition, o.Phase = int(p.signed()), p.text(), p.text()
	if few != 0 {
		p.few(few)
	}
	o.Fields = p.set()
}

// few reads what few observations have.
func (p *spoolReader) few(bits byte) {
	if bits&rareObserver != 0 {
		p.o.Observer = int32(p.signed())
	}
	if bits&rareError != 0 {
		p.o.Error = p.text()
	}
	if bits&rareBody != 0 {
		p.o.Body = p.text()
	}
}

func (p *spoolReader) byte() byte {
	v := p.rest[0]
	p.rest = p.rest[1:]
	return v
}

func (p *spoolReader) signed() int64 {
	v, n := binary.Varint(p.rest)
	p.rest = p.rest[n:]
	return v
}

func (p *spoolReader) number() int {
	v, n := binary.Uvarint(p.rest)
	p.rest = p.rest[n:]
	return int(v)
}

func (p *spoolReader) text() string {
	switch k := p.number(); k {
	case 0:
		return ""
	case 1:
		n := p.number()
		text := string(p.rest[:n])
		p.rest = p.rest[n:]
		p.texts[p.strings%MostSlots] = text
		p.strings++
		return text
	default:
		return p.texts[k-2]
	}
}

func (p *spoolReader) set() Fields {
	switch k := p.number(); k {
	case 0:
		return nil
	case 1:
		f := make(Fields, p.number())
		at := p.sets % MostSlots
		p.sets++
		for i := range f {
			f[i] = Field{Name: p.text(), Value: p.text()}
		}
		p.fields[at] = f
		return f
	default:
		return p.fields[k-2]
	}
}
