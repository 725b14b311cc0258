package timeline

import (
	"bytes"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// journal is a journal with two marks. At the first, three requests are over and one is open. At the second,
// that one is over too.
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
	entry := func(seq int, sent, first time.Duration, open int) *JournalEntry {
		e := &JournalEntry{Free: seq < 0, Open: open}
		e.Arrival = Arrival{Seq: seq, Partition: "k", Phase: "p", At: sent, Cost: 1}
		e.Sent, e.Error = sent, Interrupted
		if first > 0 {
			e.FirstByte, e.Answered, e.Status, e.Outcome, e.Error = first, true, 200, Allowed, ""
			e.Body, e.Fields = `secret ,"open":7`, Fields{{Name: "Via", Value: "a secret"}}
		}
		return e
	}
	w.Entry(entry(-1, 30, 40, 0))
	w.Entry(entry(1, 20, 50, 0))
	w.Entry(entry(-1, 10, 60, 0))
	w.Entry(entry(0, 5, 0, 1))
	if err := w.Mark(JournalMark{At: 100, Stalls: []Stall{{From: 50, To: 90}},
		Notes: []string{"one secret"}}); err != nil {
		t.Fatal(err)
	}
	w.Entry(entry(0, 5, 150, 1))
	w.Entry(entry(2, 120, 160, 0))
	mark := JournalMark{At: 200, Spreads: []Spread{{Phase: "p", Requests: 2, Width: 7}},
		Notes: []string{"two"}}
	if err := w.Mark(mark); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestJournalIsReadToItsLastMark: whatever is cut off at its end, all that comes before the last mark is
// read.
func TestJournalIsReadToItsLastMark(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	text := journal(t)
	first := bytes.Index(text, []byte("\n{\"mark\":100")) + 1
	firstEnd := first + bytes.IndexByte(text[first:], '\n')
	for n := 0; n <= len(text); n++ {
		tl, err := ReadJournal(bytes.NewReader(text[:n]), "j", 1000, ndjsonTempFile(t))
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
		case n >= len(text)-1: // the mark is whole even without its line end
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

// TestJournalHasWhatAHeaderNeeds: a journal's header is checked as that of a whole recording, and shows no
// secret.
func TestJournalHasWhatAHeaderNeeds(t *testing.T) {
	text := journal(t)
	tl, err := ReadJournal(bytes.NewReader(text), "j", 1000, ndjsonTempFile(t))
	if err != nil || bytes.Contains(text, []byte("secret")) {
		t.Fatalf("%v, %s", err, text)
	}
	want := Header{Started: time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC), WallError: time.Second,
		DriftPPM: 200, Tick: time.Millisecond, CompleteFrom: 1, Ended: 200,
		Spreads: []Spread{{Phase: "p", Requests: 2, Width: 7}}, Stalls: []Stall{{From: 50,
			To: 90}}, Interrupted: true,
		Notes: []string{"one REDACTED", "two",
			"the recording is cut: it ends at 0s, when 0 requests had no answer yet"}}
	if d := cmp.Diff(want, tl.Header); d != "" {
		t.Error(d)
	}
	var b bytes.Buffer
	if err := Write(&b, tl); err != nil {
		t.Fatal(err)
	}
	again, err := Read(&b, "t", ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(tl, again); d != "" {
		t.Errorf("written and read again: %s", d)
	}
}

// TestJournalIsNotReadOverDamage: damage before a mark is not taken for a cut.
func TestJournalIsNotReadOverDamage(t *testing.T) {
	text := string(journal(t))
	last := text[strings.LastIndex(text, `{"mark"`):]
	lines := strings.SplitAfter(text, "\n")
	at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, `{"seq":1,`) })
	open := slices.IndexFunc(lines, func(l string) bool {
		return !strings.HasPrefix(l, `{"seq":-1`) && strings.Contains(l, `"open":`)
	})
	for name, bad := range map[string]string{
		"no JSON":        strings.Replace(text, `{"seq":1,`, `{"seq":1`, 1),
		"time runs back": strings.Replace(text, `"first_byte_ns":50`, `"first_byte_ns":5`, 1),
		"marks descend":  strings.Replace(text, `{"mark":200`, `{"mark":20`, 1) + last,
		"other version":  strings.Replace(text, "journal/v1", "journal/v9", 1),
		"a number twice": strings.Replace(text, lines[at], lines[at]+lines[at], 1),
		"no planned one": strings.Replace(text, `{"seq":1,`, `{"seq":1000,`, 1),
		"changes its number": strings.Replace(text, lines[open],
			regexp.MustCompile(`"seq":\d+`).ReplaceAllString(lines[open], `"seq":3`), 1),
		"a timeline": strings.Replace(text, "journal/v1", "timeline/v1", 1),
	} {
		var problems Errors
		tl, err := ReadJournal(strings.NewReader(bad), "j", 1000, ndjsonTempFile(t))
		if !errors.As(err, &problems) || tl != nil {
			t.Errorf("%s: got %v, %v", name, tl, err)
		}
	}
	_, err := Read(strings.NewReader(text), "j", ReadOptions{})
	if err == nil || !strings.Contains(err.Error(), "killed run") {
		t.Errorf("as a timeline: got %v", err)
	}
}

