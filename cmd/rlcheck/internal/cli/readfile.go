package cli

import (
	"fmt"
	"io"
	"os"
)

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
