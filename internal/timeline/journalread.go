package timeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// IsJournal tells whether a file that begins with text is a journal.
func IsJournal(text []byte) bool { return bytes.HasPrefix(text, []byte(`{"rlcheck":"journal/`)) }

// ReadJournal reads the journal of a recording whose program was killed: what was whole at its last mark.
// It is the recording that an interruption at that instant would have left: what had no answer then is
// Unknown with the error "interrupted", Ended is the instant, and nothing that was decided before it is
// missing. Without a mark there is no observation. An error is of type Errors; lines behind the last mark
// may be cut or broken and make none.
func ReadJournal(r io.Reader, name string) (*Timeline, error) {
	j := &journalReader{Reader: newReader(r, name, Options{AllowEmpty: true}), open: map[int]int{}}
	for {
		line, err := j.lines.next()
		if err != nil {
			if j.noLine(err) == stepEnd {
				break
			}
			continue
		}
		if len(bytes.TrimSpace(line)) > 0 {
			j.line(line)
		}
	}
	if j.broken > 0 {
		return nil, j.problems.list
	}
	return j.timeline(), nil
}

// journalReader reads a journal. Entries wait for their mark; problems too: behind the last mark they do
// not count.
type journalReader struct {
	*Reader
	all []Observation
	// open are the places of those that had a number; whole is how many of all stand before the last mark,
	// and later the ends of open ones that came after it.
	open  map[int]int
	whole int
	later []Entry
	free  int
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

// begin reads the header line. A first line that is no header is a problem also without a mark.
func (r *journalReader) begin(line []byte) {
	r.headed = true
	var j journalHeader
	switch err := json.Unmarshal(line, &j); {
	case err != nil && r.lines.cut:
		return // killed while it was written
	case err != nil || j.Version != journalVersion:
		r.addVersion(j.Version, journalVersion)
	default:
		if what, why := j.flaw(); what != "" {
			r.add(what, why, "")
		}
	}
	r.header, r.free, r.broken = j.header(), j.Free, r.problems.count
}

// mark takes in what stands before it.
func (r *journalReader) mark(line []byte) {
	var m markJSON
	if err := json.Unmarshal(line, &m); err != nil {
		r.addSyntax(line, err)
		return
	}
	if m.At < int64(r.header.Ended) {
		why := fmt.Sprintf("the one before it is %d; they ascend", r.header.Ended)
		r.add(fmt.Sprintf("mark %d", m.At), why, "")
		return
	}
	h := headerJSON{Ended: m.At, Spreads: m.Spreads, Stalls: m.Stalls, Notes: m.Notes}
	if what, why := h.flaw(); what != "" {
		r.add(what, why, "")
		return
	}
	add := h.header()
	r.header.Ended = add.Ended
	r.header.Spreads = append(r.header.Spreads, add.Spreads...)
	r.header.Stalls = append(r.header.Stalls, add.Stalls...)
	r.header.Notes = append(r.header.Notes, add.Notes...)
	for _, e := range r.later {
		r.all[r.open[e.Open]] = e.Observation
	}
	r.later, r.whole, r.broken, r.marked = r.later[:0], len(r.all), r.problems.count, true
}

// entry reads a request.
func (r *journalReader) entry(line []byte) {
	var e Entry
	numbered := bytes.Contains(line, []byte(`,"open":`)) // perhaps only in its body
	if numbered || !r.fastLine(line, &e.Observation) {
		all, ok := r.members(line)
		if !ok {
			return
		}
		all = slices.DeleteFunc(all, func(m member) bool {
			is := m.name == "open"
			if is {
				_ = json.Unmarshal(m.raw, &e.Open) // 0 for anything else: a request of its own
			}
			return is
		})
		if !r.slowMembers(all, &e.Observation) {
			return
		}
	}
	e.Free = e.Seq < 0
	sound := e.Observation
	sound.Seq = max(sound.Seq, 0)
	if flaw := new(Writer).flaw(&sound); flaw != "" {
		r.add(fmt.Sprintf("observation %d", e.Seq), flaw, "")
		return
	}
	if _, ended := r.open[e.Open]; ended && e.Open > 0 {
		r.later = append(r.later, e)
		return
	}
	if e.Open > 0 {
		r.open[e.Open] = len(r.all)
	}
	r.all = append(r.all, e.Observation)
}

// timeline returns what was whole at the last mark.
func (r *journalReader) timeline() *Timeline {
	t := &Timeline{Header: r.header, Observations: r.all[:r.whole:r.whole]}
	t.Header.Interrupted = true
	waiting := 0
	for i := range t.Observations {
		if o := &t.Observations[i]; !o.Answered && o.Error == Interrupted {
			waiting++
		}
	}
	note := "the recording is cut before anything of it was kept"
	if r.marked {
		note = fmt.Sprintf("the recording is cut: it ends at %v, when %d requests had no answer yet",
			t.Header.Ended.Round(time.Millisecond), waiting)
	}
	t.Header.Notes = append(t.Header.Notes, note)
	slices.SortStableFunc(t.Observations, BySent)
	next := r.free
	for i := range t.Observations {
		if t.Observations[i].Seq < 0 {
			t.Observations[i].Seq = next
			next++
		}
	}
	slices.SortStableFunc(t.Observations, BySent)
	return t
}
