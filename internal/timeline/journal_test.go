package timeline

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// journal is one of two marks: three requests are over and one is open at the first, which is over at the
// second.
func journal(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewJournal(&b, strings.NewReplacer("secret", "REDACTED").Replace)
	w.DriftPPM, w.CompleteFrom = 200, 1
	started := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	h := Header{Started: started, WallError: time.Second, Tick: time.Millisecond}
	if err := w.Begin(h, 10); err != nil {
		t.Fatal(err)
	}
	entry := func(seq int, sent, first time.Duration, open int) *Entry {
		e := &Entry{Free: seq < 0, Open: open}
		e.Arrival = Arrival{Seq: seq, Partition: "k", Phase: "p", At: sent, Cost: 1}
		e.Sent, e.Error = sent, Interrupted
		if first > 0 {
			e.FirstByte, e.Answered, e.Status, e.Outcome, e.Error = first, true, 200, Allowed, ""
			e.Body, e.Fields = `secret ,"open":7`, Fields{{"Via", "a secret"}}
		}
		return e
	}
	w.Entry(entry(-1, 30, 40, 0))
	w.Entry(entry(1, 20, 50, 0))
	w.Entry(entry(-1, 10, 60, 0))
	w.Entry(entry(0, 5, 0, 1))
	if err := w.Mark(Mark{At: 100, Stalls: []Stall{{50, 90}}, Notes: []string{"one secret"}}); err != nil {
		t.Fatal(err)
	}
	w.Entry(entry(0, 5, 150, 1))
	w.Entry(entry(2, 120, 160, 0))
	mark := Mark{At: 200, Spreads: []Spread{{"p", 2, 7}}, Notes: []string{"two"}}
	if err := w.Mark(mark); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestJournalIsReadToItsLastMark: whatever is cut off at its end, all that stands before the last mark is
// read.
func TestJournalIsReadToItsLastMark(t *testing.T) {
	text := journal(t)
	first := bytes.Index(text, []byte("\n{\"mark\":100")) + 1
	firstEnd := first + bytes.IndexByte(text[first:], '\n')
	for n := 0; n <= len(text); n++ {
		tl, err := ReadJournal(bytes.NewReader(text[:n]), "j")
		if err != nil {
			t.Fatalf("cut at %d of %d: %v", n, len(text), err)
		}
		var ended time.Duration
		var seqs []int
		open := 0
		for _, o := range tl.Observations {
			seqs = append(seqs, o.Seq)
			if !o.Answered {
				open++
			}
		}
		ended = tl.Header.Ended
		want, wantEnded, wantOpen := []int(nil), time.Duration(0), 0
		switch {
		case n >= len(text)-1: // without its line end the mark is whole
			want, wantEnded = []int{0, 10, 1, 11, 2}, 200
		case n >= firstEnd:
			want, wantEnded, wantOpen = []int{0, 10, 1, 11}, 100, 1
		}
		d := cmp.Diff(want, seqs)
		if d != "" || ended != wantEnded || open != wantOpen || !tl.Header.Interrupted {
			t.Fatalf("cut at %d: got %v until %v, %d open: %s", n, seqs, ended, open, d)
		}
	}
}

// TestJournalHasWhatAHeaderNeeds: it is as careful as that of a whole recording, and shows no secret.
func TestJournalHasWhatAHeaderNeeds(t *testing.T) {
	text := journal(t)
	tl, err := ReadJournal(bytes.NewReader(text), "j")
	if err != nil || bytes.Contains(text, []byte("secret")) {
		t.Fatalf("%v, %s", err, text)
	}
	want := Header{Started: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC), WallError: time.Second,
		DriftPPM: 200, Tick: time.Millisecond, CompleteFrom: 1, Ended: 200,
		Spreads: []Spread{{"p", 2, 7}}, Stalls: []Stall{{50, 90}}, Interrupted: true,
		Notes: []string{"one REDACTED", "two",
			"the recording is cut: it ends at 0s, when 0 requests had no answer yet"}}
	if d := cmp.Diff(want, tl.Header); d != "" {
		t.Error(d)
	}
	var b bytes.Buffer
	if err := Write(&b, tl); err != nil {
		t.Fatal(err)
	}
	again, err := Read(&b, "t", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(tl, again); d != "" {
		t.Errorf("written and read again: %s", d)
	}
}

// TestJournalIsNotReadOverDamage: what is broken before a mark is no cut.
func TestJournalIsNotReadOverDamage(t *testing.T) {
	text := string(journal(t))
	last := text[strings.LastIndex(text, `{"mark"`):]
	for name, bad := range map[string]string{
		"no JSON":        strings.Replace(text, `{"seq":1,`, `{"seq":1`, 1),
		"time runs back": strings.Replace(text, `"first_byte_ns":50`, `"first_byte_ns":5`, 1),
		"marks descend":  strings.Replace(text, `{"mark":200`, `{"mark":20`, 1) + last,
		"other version":  strings.Replace(text, "journal/v1", "journal/v9", 1),
		"a timeline":     strings.Replace(text, "journal/v1", "timeline/v1", 1),
	} {
		var problems Errors
		if tl, err := ReadJournal(strings.NewReader(bad), "j"); !errors.As(err, &problems) || tl != nil {
			t.Errorf("%s: got %v, %v", name, tl, err)
		}
	}
	_, err := Read(strings.NewReader(text), "j", Options{})
	if err == nil || !strings.Contains(err.Error(), "killed run") {
		t.Errorf("as a timeline: got %v", err)
	}
}
