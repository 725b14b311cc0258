package accesslog

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// surveyed reads a log in two passes.
func surveyed(t testing.TB, text []byte, o Options) (*Log, []timeline.Observation, error) {
	t.Helper()
	l, err := Survey([]File{{"x", bytes.NewReader(text)}}, o)
	if err != nil {
		return nil, nil, err
	}
	var got []timeline.Observation
	err = l.Each(func(o *timeline.Observation) bool { got = append(got, *o); return true })
	return l, got, err
}

// equalToRead checks that two passes read a log as one pass does. It tells whether the log could be read.
func equalToRead(t testing.TB, text []byte, o Options) bool {
	t.Helper()
	want, wantErr := Read(bytes.NewReader(text), "x", o)
	l, got, err := surveyed(t, text, o)
	if wantErr != nil || err != nil {
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("got %v, want %v", err, wantErr)
		}
		return false
	}
	if !reflect.DeepEqual(got, want.Timeline().Observations) {
		t.Errorf("got other observations when it was read again")
	}
	bare := *l
	bare.again, bare.records, bare.names = nil, want.records, want.names
	if !reflect.DeepEqual(&bare, want) {
		t.Errorf("got %+v, want %+v", bare, want)
	}
	return true
}

func TestALogReadTwiceIsThatReadOnce(t *testing.T) {
	for _, c := range samples {
		text, err := os.ReadFile(filepath.Join("testdata", c.file+".log"))
		if err != nil {
			t.Fatal(err)
		}
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		z.Write(text)
		z.Close()
		o := c.o
		for _, o.SkipBad = range []bool{false, true} {
			equalToRead(t, text, o)
			equalToRead(t, packed.Bytes(), o)
			equalToRead(t, text[:len(text)-9], o)
		}
	}
}

// logLine is a line of JSON for a request that ended at the millisecond end and took took milliseconds.
func logLine(end, took int) string {
	return fmt.Sprintf(`{"time_iso8601":"%s","request_time":"%d.%03d","status":"200","remote_addr":"10.0.0.%d"}`+"\n",
		time.UnixMilli(1_800_000_000_000+int64(end)).UTC().Format("2006-01-02T15:04:05-07:00"), took/1000,
		took%1000, end%3)
}

var jsonOptions = Options{Format: NginxJSON}

// TestOrderOfAnyDisorder: whatever the order of the lines, requests come in the order of their beginnings.
func TestOrderOfAnyDisorder(t *testing.T) {
	for round := range 60 {
		rng := rand.New(rand.NewPCG(11, uint64(round)))
		var text bytes.Buffer
		end := 0
		for range 200 {
			end += rng.IntN(50)
			text.WriteString(logLine(end-rng.IntN(1+round*round), rng.IntN(1+round*40)))
		}
		if !equalToRead(t, text.Bytes(), jsonOptions) {
			t.Fatalf("round %d: the log cannot be read", round)
		}
	}
}

// TestALogThatChanges: lines appended between the passes are left out. Other changes are reported.
func TestALogThatChanges(t *testing.T) {
	lines := ""
	for i := range 50 {
		lines += logLine(i*100, i*7%90)
	}
	name := filepath.Join(t.TempDir(), "access.log")
	for _, c := range []struct {
		name, after string
		changed     bool
	}{
		{"nothing", lines, false},
		{"more behind", lines + logLine(9999, 5) + "{", false},
		{"one earlier", logLine(0, 0) + logLine(-100_000, 0) + lines, true},
		{"shorter", lines[:len(lines)/2], true},
		{"no log", "{}\n" + lines, true},
	} {
		if err := os.WriteFile(name, []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		l, err := Survey([]File{{name, file}}, jsonOptions)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(c.after), 0o600); err != nil {
			t.Fatal(err)
		}
		n := 0
		err = l.Each(func(*timeline.Observation) bool { n++; return true })
		var errs timeline.Errors
		if c.changed && !errors.As(err, &errs) || !c.changed && (err != nil || n != 50) {
			t.Errorf("%s: got %d requests, %v", c.name, n, err)
		}
		file.Close()
	}
	l, err := Survey([]File{{"x", bytes.NewReader([]byte(lines))}}, jsonOptions)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := l.Each(func(*timeline.Observation) bool { n++; return n < 7 }); err != nil || n != 7 {
		t.Errorf("stopped after %d, %v, want 7", n, err)
	}
}

// TestInFlightHoldsNoMore: of a long log, only the requests in flight are held in memory.
func TestInFlightHoldsNoMore(t *testing.T) {
	var text bytes.Buffer
	const n = 100_000
	for i := range n {
		text.WriteString(logLine(i*10, i*37%500)) // up to fifty in flight
	}
	l, err := Survey([]File{{"x", bytes.NewReader(text.Bytes())}}, jsonOptions)
	if err != nil {
		t.Fatal(err)
	}
	live := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, most, k := live(), int64(0), 0
	err = l.Each(func(*timeline.Observation) bool {
		if k++; k%20_000 == 0 {
			most = max(most, live()-before)
		}
		return true
	})
	if err != nil || k != n || most > 1<<20 || l.records != nil {
		t.Errorf("%d requests, %v; held up to %d bytes and %d records", k, err, most, len(l.records))
	}
}
