package timeline

import (
	"fmt"
	"io"
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
