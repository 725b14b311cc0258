package cli

import (
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// mostWindow is the most memory that the window of a file may take.
const mostWindow = 8 << 20

func init() { timeline.RegisterZstd(timeline.Zstd{Reader: unpacker, Flaw: flaw}) }

// unpacker unpacks one block at a time, so it needs no goroutine, and nothing that must be closed.
func unpacker(r io.Reader) (io.Reader, error) {
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(mostWindow))
}

// packWindow is how far back the compressor looks: some seventy lines. With a window of 4 MiB it takes twice
// the time. Its file is then a fifth larger, as the place of a repetition takes more bits.
const packWindow = 32 << 10

// packer compresses lines into w. Close does not close w. A line of a recording takes some 21 bytes and 0.4
// us. With its own goroutines, the compressor would take half as much time again.
func packer(w io.Writer) (io.WriteCloser, error) {
	return zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(packWindow),
		zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
}

func flaw(err error) (what, why, mend string) {
	switch {
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return "the compressed data", "it needs more memory than 8 MiB", "zstd -dc FILE | rlcheck check -"
	case errors.Is(err, zstd.ErrMagicMismatch):
		return "end of the compressed data", "what follows it is not zstd", "copy it again"
	case errors.Is(err, zstd.ErrCRCMismatch):
		return "the compressed data", "its checksum is wrong: the file is damaged", "copy it again"
	}
	return "", "", ""
}
