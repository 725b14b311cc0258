package timeline

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
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
	// other reads the lines that are no observations, by the name of a member that these alone have.
	other  map[string]func(all []member)
	header Header
	headed bool
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
	t.other = map[string]func([]member){"rlcheck": t.takeHeader}
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

// eachLine calls take for every line that is not blank.
func (r *Reader) eachLine(take func(line []byte)) {
	for {
		line, err := r.lines.Next()
		if err != nil && r.noLine(err) == stepEnd {
			return
		}
		if len(bytes.TrimSpace(line)) > 0 {
			take(line)
		}
	}
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

// ReadCSV reads a recording from a CSV file (RFC 4180, comma), plain, gzip or zstd. See NewCSVReader.
func ReadCSV(r io.Reader, name string, opts ReadOptions) (*Timeline, error) {
	return NewCSVReader(r, name, opts).all()
}

// NewCSVReader returns a Reader of CSV. The first row has the names of the members, or the names that
// opts.Columns gives them. Other columns are ignored. A column fields.NAME is one header field, a column
// fields is a JSON object of them. An empty cell is an absent member. A column sent_ns is needed, and outcome
// or status. There is no header line, so the Header is zero. Errors are those of NewReader.
func NewCSVReader(r io.Reader, name string, opts ReadOptions) *Reader {
	t := newReader(r, name, opts)
	rows := &rowReader{Reader: t}
	rows.csv = csv.NewReader(rows)
	rows.csv.FieldsPerRecord, rows.csv.ReuseRecord = -1, true
	t.decode = rows.decode
	return t
}

// rowReader decodes the rows of a CSV file.
type rowReader struct {
	*Reader
	columns []column
	// csv reads rows from lines, and row is the last.
	csv *csv.Reader
	row []string
	// line is the line to begin with, if it is not taken. more is how many bytes of lines after it were
	// taken. endless: the lines were over, or too many, inside of a cell.
	line    []byte
	more    int
	endless bool
	// lost: the first row cannot be used, so the others mean nothing.
	lost bool
}

// column is the meaning of one column. Both members are empty if it has none.
type column struct {
	member memberSet
	field  string
}

const fieldPrefix = "fields."

func (r *rowReader) decode(line []byte, o *Observation) bool {
	line, ok := r.whole(line)
	if !ok {
		return false
	}
	if r.columns == nil && !r.lost {
		r.n--
		r.takeColumns()
		r.lost = r.problems.count > 0
		return false
	}
	if r.lost {
		return false
	}
	if len(r.row) != len(r.columns) {
		r.addRagged(line)
		return false
	}
	before := r.problems.count
	*o = Observation{}
	r.seen = 0
	for i, c := range r.columns {
		if cell := r.row[i]; cell != "" {
			r.cell(c, []byte(cell), o)
		}
	}
	o.Fields = normalFields(o.Fields)
	return r.problems.count == before
}

// whole splits a row into its cells. It reads on if a cell goes over the end of the line. It returns the
// first line of the row.
func (r *rowReader) whole(line []byte) ([]byte, bool) {
	line = append(validUTF8(bytes.Clone(line)), '\n')
	r.line, r.more, r.endless = line, 0, false
	row, err := r.csv.Read()
	line = bytes.TrimSuffix(line, []byte("\n"))
	switch {
	case r.endless:
		r.add("row "+excerpt(line), "its last quote is open, up to the end of the file or 1 MiB",
			`end the cell with "`)
	case err != nil:
		r.add("row "+excerpt(line), "a quote in the middle of a cell",
			`put the whole cell in quotes and write "" for a quote in it`)
	}
	r.row = row
	return line, err == nil
}

// Read gives r.csv one line at a time, so that it never reads ahead.
func (r *rowReader) Read(p []byte) (int, error) {
	if len(r.line) == 0 {
		next, err := r.lines.Next()
		if r.more += len(next); err != nil || r.more > MaxLine {
			r.endless = true
			return 0, io.EOF
		}
		r.line = append(validUTF8(bytes.Clone(next)), '\n')
	}
	n := copy(p, r.line)
	r.line = r.line[n:]
	return n, nil
}

func validUTF8(line []byte) []byte {
	if utf8.Valid(line) {
		return line
	}
	return bytes.ToValidUTF8(line, []byte("\uFFFD"))
}

func (r *rowReader) addRagged(line []byte) {
	if r.lines.Cut && len(r.row) < len(r.columns) {
		r.add("the last row, "+excerpt(line), "it has no end: the file is cut",
			"remove the row or record again")
		return
	}
	r.add(fmt.Sprintf("row of length %d", len(r.row)),
		fmt.Sprintf("the first row names %d columns", len(r.columns)), "")
}

// cell reads one cell that is not empty.
func (r *rowReader) cell(c column, cell []byte, o *Observation) {
	switch {
	case c.field != "":
		o.Fields = append(o.Fields, Field{Name: r.names.get([]byte(c.field)), Value: r.names.get(cell)})
	case c.member == memberFields:
		others := o.Fields
		r.fieldsCell(cell, o)
		o.Fields = append(others, o.Fields...)
	case c.member == memberOrigin:
		r.memberInto(member{name: "origin", raw: bytes.ToLower(bytes.TrimSpace(cell))}, &o.Origin,
			"true or false is needed")
	case c.member&memberIntegers != 0:
		r.seen |= c.member
		v, why, mend := parseInteger(strings.TrimSpace(string(cell)))
		if why != "" {
			r.add(nameOf(c.member)+" "+excerpt(cell), why, mend)
			return
		}
		setInteger(o, c.member, v)
	case c.member != 0:
		r.seen |= c.member
		r.setText(o, c.member, cell)
	}
}

// fieldsCell reads a cell with all header fields.
func (r *rowReader) fieldsCell(cell []byte, o *Observation) {
	cell = bytes.TrimSpace(cell)
	if r.cursor = (cursor{text: cell}); json.Valid(cell) && cell[0] == '{' {
		r.takeFields(o)
	} else if json.Valid(cell) {
		r.set(memberFields, nil, cell, o)
	} else {
		r.add("fields "+excerpt(cell), "a JSON object of header fields is needed", "")
	}
}

// takeColumns reads the first row, which is in r.row.
func (r *rowReader) takeColumns() {
	ours := make(map[string]string) // by the name in the file
	for _, name := range slices.Sorted(maps.Keys(r.opts.Columns)) {
		c := columnOf(name)
		if c == (column{}) {
			r.addColumn(name)
		}
		if r.opts.Columns[name] == "" {
			r.none |= c.member
			continue
		}
		if other := ours[r.opts.Columns[name]]; other != "" {
			r.addShared(r.opts.Columns[name], other, name)
		}
		ours[r.opts.Columns[name]] = name
	}
	missing := maps.Clone(ours)
	has := memberSet(0)
	for i := range r.row {
		theirs := strings.TrimSpace(r.row[i])
		name, mapped := ours[theirs]
		if r.opts.Columns[theirs] == "" && !mapped {
			name = theirs
		}
		delete(missing, theirs)
		c := columnOf(name)
		if c.member != 0 && has&c.member != 0 || c.field != "" && slices.Contains(r.columns, c) {
			r.add("column "+excerpt(theirs)+" twice", "each member is in one column", "")
		}
		if c == (column{}) && theirs != "" {
			r.ignore([]byte(theirs))
		}
		has |= c.member
		r.columns = append(r.columns, c)
	}
	r.needColumns(has, missing)
	if has&(memberOutcome|memberStatus) != 0 {
		r.addStrays(has)
	} else {
		r.addStrays(has | memberOutcome) // it has its problem
	}
	r.strays.set = 0
}

// needColumns adds a problem for each column that is missing.
func (r *rowReader) needColumns(has memberSet, missing map[string]string) {
	for _, theirs := range slices.Sorted(maps.Keys(missing)) {
		r.add("column "+excerpt(theirs), fmt.Sprintf("the first row does not have it (expected from %s)",
			missing[theirs]), "")
	}
	mend := func(members ...memberSet) string {
		if len(r.row) == 1 && strings.ContainsAny(r.row[0], ";\t|") {
			return "put commas between cells, not semicolons, tabs or bars"
		}
		for i := range r.row {
			if _, why, _ := parseInteger(strings.TrimSpace(r.row[i])); why == "" {
				return "put a first row of names before it, such as sent_ns,first_byte_ns,outcome,partition"
			}
		}
		for _, m := range members {
			if near := r.strays.instead(m); near != "" {
				return near
			}
		}
		return "name it in the first row, or map a column to it"
	}
	if has&memberSent == 0 && r.opts.Columns["sent_ns"] == "" {
		r.add(`column "sent_ns" missing`, "every observation has the time when it was sent", mend(memberSent))
	}
	if has&(memberOutcome|memberStatus) == 0 && r.opts.Columns["outcome"]+r.opts.Columns["status"] == "" {
		r.add(`columns "outcome" and "status" missing`, "every observation has one of them",
			mend(memberOutcome, memberStatus))
	}
}

func columnOf(name string) column {
	if field, ok := strings.CutPrefix(name, fieldPrefix); ok && field != "" {
		return column{field: field}
	}
	return column{member: memberOf(name)}
}
