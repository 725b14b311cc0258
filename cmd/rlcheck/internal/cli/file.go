package cli

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/rlcheck/rlcheck/internal/timeline"
	_ "github.com/rlcheck/rlcheck/internal/timeline/zstd" // long recordings are kept as .zst
)

// The ends of the names of compressed files.
const (
	PackedEnd = ".gz"
	LongEnd   = ".zst"
)

// WriteFile writes a file whole or not at all, and makes its folder. Something that is no regular file
// (/dev/stdout, a named pipe) is written to and stays what it is. So does a symbolic link.
func WriteFile(path string, data []byte) error {
	return StreamFile(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Packed returns write, through gzip or zstd if the name of a file says so.
func Packed(path string, write func(io.Writer) error) func(io.Writer) error {
	switch filepath.Ext(path) {
	default:
		return write
	case LongEnd:
		return func(w io.Writer) error {
			z := timeline.NewPacker(w)
			return errors.Join(write(z), z.Close())
		}
	case PackedEnd:
	}
	return func(w io.Writer) error {
		z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err != nil {
			return err
		}
		return errors.Join(write(z), z.Close())
	}
}

// StreamFile is WriteFile for the output of a function, so that a recording need not be in memory.
func StreamFile(path string, write func(io.Writer) error) error {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	var err error
	if info, statErr := os.Stat(path); statErr == nil && !info.Mode().IsRegular() {
		err = writeInto(path, write)
	} else {
		err = replaceFile(path, write)
	}
	if err != nil {
		return fmt.Errorf("%s: not written: %w", path, err)
	}
	return nil
}

// writeInto writes to something that is no regular file.
func writeInto(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if err = buffered(f, write); err != nil {
		_ = f.Close() // the first error counts
		return Cause(err)
	}
	return f.Close()
}

// buffered lets write write to f in large pieces.
func buffered(f *os.File, write func(io.Writer) error) error {
	w := bufio.NewWriterSize(f, 64<<10)
	if err := write(w); err != nil {
		return err
	}
	return w.Flush()
}

// replaceFile replaces path by a file with the output of write.
func replaceFile(path string, write func(io.Writer) error) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".rlcheck-*")
	if err != nil {
		return Cause(err)
	}
	defer os.Remove(tmp.Name())
	err = buffered(tmp, write)
	if err == nil {
		err = tmp.Chmod(0o644)
	}
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	return Cause(err)
}

// OutputExists tells whether something has that name.
func OutputExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// The most bytes of files that are read whole. MostSmall is for certificates and manifests.
const (
	MostSmall  = 1 << 20
	MostKeys   = 64 << 20
	MostReport = 64 << 20
)

// ReadFile is os.ReadFile for a file of at most `most` bytes. It reads no more of one that does not end, such
// as a device.
func ReadFile(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		return nil, fmt.Errorf("the file is larger than %d MiB, or has no end", most>>20)
	}
	return text, err
}
