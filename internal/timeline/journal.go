package timeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// journalVersion is the value of the member "rlcheck" of the first line of a journal.
const journalVersion = "journal/v1"

// JournalWriter writes the journal of a recording while it is made, so that the recording survives a killed
// program. A journal is NDJSON:
//
//	{"rlcheck":"journal/v1","started":...,"free":12}    the header as far as it is known at the start
//	{"seq":3,...,"outcome":"allowed"}                   a request that is over, in the order of their ends
//	{"seq":-1,...,"outcome":"unknown","open":1}         one that waits for its answer at the mark
//	{"mark":250000000,"stalls":[...]}                   all that was decided before this instant stands
//	                                                    above
//
// What follows the last mark is not whole and is not read. Seq -1 is that of a request that is numbered at
// the end, by the time of its send. free is the first such number. The end of an open request has its number
// in `open` too. A nil JournalWriter writes nothing.
type JournalWriter struct {
	// DriftPPM and CompleteFrom are members of the header that the recorder does not know. They are set
	// before Begin.
	DriftPPM     int64
	CompleteFrom time.Duration
	// WallError is that of the header if it is larger than the recorder's.
	WallError time.Duration
	// Judged is that of the header.
	Judged Terms

	out    Writer
	redact func(string) string
}

// journalHeader is the first line of a journal.
type journalHeader struct {
	headerJSON
	Free int `json:"free"`
}

// JournalEntry is one request of a journal.
type JournalEntry struct {
	Observation
	// Free: it has no number yet.
	Free bool
	// Open is the number, from 1, of a request that was open at a mark; 0 for all others.
	Open int
}

// JournalMark is an instant before which nothing is missing in a journal, and what came since the mark
// before. It is the form of its line.
type JournalMark struct {
	At      time.Duration `json:"mark"`
	Spreads []Spread      `json:"spreads,omitempty"`
	Stalls  []Stall       `json:"stalls,omitempty"`
	Notes   []string      `json:"notes,omitempty"`
}

// NewJournal returns a JournalWriter to w. All text of a target passes redact. nil changes nothing.
func NewJournal(w io.Writer, redact func(string) string) *JournalWriter {
	if redact == nil {
		redact = func(text string) string { return text }
	}
	return &JournalWriter{out: Writer{w: w, known: &fieldTexts{}}, redact: redact}
}

// Begin writes the header line. free is the first number for requests that have none yet.
func (w *JournalWriter) Begin(h Header, free int) error {
	if w == nil {
		return nil
	}
	h.DriftPPM, h.CompleteFrom = w.DriftPPM, w.CompleteFrom
	h.Judged = w.Judged
	h.WallError = max(h.WallError, w.WallError)
	h.Notes = w.texts(h.Notes)
	j := newHeaderJSON(h)
	j.Version = journalVersion
	w.line(journalHeader{j, free})
	return w.out.Flush()
}

// Entry adds a request. It counts with the next mark. Its fields must not be changed afterwards.
func (w *JournalWriter) Entry(e *JournalEntry) {
	if w == nil {
		return
	}
	o := e.Observation
	if e.Free {
		o.Seq = -1
	}
	o.Body, o.Error = w.redact(o.Body), w.redact(o.Error)
	for i, f := range o.Fields {
		if v := w.redact(f.Value); v != f.Value {
			o.Fields = append(Fields(nil), o.Fields...) // the originals belong to the recorder
			o.Fields[i].Value = v
		}
	}
	_ = w.out.add(&o, e.Open) // the mark returns its error, and the final file says that a line is too long
}

// Mark writes what was added, and then that nothing is missing before an instant. An error is final.
func (w *JournalWriter) Mark(m JournalMark) error {
	if w == nil {
		return nil
	}
	m.Notes = w.texts(m.Notes)
	w.line(m)
	return w.out.Flush()
}

func (w *JournalWriter) texts(all []string) []string {
	var out []string
	for _, text := range all {
		out = append(out, w.redact(text))
	}
	return out
}

func (w *JournalWriter) line(v any) {
	line, err := jsonLine(v)
	if err != nil && w.out.err == nil {
		w.out.err = fmt.Errorf("timeline: journal: %w", err)
	}
	w.out.buf = append(w.out.buf, line...)
}

// IsJournal tells whether a file that begins with text is a journal.
func IsJournal(text []byte) bool { return bytes.HasPrefix(text, []byte(`{"rlcheck":"journal/`)) }

// ReadJournal reads the journal of a recording whose program was killed: what was whole at its last mark. It
// returns the recording that an interruption at that instant would have left. Requests without an answer are
// then Unknown with the error "interrupted". Ended is the instant, and nothing that was decided before it is
// missing. Without a mark there is no observation. If there are more than most observations, it has a Spool
// (Unroll), whose files open makes.
//
// An error is of type Errors, or that of a file. Lines after the last mark may be cut or broken, which is no
// error.
func ReadJournal(r io.Reader, name string, most int, open func() (Spill, error)) (*Timeline, error) {
	j := &journalReader{Reader: newReader(r, name, ReadOptions{AllowEmpty: true}), kept: NewSorter(open),
		open: map[int]Observation{}, begun: map[int]int{}}
	for {
		line, err := j.lines.Next()
		if err != nil && j.noLine(err) == stepEnd {
			break
		}
		if len(bytes.TrimSpace(line)) > 0 {
			j.line(line)
		}
	}
	if j.broken > 0 {
		return nil, j.problems.list
	}
	return j.timeline(most)
}

