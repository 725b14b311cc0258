package timeline

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode/utf8"
)

// Writer writes a timeline file: NDJSON, a header line and then a line for each observation. It writes only
// whole lines, so the file is readable whenever the program stops.
type Writer struct {
	w    io.Writer
	buf  []byte
	prev time.Duration
	n    int
	err  error
	// known is nil if the fields of one observation may be changed for the next.
	known *fieldTexts
}

// flushAt is the size of the buffer from which on it is flushed.
const flushAt = 64 << 10

// NewWriter returns a Writer to w. Flush must be called at the end.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w, buf: make([]byte, 0, flushAt+4<<10)} }

// Write writes t to w. It refuses what Read would refuse (Writer.Observe).
func Write(w io.Writer, t *Timeline) error {
	tw := NewWriter(w)
	if err := tw.Header(t.Header); err != nil {
		return err
	}
	if t.Spool != nil {
		tw.known = &fieldTexts{}
	}
	for o := range t.All() {
		if err := tw.Observe(o); err != nil {
			return err
		}
	}
	if t.Spool != nil && t.Spool.Err() != nil {
		return t.Spool.Err()
	}
	return tw.Flush()
}

// Header writes the header line, which stands before all observations. Times in it must not be negative.
func (w *Writer) Header(h Header) error {
	if w.err != nil {
		return w.err
	}
	if w.n > 0 {
		return fmt.Errorf("timeline: header after %d observations: it is the first line", w.n)
	}
	line, err := headerLine(h)
	if err != nil {
		return err
	}
	w.buf = append(w.buf, line...)
	return nil
}

// Observe writes one observation. Observations must ascend by Sent. It refuses an observation whose times run
// backwards or are negative, whose cost is below -1, whose partition is no UTF-8, or whose line is longer
// than MaxLine. Nothing of it is written then, and the Writer can go on with the next one. An error of the
// underlying writer is final.
func (w *Writer) Observe(o *Observation) error {
	if w.err != nil {
		return w.err
	}
	if flaw := flaw(o, w.prev); flaw != "" {
		return fmt.Errorf("timeline: observation %d: %s", o.Seq, flaw)
	}
	err := w.add(o, 0)
	if err == nil {
		w.prev = o.Sent
		w.n++
	}
	return err
}

// add appends the line of an observation. open is its number in a journal; 0: it has none.
func (w *Writer) add(o *Observation, open int) error {
	start := len(w.buf)
	w.buf = appendObservation(w.buf, o, w.known)
	if open > 0 {
		w.buf = fmt.Appendf(w.buf[:len(w.buf)-1], `,"open":%d}`, open)
	}
	if size := len(w.buf) - start; size > MaxLine {
		w.buf = w.buf[:start]
		return fmt.Errorf("timeline: observation %d: %d bytes: a line has at most %d", o.Seq, size, MaxLine)
	}
	if w.buf = append(w.buf, '\n'); len(w.buf) >= flushAt {
		return w.Flush()
	}
	return nil
}

// Flush writes out the buffer.
func (w *Writer) Flush() error {
	if w.err != nil || len(w.buf) == 0 {
		return w.err
	}
	_, w.err = w.w.Write(w.buf)
	w.buf = w.buf[:0]
	return w.err
}

// flaw says why o may not stand behind an observation that was sent at prev. Empty: it may.
func flaw(o *Observation, prev time.Duration) (first string) {
	seen := ^memberSet(0)
	if o.Done == 0 {
		seen &^= memberDone
	}
	o.check(seen, prev, func(what, why, _ string) { first = cmp.Or(first, what+": "+why) })
	if o.Outcome > Denied {
		return fmt.Sprintf("outcome %d: no such outcome", o.Outcome)
	}
	return first
}

// fieldTexts are sets of fields as they stand in a line, as answers have the same sets again and again. A set
// that was seen must not be changed.
type fieldTexts struct {
	sets  Slots[*Field]
	texts [MostSlots][]byte
}

// append appends a set. A nil fieldTexts remembers none.
func (t *fieldTexts) append(b []byte, f Fields) []byte {
	if len(f) == 0 || t == nil {
		return appendFields(b, f)
	}
	n, seen := t.sets.Find(&f[0])
	if !seen {
		t.texts[n] = appendFields(t.texts[n][:0], f)
	}
	return append(b, t.texts[n]...)
}

// appendObservation appends a line, without its end.
func appendObservation(b []byte, o *Observation, known *fieldTexts) []byte {
	b = appendNumber(b, `{"seq":`, int64(o.Seq))
	if o.Partition != "" {
		b = appendText(b, `,"partition":`, o.Partition)
	}
	if o.Phase != "" {
		b = appendText(b, `,"phase":`, o.Phase)
	}
	if o.Origin {
		b = append(b, `,"origin":true`...)
	}
	b = appendNumber(b, `,"at_ns":`, int64(o.At))
	b = appendNumber(b, `,"sent_ns":`, int64(o.Sent))
	if o.Answered {
		b = appendNumber(b, `,"first_byte_ns":`, int64(o.FirstByte))
	}
	if o.Done != 0 {
		b = appendNumber(b, `,"done_ns":`, int64(o.Done))
	}
	if o.Status != 0 {
		b = appendNumber(b, `,"status":`, int64(o.Status))
	}
	b = append(append(b, `,"outcome":"`...), o.Outcome.String()...)
	b = appendNumber(b, `","cost":`, o.Cost)
	if o.Observer != 0 {
		b = appendNumber(b, `,"observer":`, int64(o.Observer))
	}
	b = known.append(b, o.Fields)
	if o.Error != "" {
		b = appendText(b, `,"error":`, o.Error)
	}
	if o.Body != "" {
		b = appendText(b, `,"body":`, o.Body)
	}
	return append(b, '}')
}

// appendNumber and appendText append a member whose name is written as key.
func appendNumber(b []byte, key string, v int64) []byte {
	return strconv.AppendInt(append(b, key...), v, 10)
}
func appendText(b []byte, key, v string) []byte { return appendQuoted(append(b, key...), v) }

func appendFields(b []byte, fields Fields) []byte {
	for i, f := range fields {
		if i == 0 {
			b = append(b, `,"fields":{`...)
		} else {
			b = append(b, ',')
		}
		b = appendQuoted(b, f.Name)
		b = append(b, ':')
		b = appendQuoted(b, f.Value)
	}
	if len(fields) > 0 {
		b = append(b, '}')
	}
	return b
}

const hexDigits = "0123456789abcdef"

// plainByte says which bytes stand for themselves in a JSON string, in ASCII.
var plainByte = func() (t [256]bool) {
	for c := 0x20; c < 0x7f; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// appendQuoted appends s as a JSON string. It escapes control characters, also DEL and those of C1. Bytes
// that are no UTF-8 become U+FFFD.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		if plainByte[s[i]] {
			i++
			continue
		}
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
			if r > 0x9f && (r != utf8.RuneError || size > 1) {
				i += size
				continue
			}
		}
		b = append(b, s[start:i]...)
		b = appendEscape(b, r)
		i += size
		start = i
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

// appendEscape appends the escape sequence of a character of the basic plane.
func appendEscape(b []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(b, '\\', byte(r))
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}
