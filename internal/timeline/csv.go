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
	"unicode/utf8"
)

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
