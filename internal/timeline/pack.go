package timeline

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"
)

// packWindow is how far back the compressor looks: some seventy lines. With a window of 4 MiB it takes twice
// the time. Its file is then a fifth larger, as the place of a repetition takes more bits.
const packWindow = 32 << 10

// The header of a frame that has no checksum, no dictionary and no number of bytes: the magic number, a
// descriptor of 0, and the window (RFC 8878 section 3.1.1.1).
const (
	frameHeader     = 6
	frameDescriptor = 4
)

// ready are the lines of a long recording, compressed while it is made. They lack the header, which is known
// only at the end. It is then put in front of them, so the report need not wait until they are compressed:
//
//	frame header | blocks                        as they are made: ready
//	frame header | raw blocks | the same blocks  as they are kept: the raw blocks hold the header line
//
// Blocks refer to earlier bytes by their distance, so they do not change (RFC 8878 section 3.1.1). The frame
// has no checksum, since it would cover all of it. Two frames are no alternative, as some readers end after
// the first.
type ready struct {
	*Shelf
	z io.WriteCloser
	w *Writer
	// free is the first number for observations without one. next is the number of the next of them.
	free, next int
	// begin is the header of the frame.
	begin []byte
}

// NewPacked returns a Twin that keeps the observations of a Sorter in the form of Pack, so that Pack only
// copies it. open makes its file. free is the first number for observations without one. nil: the program
// lacks package zstd.
func NewPacked(open func() (Spill, error), free int) Twin {
	if packed.Writer == nil {
		return nil
	}
	r := &ready{Shelf: NewShelf(open), free: free, next: free}
	r.z = newPacker(r, false)
	r.w = NewWriter(r.z)
	r.w.known = &fieldTexts{}
	return r
}

// Add takes the next observation. false: the lines cannot be used.
func (r *ready) Add(o *Observation) bool {
	seq := o.Seq
	if seq < 0 {
		o.Seq = r.next
		r.next++
	}
	err := r.w.Observe(o)
	o.Seq = seq
	return err == nil
}

// End ends the lines. false: they cannot be used, for example since they are so few that the header of their
// frame has their number of bytes.
func (r *ready) End() bool {
	begin := make([]byte, frameHeader)
	if errors.Join(r.w.Flush(), r.z.Close()) != nil {
		return false
	}
	if _, err := r.ReadAt(begin, 0); err != nil || begin[frameDescriptor] != 0 {
		return false
	}
	r.begin = begin
	return true
}

// pack writes a recording with a header.
func (r *ready) pack(w io.Writer, h Header) error {
	line, err := headerLine(h)
	if err != nil {
		return err
	}
	out := slices.Clone(r.begin)
	for line = append(line, '\n'); len(line) > 0; {
		n := min(len(line), packWindow)
		block := binary.LittleEndian.AppendUint32(nil, uint32(n)<<3) // raw, and not the last
		out = append(append(out, block[:3]...), line[:n]...)
		line = line[n:]
	}
	_, err = w.Write(out)
	_, copied := io.Copy(w, io.NewSectionReader(r, int64(len(r.begin)), r.Size()-int64(len(r.begin))))
	return errors.Join(err, copied)
}

// Pack writes t to w, compressed with zstd. It copies what was compressed during the recording (NewPacked),
// unless it was changed since.
func Pack(w io.Writer, t *Timeline) error {
	if t.Spool != nil {
		twin, free := t.Spool.Twin()
		if r, ok := twin.(*ready); ok && r.free == free {
			return r.pack(w, t.Header)
		}
	}
	z := NewPacker(w)
	return errors.Join(Write(z, t), z.Close())
}
