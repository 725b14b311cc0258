package accesslog

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// onDisk makes files in the folder of a test.
func onDisk(t testing.TB, made *int) func() (timeline.Spill, error) {
	return func() (timeline.Spill, error) {
		*made++
		return os.CreateTemp(t.TempDir(), "spill")
	}
}

// logLine is a line of JSON for a request that ended at the millisecond end and took took milliseconds.
func logLine(end, took int) string {
	return fmt.Sprintf(`{"time_iso8601":"%s","request_time":"%d.%03d","status":"200","remote_addr":"10.0.0.%d"}`+"\n",
		time.UnixMilli(1_800_000_000_000+int64(end)).UTC().Format("2006-01-02T15:04:05-07:00"), took/1000,
		took%1000, end%3)
}

var jsonOptions = Options{Format: NginxJSON}

// TestOrderOfAnyDisorder: whatever the order of the lines, requests come in the order of their beginnings,
// and every reading of the log gives the same.
func TestOrderOfAnyDisorder(t *testing.T) {
	for round := range 60 {
		rng := rand.New(rand.NewPCG(11, uint64(round)))
		var text bytes.Buffer
		end := 0
		for range 200 {
			end += rng.IntN(50)
			text.WriteString(logLine(end-rng.IntN(1+round*round), rng.IntN(1+round*40)))
		}
		l, err := Read(&text, "x", jsonOptions)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		tl := l.Timeline()
		if len(tl.Observations) != 200 || !slices.IsSortedFunc(tl.Observations, timeline.BySent) {
			t.Errorf("round %d: got %d requests, or not in their order", round, len(tl.Observations))
		}
		if !reflect.DeepEqual(tl, l.Timeline()) {
			t.Errorf("round %d: the second reading gives others", round)
		}
	}
}

// TestALongLogIsInAFile: of a long log, some thousand requests are held in memory. Without a place for files,
// it is read all the same. An error of a file is no end of the log.
func TestALongLogIsInAFile(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	var text bytes.Buffer
	const n = 100_000
	for i := range n {
		text.WriteString(logLine(i*10, i*37%500)) // up to fifty in flight
	}
	live := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	made := 0
	o := jsonOptions
	o.Spill = onDisk(t, &made)
	before := live()
	l, err := Read(bytes.NewReader(text.Bytes()), "x", o)
	if err != nil {
		t.Fatal(err)
	}
	held, k := live()-before, 0
	if err := l.Each(func(*timeline.Observation) bool { k++; return true }); err != nil || k != n {
		t.Errorf("got %d requests, %v", k, err)
	}
	if made == 0 || held > 2<<20 {
		t.Errorf("%d files; held %d bytes", made, held)
	}
	l.Close()
	if err := l.Each(func(*timeline.Observation) bool { return true }); err == nil {
		t.Error("a file that was closed gave everything")
	}
	o.Spill = func() (timeline.Spill, error) { return nil, os.ErrPermission }
	if l, err = Read(bytes.NewReader(text.Bytes()), "x", o); err != nil || l.Len() != n {
		t.Errorf("without files: %v", err)
	}
	o.Spill = func() (timeline.Spill, error) { return full{}, nil }
	if _, err = Read(bytes.NewReader(text.Bytes()), "x", o); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a full disk: got %v", err)
	}
}

// full is a file that cannot be written to.
type full struct{ *os.File }

func (full) Write([]byte) (int, error)         { return 0, os.ErrClosed }
func (full) ReadAt([]byte, int64) (int, error) { return 0, os.ErrClosed }
func (full) Close() error                      { return nil }
