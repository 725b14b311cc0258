package main

import (
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rlcheck/rlcheck/internal/load"
)

func TestProgressLineFitsAnyWidth(t *testing.T) {
	for columns := -1; columns < 300; columns++ {
		m := &meter{label: "1/2 burst", lasts: time.Hour, after: time.Minute}
		large := &load.Progress{Sent: 1 << 40, Planned: 1 << 41, Allowed: 1 << 40, Phase: "öl\x1b[2J"}
		for _, p := range []*load.Progress{nil, {}, {Sent: 7, Planned: 5}, large, {}} {
			m.seen.Store(p)
			line := m.line(columns)
			if n := utf8.RuneCountInString(line); n > max(columns, 0) || strings.ContainsRune(line, '\x1b') {
				t.Fatalf("%d columns: got %d, %q", columns, n, line)
			}
			if columns > 200 && p != nil && !strings.HasPrefix(line, "1/2 burst [") {
				t.Fatalf("%d columns: got %q", columns, line)
			}
		}
	}
}

// broken is a terminal on which every write does what a test wants.
type broken func() error

func (b broken) Write(p []byte) (int, error) { return len(p), b() }

func TestNoTerminalCostsARecording(t *testing.T) {
	never := make(chan struct{})
	defer close(never)
	var size atomic.Int64
	for name, write := range map[string]broken{
		"panics":        func() error { panic("a display that is broken") },
		"fails":         func() error { return io.ErrClosedPipe },
		"takes in":      func() error { return nil },
		"takes no more": func() error { <-never; return errors.New("it was closed") },
	} {
		columns := func() int { return int(size.Add(40) % 200) }
		m := startMeter(&meter{out: write, label: name, columns: columns})
		m.update(load.Progress{Sent: 1, Planned: 2})
		m.stop() // it returns: that is the test
	}
	var none *meter
	none.update(load.Progress{})
	none.stop()
}
