package accesslog

import (
	"bytes"
	"time"
)

// Guess returns the format whose default layout reads the beginning of a log. Empty: no format reads it, or
// the log has another layout.
func Guess(begin []byte) Format {
	lines := begin[:bytes.LastIndexByte(begin, '\n')+1]
	for _, f := range Formats() {
		l, err := Read(bytes.NewReader(lines), "", Options{Format: f, PartitionBy: "none",
			MaxDuration: time.Minute})
		if err == nil && l.Len() > 0 && l.Skipped == 0 {
			return f
		}
	}
	return ""
}
