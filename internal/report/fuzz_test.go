package report

import (
	"bytes"
	"io"
	"testing"
)

// FuzzKeptReport: whatever stands in a report.json, it is refused, or every format can be written of it, and
// the report that is written is read again.
func FuzzKeptReport(f *testing.F) {
	for _, r := range SampleRuns(f) {
		var b bytes.Buffer
		if err := Write(&b, "json", r, Options{}); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Add([]byte(`{"schema":"rlcheck.report/v1","scenarios":[{"id":"a","verdict":"fail","limit":"x"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := ReadDocument(bytes.NewReader(text))
		if err != nil {
			return
		}
		var again bytes.Buffer
		for _, format := range Formats() {
			w := io.Discard
			if format == "json" {
				w = &again
			}
			_ = Write(w, format, r, Options{}) // a format that needs a recording says so
		}
		if _, err := ReadDocument(&again); again.Len() > 0 && err != nil {
			t.Errorf("written again it is refused: %v", err)
		}
	})
}
