package timeline

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// ReadOptions change how a timeline is read. The zero value reads what Writer writes.
type ReadOptions struct {
	// Outcome returns the outcome of a status for a line that names none. nil: StatusOutcome.
	Outcome func(status int) Outcome
	// AllowEmpty accepts a file without an observation.
	AllowEmpty bool
	// Columns maps the names of members (sent_ns, outcome, ...) to different names in the file: the columns
	// of CSV, the members of NDJSON. An empty name says that the file has no other name for it.
	Columns map[string]string
}

// StatusOutcome returns the outcome of a status by itself: 2xx, 3xx and 101 are Allowed, 429 is Denied, all
// else is Unknown. 101 begins what was asked for, such as a WebSocket.
func StatusOutcome(status int) Outcome {
	switch {
	case status >= 200 && status < 400, status == 101:
		return Allowed
	case status == 429:
		return Denied
	default:
		return Unknown
	}
}

// Read reads a timeline file: NDJSON, plain, gzip or zstd. Error messages call it name. An error is of type
// Errors and has up to ten problems of the file; the timeline is then nil. See Reader for what a line needs.
func Read(r io.Reader, name string, opts ReadOptions) (*Timeline, error) {
	return NewReader(r, name, opts).all()
}

// Reader reads a timeline file one observation at a time. Its memory does not follow the length of the file,
// except for one bit for each Seq.
//
// A line is one JSON object. It needs sent_ns, and outcome or status, or error, which says that no answer
// came. Without first_byte_ns no answer was seen. A cost of -1 is not known. Defaults: partition "", cost 1,
// at_ns as sent_ns, seq the position among the observations from 0. Lines ascend by sent_ns, and no seq
// comes twice. Unknown members are ignored. Those that look like a missing member, misspelt or in another
// word, are problems. null is the same as absent, and blank lines are skipped. The header line may be
// missing.
type Reader struct {
	opts     ReadOptions
	lines    *Lines
	problems problems
	// decode reads a line into o and seen. It returns false if the line was no observation. It has then
	// handled the line or added a problem.
	decode func(line []byte, o *Observation) bool
	// headers: a line with the member "rlcheck" is the header, which was read if headed.
	headers, headed bool
	header          Header
	// first is an observation that Header has read ahead, if held.
	first Observation
	held  bool
	begun bool

	// had are the members of the current line, seen those that are not null, ever those of all lines so far.
	had, seen, ever memberSet
	strays          strays
	renames

	cursor cursor
	keys   keys
	names  interner
	spare  Fields
	seqs   seqSet
	prev   time.Duration
	n      int // observations so far, sound or not
	err    error
	// ignored are the names of members, or columns, without a meaning here.
	ignored []string
}

// renames is what ReadOptions.Columns says. renamed are the members by the names that the file has for them.
// moved are the members with such a name. The file has no other name for those of none.
type renames struct {
	renamed     map[string]memberSet
	moved, none memberSet
}

// mostIgnored is how many ignored names are kept.
const mostIgnored = 5

// Ignored returns the first five names of members or columns that were ignored so far, in the order in which
// they came. A misspelt name has less effect than its author thinks. Names of a header line and of
// observations are not separated.
func (r *Reader) Ignored() []string { return r.ignored }

// ignore notes a name of an observation, or of a column, without a meaning here.
func (r *Reader) ignore(name []byte) {
	r.strays.note(name, r.ever, &r.names)
	r.overlook(name)
}

// overlook keeps a name for Ignored.
func (r *Reader) overlook(name []byte) {
	if len(r.ignored) < mostIgnored &&
		!slices.ContainsFunc(r.ignored, func(s string) bool { return s == string(name) }) {
		r.ignored = append(r.ignored, string(name))
	}
}

// NewReader returns a Reader of NDJSON. It reads nothing before the first call of Header or Next.
func NewReader(r io.Reader, name string, opts ReadOptions) *Reader {
	t := newReader(r, name, opts)
	t.decode = t.readLine
	t.headers = true
	t.rename()
	return t
}

// rename takes the names that members have in a file of NDJSON.
func (r *Reader) rename() {
	for _, ours := range slices.Sorted(maps.Keys(r.opts.Columns)) {
		theirs, m := r.opts.Columns[ours], memberOf(ours)
		switch {
		case m == 0:
			r.addColumn(ours)
		case theirs == "":
			r.none |= m
		case r.renamed[theirs] != 0:
			r.addShared(theirs, nameOf(r.renamed[theirs]), ours)
			fallthrough
		default:
			if r.renamed == nil {
				r.renamed = make(map[string]memberSet)
			}
			r.renamed[theirs] = m
			r.moved |= m
		}
	}
}

// addColumn adds the problem that a name in Options.Columns is no member.
func (r *Reader) addColumn(ours string) {
	mend := ""
	if like := likenessOf(ours); like.member != 0 {
		mend = fmt.Sprintf("did you mean %q?", nameOf(like.member))
	}
	r.add("column "+excerpt(ours), "no such member: "+strings.Join(memberNames[:], ", "), mend)
}

// addShared adds the problem that one name of the file stands for two members, one of which would be lost.
func (r *Reader) addShared(theirs, one, other string) {
	r.add("column "+excerpt(theirs)+" twice", fmt.Sprintf("it is to be %s and %s, and a name means one "+
		"member", one, other), "write the value under two names: for a decision at one instant, sent_ns "+
		"and first_byte_ns are equal")
}

