package timeline

import (
	"cmp"
	"io"
	"sync"
)

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
	return n, f.failed(err)
}

// Close removes the file. Nothing can be read any more.
func (f *Shelf) Close() {
	if f.file != nil {
		_ = f.file.Close() // nobody needs its content any more
	}
}
