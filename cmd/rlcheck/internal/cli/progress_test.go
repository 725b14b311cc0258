package cli

import (
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rlcheck/rlcheck/internal/load"
)

// screen is a terminal that keeps what was written, one line for each write.
type screen struct {
	mu    sync.Mutex
	lines []string
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, strings.TrimPrefix(string(p), "\r\x1b[2K"))
	return len(p), nil
}

func TestProgressLineFitsAnyWidth(t *testing.T) {
	for columns := -1; columns < 300; columns++ {
		var s screen
		c := openConsole(&s, func() int { return columns })
		line := "1/2 burst [=>--] öl: " + strings.Repeat("7", 300)
		c.WriteString(line + "\nsecond\n")
		if width, height, err := c.GetTermSize(); width < leastColumns || height < 1 || err != nil {
			t.Fatalf("%d columns: mpb is told %dx%d, %v", columns, width, height, err)
		}
		if err := c.Flush(-1); err != nil {
			t.Fatal(err)
		}
		close(c.frames)
		<-c.done
		if got, want := utf8.RuneCountInString(s.lines[0]), max(columns-1, 0); got != want {
			t.Fatalf("%d columns: got a line of %d, want %d: %q", columns, got, want, s.lines[0])
		}
		if last := s.lines[len(s.lines)-1]; last != "" {
			t.Fatalf("%d columns: the last frame is %q, want it wiped", columns, last)
		}
	}
}

func TestProgressText(t *testing.T) {
	columns := 80
	narrow := &console{columns: func() int { return columns }}
	m := &Meter{lasts: time.Hour, after: time.Minute, console: narrow}
	if got := m.text(); got != "connecting" {
		t.Errorf("before the first answer: got %q", got)
	}
	m.seen.Store(&load.Progress{Allowed: 1, Denied: 2, Unknown: 3, Phase: "öl\x1b[2J"})
	for at, want := range map[int]string{40: "1+2, 1h1m0s left",
		80: "1 allowed, 2 denied, 3 unknown, 1h1m0s left"} {
		columns, m.widest = at, 0
		if got := m.text(); got != want {
			t.Errorf("%d columns: got %q, want %q", at, got, want)
		}
	}
	const want = "1 allowed, 2 denied, 3 unknown, late 0s, 1h1m0s left"
	columns = 100
	got := m.text()
	if !strings.HasPrefix(got, "öl") || strings.ContainsRune(got, '\x1b') || !strings.HasSuffix(got, want) {
		t.Errorf("100 columns: got %q", got)
	}
}

// broken is a terminal whose writes do what the test says.
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
		columns := func() int { return int(size.Add(40)%200) - 1 }
		m := startMeter(write, name, 0, 0, columns)
		for sent := range 50 {
			m.Update(load.Progress{Sent: sent, Planned: 40})
		}
		m.Stop() // the test is that it returns
	}
	var none *Meter
	none.Update(load.Progress{})
	none.Stop()
}

// TestACrowdStopsWhatCannotBeJudged: a run ends if nearly no scenario has an admission or a denial, and not
// because some ask for routes of their own.
func TestACrowdStopsWhatCannotBeJudged(t *testing.T) {
	lost, heard := load.Progress{Unknown: 40}, load.Progress{Allowed: 1, Unknown: 39}
	for _, x := range []struct {
		name string
		seen []load.Progress
		want bool
	}{
		{"nothing is judged", []load.Progress{lost, lost, lost}, true},
		{"few answers yet", []load.Progress{lost, lost}, false},
		{"one scenario", []load.Progress{{Unknown: 1000}}, false},
		{"one in four is judged", []load.Progress{lost, lost, lost, heard}, false},
		{"one in five is judged", []load.Progress{lost, lost, lost, lost, heard}, true},
		{"denials are answers", []load.Progress{lost, lost, lost, {Denied: 7}}, false},
	} {
		stopped := false
		c := NewCrowd(nil, 1000, len(x.seen), func() { stopped = true })
		for i, p := range x.seen[1:] {
			c.seen[x.name+string(rune('a'+i))] = p
		}
		if c.Update(x.name, x.seen[0]); stopped != x.want {
			t.Errorf("%s: stopped = %v, want %v", x.name, stopped, x.want)
		}
	}
}