// journalReader reads a journal. Entries and problems wait for their mark. After the last mark they do not
// count.
type journalReader struct {
	*Reader
	// kept has the requests that were over before the last mark. open has those that were not, by their
	// number.
	kept *Sorter
	open map[int]Observation
	// begun has the numbers of open requests whose end was not read yet, and their Seq.
	begun map[int]int
	// later are the entries after the last mark.
	later []JournalEntry
	free  int
	// waiting is how many requests the end of the journal interrupts.
	waiting int
	// broken is how many problems there were at the last mark.
	broken int
	marked bool
}

func (r *journalReader) line(line []byte) {
	switch {
	case !r.headed:
		r.begin(line)
	case bytes.HasPrefix(line, []byte(`{"mark":`)):
		r.mark(line)
	default:
		r.entry(line)
	}
}

// mostFree is the largest number that a journal may give to the first request without a number.
const mostFree = 1 << 53

// begin reads the header line. A first line that is no header is a problem, even without a mark.
func (r *journalReader) begin(line []byte) {
	r.headed = true
	var j journalHeader
	switch err := json.Unmarshal(line, &j); {
	case err != nil && r.lines.Cut:
		return // killed while it was written
	case err != nil || j.Version != journalVersion:
		r.addVersion(j.Version, journalVersion)
	default:
		if what, why := j.flaw(); what != "" {
			r.add(what, why, "")
		}
	}
	if j.Free < 0 || j.Free > mostFree {
		r.add(fmt.Sprintf("free %d", j.Free), fmt.Sprintf("numbers of requests are 0 to %d", mostFree), "")
		j.Free = 0
	}
	r.header, r.free, r.broken = j.header(), j.Free, r.problems.count
}

// mark takes the entries before it.
func (r *journalReader) mark(line []byte) {
	var m JournalMark
	if err := json.Unmarshal(line, &m); err != nil {
		r.addForm(line)
		return
	}
	if m.At < r.header.Ended {
		why := fmt.Sprintf("the one before it is %d; they ascend", r.header.Ended)
		r.add(fmt.Sprintf("mark %d", m.At), why, "")
		return
	}
	r.header.Ended = m.At
	r.header.Spreads = append(r.header.Spreads, m.Spreads...)
	r.header.Stalls = append(r.header.Stalls, m.Stalls...)
	r.header.Notes = append(r.header.Notes, m.Notes...)
	for i := range r.later {
		r.take(&r.later[i])
	}
	r.later, r.broken, r.marked = r.later[:0], r.problems.count, true
}

// take takes an entry before a mark. An open entry waits for its end.
func (r *journalReader) take(e *JournalEntry) {
	if _, begun := r.open[e.Open]; e.Open > 0 && !begun {
		r.open[e.Open] = e.Observation
		return
	}
	delete(r.open, e.Open)
	r.keep(&e.Observation)
}

func (r *journalReader) keep(o *Observation) {
	if !o.Answered && o.Error == Interrupted {
		r.waiting++
	}
	r.kept.Add(o)
}

func (r *journalReader) entry(line []byte) {
	var e JournalEntry
	if !r.readLine(line, &e.Observation) {
		return
	}
	if bytes.Contains(line, []byte(`,"open":`)) { // perhaps only in its body
		var is struct{ Open int }
		_ = json.Unmarshal(line, &is) // 0 for anything else: a request of its own
		e.Open = is.Open
	}
	e.Free = e.Seq < 0
	sound := e.Observation
	sound.Seq = max(sound.Seq, 0)
	if flaw := flaw(&sound, 0); flaw != "" {
		r.add(fmt.Sprintf("observation %d", e.Seq), flaw, "")
		return
	}
	if why := r.misnumbered(&e); why != "" {
		r.add(fmt.Sprintf("seq %d", e.Seq), why, "")
		return
	}
	r.later = append(r.later, e)
}

// misnumbered says why an entry cannot have its number. Empty: it can.
func (r *journalReader) misnumbered(e *JournalEntry) string {
	seq, begun := r.begun[e.Open]
	switch {
	case e.Seq >= r.free:
		return fmt.Sprintf("numbers from %d on are those of requests that have none yet", r.free)
	case e.Open > 0 && begun:
		if delete(r.begun, e.Open); seq != e.Seq {
			return fmt.Sprintf("this request began as seq %d", seq)
		}
	case !e.Free && !r.seqs.insert(e.Seq):
		return "an earlier observation has the same number"
	case e.Open > 0:
		r.begun[e.Open] = e.Seq
	}
	return ""
}

// timeline returns what was whole at the last mark.
func (r *journalReader) timeline(most int) (*Timeline, error) {
	for _, n := range slices.Sorted(maps.Keys(r.open)) {
		o := r.open[n]
		r.keep(&o)
	}
	t := &Timeline{Header: r.header}
	t.Header.Interrupted = true
	note := "the recording is cut before anything of it was kept"
	if r.marked {
		note = fmt.Sprintf("the recording is cut: it ends at %v, when %d requests had no answer yet",
			t.Header.Ended.Round(time.Millisecond), r.waiting)
	}
	t.Header.Notes = append(t.Header.Notes, note)
	s := r.kept.Finish().From(r.free)
	t.Unroll(s, most)
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("no room for a long recording: %w", err)
	}
	return t, nil
}
