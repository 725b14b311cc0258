package accesslog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFormatsAreGuessed: the lines of a sample show its format, unless its layout is the user's own. No
// recording is taken for a log.
func TestFormatsAreGuessed(t *testing.T) {
	logs, err := filepath.Glob(filepath.Join("testdata", "*.log"))
	if err != nil || len(logs) < len(Formats()) {
		t.Fatal(logs, err)
	}
	for _, path := range logs {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".log")
		want := Format("")
		for _, f := range Formats() {
			if strings.HasPrefix(name, string(f)) && !strings.HasSuffix(name, "-own") {
				want = f // the longest name: nginx-json is not nginx
			}
		}
		if got := Guess(text); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	for _, line := range []string{"", "\n", "{}\n", "sent_ns,status\n", "127.0.0.1 - - [23/Nov",
		`{"rlcheck":"timeline/v1"}` + "\n", `{"sent_ns":1021,"status":200}` + "\n"} {
		if got := Guess([]byte(line)); got != "" {
			t.Errorf("%q: got %q, want none", line, got)
		}
	}
}
