package accesslog

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// fuzzed are the options that are fuzzed: those of the samples, and the same with lines skipped.
func fuzzed(i uint8) Options {
	o := samples[int(i)%len(samples)].o
	o.SkipBad = i >= 128
	return o
}

// FuzzRead: no text makes a reader panic. It is refused with the number of a line in the file, or all of its
// lines are accounted for.
func FuzzRead(f *testing.F) {
	for i, c := range samples {
		text, err := os.ReadFile(filepath.Join("testdata", c.file+".log"))
		if err != nil {
			f.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			f.Add(uint8(i), line)
		}
		f.Add(uint8(i)+120, text)
	}
	for _, c := range edgeCases {
		for i, s := range samples {
			if s.o.Format == c.o.Format {
				f.Add(uint8(i), []byte(c.line))
			}
		}
	}
	f.Fuzz(func(t *testing.T, i uint8, log []byte) {
		l, err := Read(bytes.NewReader(log), "x", fuzzed(i))
		if err == nil {
			sound(t, l)
			return
		}
		var bad *text.Problem
		if errors.As(err, &bad) { // the first line shows that the log cannot have a field
			return
		}
		var errs timeline.Errors
		if !errors.As(err, &errs) || len(errs) == 0 || len(errs) > 10 {
			t.Fatalf("got %v", err)
		}
		for _, e := range errs {
			if e.Line < 1 || e.Line > bytes.Count(log, []byte("\n"))+1 &&
				!bytes.HasPrefix(log, []byte{0x1f, 0x8b}) || e.What == "" || e.Why == "" {
				t.Fatalf("got %+v", e)
			}
		}
	})
}

// FuzzLayout: no log_format and no format string makes a reader panic.
func FuzzLayout(f *testing.F) {
	for _, c := range []string{nginxCombined, nginxMain, envoyDefault, envoyIstio, "${status}|$msec",
		"%START_TIME(%s.%3f)% %RESPONSE_CODE%", "$$", "%%", "%(%", "${", "$msec $status"} {
		f.Add(c, "10.0.0.1 200 1795168807.900")
		f.Add(c, "0.1 200")
	}
	f.Fuzz(func(t *testing.T, format, line string) {
		for _, server := range []Format{Nginx, Envoy} {
			l, err := Read(bytes.NewReader([]byte(line+"\n")), "x",
				Options{Format: server, Layout: format, PartitionBy: "none", MaxDuration: time.Second})
			if err == nil {
				sound(t, l)
			}
		}
	})
}

// FuzzMoment: a time that is read lies in the centuries that a timeline can hold.
func FuzzMoment(f *testing.F) {
	for _, c := range []string{"2026-11-20T10:00:00.123Z", "2026/11/20 10:00:00",
		"20/Nov/2026:10:00:00 +0530", "25/Oct/2026:02:30:00.500", "1795168807.9", "0", "9999999999999999999",
		"1e300", "1.5ms", "-1"} {
		f.Add([]byte(c))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		check := func(what string, m moment, ok bool) {
			if ok && (m.ns < -second*3600*48 || m.ns > farthest+second*86400*400 || m.step < 1 ||
				m.step > second) {
				t.Errorf("%s %q: got %+v", what, b, m)
			}
		}
		m, _, ok := calendar(b, time.UTC)
		check("calendar", m, ok)
		for _, unit := range []int64{1, millisecond, second} {
			m, ok = decimal(b, unit)
			check("decimal", m, ok)
		}
		for _, unit := range []int64{1, millisecond, second} {
			if m, ok := duration(b, unit); ok && (m.ns < 0 || m.ns > farthest+second) {
				t.Errorf("duration %q: got %d", b, m.ns)
			}
		}
		m, _, ok = instant(b, time.UTC)
		check("instant", m, ok)
	})
}