// ndjsonTempFile creates the files for long recordings.
func ndjsonTempFile(t *testing.T) func() (Spill, error) {
	return func() (Spill, error) { return os.CreateTemp(t.TempDir(), "spool") }
}

// TestALongJournalIsInAFile: a recording that does not fit into memory is the same from a file. If the file
// cannot be made, that is an error and no shorter recording.
func TestALongJournalIsInAFile(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	var b bytes.Buffer
	w := NewJournal(&b, nil)
	all := benchTimeline(5000).Observations
	err := w.Begin(Header{Started: time.Unix(1_800_000_000, 0).UTC()}, 40_000)
	for i, o := range all {
		if at := i + 7 - 2*(i%8); at < len(all) { // not in the order in which they were sent
			o = all[at]
		}
		if o.Answered {
			o.Done = 0
		}
		w.Entry(&JournalEntry{Observation: o})
		if i%500 == 499 {
			err = errors.Join(err, w.Mark(JournalMark{At: time.Duration(i) * time.Second}))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	short, err := ReadJournal(bytes.NewReader(b.Bytes()), "j", 5000, ndjsonTempFile(t))
	if err != nil || len(short.Observations) != 5000 || short.Spool != nil {
		t.Fatalf("got %d observations, %v", len(short.Observations), err)
	}
	long, err := ReadJournal(bytes.NewReader(b.Bytes()), "j", 4999, ndjsonTempFile(t))
	if err != nil || long.Spool == nil || len(long.Observations) != 4999/4 {
		t.Fatalf("got %v, and %d observations in memory", err, len(long.Observations))
	}
	var got []Observation
	for o := range long.All() {
		got = append(got, *o)
	}
	same(t, &Timeline{Header: short.Header, Observations: got}, short)
	long.Spool.Close()
	none := errors.New("no room")
	open := func() (Spill, error) { return nil, none }
	text := slices.Clone(b.Bytes()[:bytes.IndexByte(b.Bytes(), '\n')+1]) // its header
	for i := range 8 {
		for _, o := range benchTimeline(5000).Observations {
			o.Seq += 5000 * i
			text = append(appendObservation(text, &o, nil), '\n')
		}
	}
	text = append(text, `{"mark":9000000000000}`+"\n"...)
	if tl, err := ReadJournal(bytes.NewReader(text), "j", 100, open); !errors.Is(err, none) || tl != nil {
		t.Errorf("got %v, want that there is no room", err)
	}
}

// largestWrite is the largest number of bytes written at once.
type largestWrite int

func (l *largestWrite) Write(b []byte) (int, error) {
	*l = max(*l, largestWrite(len(b)))
	return len(b), nil
}

// TestAJournalHoldsLittle: what lies between two marks is written as it comes.
func TestAJournalHoldsLittle(t *testing.T) {
	var most largestWrite
	w := NewJournal(&most, nil)
	for range 10_000 {
		w.Entry(&JournalEntry{Observation: Observation{Arrival: Arrival{Partition: "k", Cost: 1}}})
	}
	if err := w.Mark(JournalMark{At: 1}); err != nil || most == 0 || most > 2*flushAt {
		t.Errorf("got %v, and %d bytes at once, want at most %d", err, most, 2*flushAt)
	}
}
