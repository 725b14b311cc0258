package scenario

import (
	"fmt"
	"io"
	"io/fs"
	"os"
)

// maxSize is the largest size of a scenario file in bytes.
const maxSize = 1 << 20

// ReadFile returns the content of a scenario file. It refuses a file that is not regular or too large with a
// Problem, before it reads anything. Other errors are those of the operating system, with the path in them.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, Problem{File: path, What: describeMode(info.Mode()), Why: "a scenario is a regular file"}
	}
	if p, bad := oversized(info.Size(), path); bad {
		return nil, p
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxSize+1)) // it may have grown since
	if err != nil {
		return nil, err
	}
	if p, bad := oversized(int64(len(src)), path); bad {
		return nil, p
	}
	return src, nil
}

// oversized refuses a file by its size.
func oversized(size int64, name string) (Problem, bool) {
	if size <= maxSize {
		return Problem{}, false
	}
	return Problem{File: name, What: fmt.Sprintf("%d bytes", size),
		Why: fmt.Sprintf("a scenario file has at most %d", maxSize)}, true
}

// describeMode says what a file is if it is not regular.
func describeMode(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	default:
		return "a device"
	}
}
