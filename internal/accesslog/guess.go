package accesslog

import (
	"bytes"
	"time"
)

// Guess returns the format whose default layout reads the first line of a log, which begin has whole; empty
// where none does, or a log has another layout.
func Guess(begin []byte) Format {
	line := begin[:bytes.IndexByte(begin, '\n')+1]
	for _, f := range Formats() {
		l, err := Read(bytes.NewReader(line), "", Options{Format: f, PartitionBy: "none",
			MaxDuration: time.Minute})
		if err == nil && l.Len() == 1 {
			return f
		}
	}
	return ""
}
