package ndjson

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// packWindow is how far back the compressor looks: some seventy lines. With a window of 4 MiB it takes twice
// the time, and its file is a fifth larger, as the place of what a line repeats takes more bits.
const packWindow = 32 << 10

// NewPacker returns a writer that compresses lines with zstd into w. Close must be called at the end; it does
// not close w. A line of a recording takes some 21 bytes and 0.4 us; on goroutines of its own the compressor
// would take half as much again.
func NewPacker(w io.Writer) io.WriteCloser { return newPacker(w) }

func newPacker(w io.Writer, more ...zstd.EOption) io.WriteCloser {
	z, err := zstd.NewWriter(w, append(more, zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(packWindow), zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))...)
	if err != nil {
		panic("ndjson: zstd: " + err.Error()) // the options are constants
	}
	return z
}

// ready are the lines of a long recording, compressed while it is made: all but the header, which is known
// at the end. That is put in front of them then, so the report need not wait until they are compressed:
//
//	frame header | blocks                        as they are made: ready
//	frame header | raw blocks | the same blocks  as they are kept: the raw blocks hold the header line
//
// Blocks refer to what stands before them by its distance, so they do not change (RFC 8878 section 3.1.1).
// The frame has no checksum, which would be one of all of it. Two frames are no way: some readers end after
// the first.
type ready struct {
	*timeline.Shelf
	z io.WriteCloser
	w *Writer
	// free is the first number for observations without one, next that of the next one.
	free, next int
	// begin is the header of the frame.
	begin []byte
}

// NewPacked returns what keeps the observations of a Sorter as Pack writes them, so that Pack copies it; open
// makes its file, and free is the first number for observations without one.
func NewPacked(open func() (timeline.Spill, error), free int) timeline.Twin {
	r := &ready{Shelf: timeline.NewShelf(open), free: free, next: free}
	r.z = newPacker(r, zstd.WithEncoderCRC(false))
	r.w = NewWriter(r.z)
	r.w.known = &fieldTexts{}
	return r
}

// Add takes the next observation. It reports false where the lines cannot be used.
func (r *ready) Add(o *timeline.Observation) bool {
	seq := o.Seq
	if seq < 0 {
		o.Seq = r.next
		r.next++
	}
	err := r.w.Observe(o)
	o.Seq = seq
	return err == nil
}

// End ends the lines. It reports false where they cannot be used, as where they are so few that the header
// of their frame tells how many bytes there are.
func (r *ready) End() bool {
	begin := make([]byte, zstd.HeaderMaxSize)
	if errors.Join(r.w.Flush(), r.z.Close()) != nil || r.Size() < int64(len(begin)) {
		return false
	}
	if _, err := r.ReadAt(begin, 0); err != nil {
		return false
	}
	var frame zstd.Header
	if frame.Decode(begin) != nil || frame.HasCheckSum || frame.HasFCS {
		return false
	}
	r.begin = begin[:frame.HeaderSize]
	return true
}

// pack writes a recording with a header.
func (r *ready) pack(w io.Writer, h timeline.Header) error {
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

// Pack writes t to w, compressed with zstd. What was compressed while it was recorded (NewPacked) is copied,
// unless it was changed since.
func Pack(w io.Writer, t *timeline.Timeline) error {
	if t.Spool != nil {
		twin, free := t.Spool.Twin()
		if r, ok := twin.(*ready); ok && r.free == free {
			return r.pack(w, t.Header)
		}
	}
	z := NewPacker(w)
	return errors.Join(Write(z, t), z.Close())
}