// memberOf returns the member that a name of the file means, or 0 if it means none.
func (r *Reader) memberOf(name []byte) memberSet {
	if m := r.renamed[string(name)]; m != 0 {
		return m
	}
	return memberOf(name) &^ r.moved
}

func newReader(r io.Reader, name string, opts ReadOptions) *Reader {
	if opts.Outcome == nil {
		opts.Outcome = StatusOutcome
	}
	return &Reader{opts: opts, lines: NewLines(r), problems: problems{file: name}}
}

// Header returns the header, or the zero value if the file has none. It may be called at any time. Errors are
// those of Next.
func (r *Reader) Header() (Header, error) {
	if !r.begun {
		err := r.Next(&r.first)
		r.held = err == nil
		if err != nil && err != io.EOF {
			return Header{}, err
		}
	}
	return r.header, nil
}

// Next reads the next observation into o and overwrites all of it. It returns io.EOF after the last one. Any
// other error is final and of type Errors. At the first problem, Next reads to the end of the file to find
// the others, and returns no further observation.
func (r *Reader) Next(o *Observation) error {
	r.begun = true
	if r.held {
		r.held = false
		*o = r.first
		return nil
	}
	if r.err != nil {
		return r.err
	}
	for {
		switch r.advance(o) {
		case stepObservation:
			if r.problems.count == 0 {
				return nil
			}
		case stepEnd:
			r.err = r.finish()
			return r.err
		}
	}
}

// step says what one line was.
type step uint8

const (
	stepSkipped step = iota
	stepObservation
	stepEnd
)

func (r *Reader) advance(o *Observation) step {
	line, err := r.lines.Next()
	if err != nil {
		return r.noLine(err)
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return stepSkipped
	}
	r.n++
	if !r.decode(line, o) || !r.complete(o) {
		return stepSkipped
	}
	return stepObservation
}

// noLine handles what lines.next returned instead of a line.
func (r *Reader) noLine(err error) step {
	switch {
	case err == io.EOF:
		return stepEnd
	case err == ErrLongLine:
		r.add(fmt.Sprintf("line of more than %d bytes", MaxLine), "a line has at most 1 MiB", "")
		return stepSkipped
	}
	what, why, mend := ReadFlaw(err)
	r.problems.add(ParseError{Line: r.lines.Last(), What: what, Why: why, Mend: mend, Err: err})
	return stepEnd
}

// finish returns what Next returns after the last line.
func (r *Reader) finish() error {
	if r.problems.count == 0 && r.n == 0 && !r.opts.AllowEmpty {
		r.problems.add(ParseError{Line: r.lines.Last(), What: "no observation",
			Why: "there is nothing to judge"})
	}
	if r.n > 0 {
		for _, theirs := range slices.Sorted(maps.Keys(r.renamed)) {
			if m := r.renamed[theirs]; r.ever&m == 0 {
				r.add("column "+excerpt(theirs), fmt.Sprintf("no line has it (expected from %s)", nameOf(m)),
					"")
			}
		}
	}
	if r.problems.count == 0 {
		return io.EOF
	}
	return r.problems.list
}

// all reads the whole file.
func (r *Reader) all() (*Timeline, error) {
	t := &Timeline{}
	var o Observation
	for {
		err := r.Next(&o)
		if err == io.EOF {
			t.Header = r.header
			return t, nil
		}
		if err != nil {
			return nil, err
		}
		t.Observations = append(t.Observations, o)
	}
}

// add notes a problem of the current line.
func (r *Reader) add(what, why, mend string) {
	r.problems.add(ParseError{Line: r.lines.Last(), What: what, Why: why, Mend: mend})
}

// ahead is a batch of observations that were read ahead, each with its line. err is what Next returned after
// them, or nil.
type ahead struct {
	observations []Observation
	lines        []int
	err          error
}

// A reader is at most aheadBatches times aheadSize observations ahead of its user.
const (
	aheadSize    = 256
	aheadBatches = 4
)

// Each calls take for every observation that Next would return, in their order and with its line, until take
// returns false. Another goroutine reads ahead meanwhile. take is called in the goroutine of the caller, and
// the observation is overwritten later. The error is that of Next. It is nil at the end of the file, or if
// take returned false. Observations before a problem were taken by then. Nothing may be read from r
// afterwards.
func (r *Reader) Each(take func(o *Observation, line int) bool) error {
	full, empty := make(chan ahead, aheadBatches), make(chan ahead, aheadBatches)
	for range aheadBatches {
		empty <- ahead{observations: make([]Observation, aheadSize), lines: make([]int, aheadSize)}
	}
	go func() {
		defer close(full)
		for batch := range empty {
			for i := range batch.observations {
				if batch.err = r.Next(&batch.observations[i]); batch.err != nil {
					batch.observations = batch.observations[:i]
					break
				}
				batch.lines[i] = r.lines.Last()
			}
			if full <- batch; batch.err != nil {
				return
			}
		}
	}()
	defer func() { // the goroutine has ended when Each returns
		close(empty)
		for range full {
		}
	}()
	for batch := range full {
		for i := range batch.observations {
			if !take(&batch.observations[i], batch.lines[i]) {
				return nil
			}
		}
		if batch.err == io.EOF {
			return nil
		}
		if batch.err != nil {
			return batch.err
		}
		empty <- batch
	}
	return nil
}
