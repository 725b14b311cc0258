package accesslog

import (
	"bytes"
	"time"
)

// Guess returns the format whose default layout reads the first line of a log. begin has that line whole.
// Empty: no format reads it, or the log has another layout.
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
