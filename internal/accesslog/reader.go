package accesslog

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// reader reads one log, which may be in several files.
type reader struct {
	o      Options
	row    *server // nil until a line shows whether it is in JSON
	t      *table
	layout layout
	v      values
	clients
	cost field
	// match, denied and allowed are the conditions of the options.
	match, denied, allowed []condition
	// stated: a line had a status.
	stated bool
	// opening is the first line, until the second one shows whether the log is in JSON.
	opening     []byte
	openingLine int

	out    Log
	cache  cacheTold
	sorter *timeline.Sorter
	// n is the number of requests.
	n int
	extent
	problems problems
	hygiene
	joiner
	wraps []wrap
	part  []byte
	last  int // the number of the last record
	// unzoned: the time that was read last had no zone.
	unzoned bool
}

// extent is the time that a log spans, in nanoseconds since the Unix epoch.
type extent struct {
	// firstFrom is the earliest beginning of a request, and begun that of the first line.
	firstFrom, begun int64
	// firstTo is the earliest end of an interval, lastEnd the latest end of a request, and longest the
	// longest interval.
	firstTo, lastEnd, longest int64
	// begunTo is the end of the interval of the first line. late is the most by which a request ended before
	// that of an earlier line. Workers that write their lines together write some of them so late. The lines
	// of others may stand before or after them in the file.
	begunTo, late int64
}

// widest is the most by which an interval is widened, ten years. So times before 2200 cannot overflow.
const widest = 3650 * 24 * time.Hour

// newReader checks the options.
func newReader(o Options) (*reader, error) {
	for _, x := range []struct {
		what string
		d    time.Duration
	}{{"the longest duration", o.MaxDuration}, {"a lag", o.Lag}, {"an error of the clock", o.WallError},
		{"the time to a decision", o.Within}} {
		if x.d < 0 || x.d > widest {
			return nil, text.NewProblem(fmt.Sprintf("%s of %s", x.what, x.d),
				fmt.Sprintf("it may not be negative, and is at most %s", widest), "")
		}
	}
	if o.Outcome == nil {
		o.Outcome = StatusOutcome
	}
	r := &reader{o: o, clients: clients{numbers: map[string]uint32{}, spelled: map[string]uint32{}},
		extent: extent{firstTo: math.MaxInt64, firstFrom: math.MaxInt64, lastEnd: math.MinInt64}}
	r.out.Unnamed = map[int]int{}
	r.sorter = timeline.NewSorter(r.o.spilled)
	found, both := row(o.Format, false)
	if found == nil {
		return nil, text.NewProblem(fmt.Sprintf("format %q", o.Format),
			fmt.Sprintf("it is one of %v", Formats()), "")
	}
	if both {
		return r, nil // the first line says more
	}
	return r, r.begin(found)
}

// begin prepares to read the lines of a server.
func (r *reader) begin(row *server) error {
	if r.o.Layout != "" && row.notation == nil {
		return text.NewProblem("layout "+quote(r.o.Layout),
			fmt.Sprintf("the form of %s is fixed", r.o.Format), "")
	}
	if len(r.o.Columns) > 0 && !row.inJSON() && !row.closed {
		return text.NewProblem("columns", fmt.Sprintf("text of %s has none", r.o.Format),
			"give the format as --log-format")
	}
	t, err := newTable(row.names, r.o.Columns)
	if err != nil {
		return err
	}
	r.row, r.t, r.cache = row, t, newCacheTold(row, t)
	fields := r.fields()
	if r.v = make(values, t.n); row.inJSON() {
		r.layout = &object{t: t}
		return nil
	}
	r.layout, err = newPatterns(row, t, r.o.Layout, fields)
	return err
}

// fields finds the fields that the options name.
func (r *reader) fields() (all []field) {
	get := func(name string) field {
		f := r.t.find(name, r.row)
		all = append(all, f)
		return f
	}
	switch by := r.o.PartitionBy; {
	case by == "none", by == "" && r.row.client:
		r.whole, r.names, r.doubts = true, []string{""}, []doubts{{}}
	default:
		r.by = get(cmp.Or(by, "address"))
	}
	if r.o.Cost != "" {
		r.cost = get(r.o.Cost)
	}
	about := func(all []Match) (out []condition) {
		for _, m := range all {
			out = append(out, condition{Match: m, of: get(m.Field), plain: string(plainPath([]byte(m.Glob)))})
		}
		return out
	}
	r.match, r.denied, r.allowed = about(r.o.Match), about(r.o.Denied), about(r.o.Allowed)
	return all
}

// readAll reads the lines of a file, which follow the first base lines of the log. It returns how many lines
// it has. The error is of type timeline.Errors, or a *text.Problem.
func (r *reader) readAll(in io.Reader, base int) (int, error) {
	lines := timeline.NewLines(in)
	r.hygiene.open()
	for {
		line, err := lines.Next()
		number, ended := lines.Last(), !lines.Cut
		switch {
		case err == io.EOF:
			if r.row == nil && r.opening != nil {
				if err := r.line(r.opening, r.openingLine, true); err != nil {
					return number, err
				}
			}
			if rest := r.joiner.over(); len(rest) > 0 {
				r.one(rest, r.joiner.first, true)
			}
			r.hygiene.close(r)
			return number, r.problems.err()
		case errors.Is(err, timeline.ErrLongLine):
			r.out.Lines++
			r.judge(base+number, flaw{what: fmt.Sprintf("line of more than %d bytes", timeline.MaxLine),
				why: "a line has at most 1 MiB"})
			continue
		case err != nil:
			what, why, mend := timeline.ReadFlaw(err)
			r.problems.add(timeline.ParseError{Line: base + number, What: what, Why: why, Mend: mend,
				Err: err})
			return number, r.problems.list
		}
		if i := bytes.LastIndexByte(line, 0); i >= 0 { // what stands before the hole is cut
			r.hole(base+number, len(bytes.Trim(line[:i], "\x00")) > 0)
			line = line[i+1:]
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if err := r.line(line, base+number, ended); err != nil {
			return number, err
		}
		if r.problems.final {
			return number, r.problems.err()
		}
	}
}

// line reads a line. The error is a *text.Problem.
func (r *reader) line(line []byte, number int, ended bool) error {
	if r.row == nil {
		if begun, err := r.choose(line, number, ended); err != nil || !begun {
			return err
		}
	}
	if !r.row.inJSON() {
		r.one(line, number, ended)
		return nil
	}
	record, first, cut := r.joiner.next(line, number)
	if len(record) > 0 && record[0] == '[' {
		for _, element := range elements(record) {
			r.one(element, number, ended)
		}
		return nil
	}
	if len(record) > 0 {
		r.one(record, first, ended || !cut)
	}
	if cut {
		return r.line(line, number, ended)
	}
	return nil
}

// choose finds out whether a log is in JSON. A first line in JSON says so. Any other may be cut: then the
// second line counts, and both are read. begun: a line can be read.
func (r *reader) choose(line []byte, number int, ended bool) (begun bool, err error) {
	r.wraps = unwrapped(line, false, r.wraps)
	inner := bytes.TrimSpace(r.wraps[len(r.wraps)-1].line)
	isJSON := bytes.HasPrefix(inner, []byte("{")) || bytes.HasPrefix(inner, []byte("[{")) ||
		string(inner) == "["
	if !isJSON && r.opening == nil && ended {
		r.opening, r.openingLine = slices.Clone(line), number
		return false, nil
	}
	found, _ := row(r.o.Format, isJSON)
	if err := r.begin(found); err != nil || r.opening == nil {
		return true, err
	}
	return true, r.line(r.opening, r.openingLine, true)
}

// one reads one record.
func (r *reader) one(line []byte, number int, ended bool) {
	number = max(number, r.last+1) // the records of a list in one line have a number each
	r.last = number
	r.out.Lines++
	var f flaw
	if ended || sealed(line) {
		f = r.take(line, number)
	} else {
		f.what = "line " + quote(line)
	}
	f.soft = f.soft || f.found() && !f.final && number == r.holed
	if f.found() && !f.foreign && !ended && !f.final {
		f.why, f.mend = "it is the last line and has no end: the log was being written, or is cut",
			"leave the line out, or end it if it is complete"
		f.soft = false
	}
	r.judge(number, f)
}

// judge counts a line, by what is wrong with it.
func (r *reader) judge(number int, f flaw) {
	switch {
	case f.foreign:
		r.out.Foreign++
	case f.final:
		r.bad(number, f)
	default:
		r.seen(r, number, f)
	}
}

// sealed tells whether a line cannot be cut in the middle of its last value. The beginning of a name, or of a
// duration, is also one.
func sealed(line []byte) bool {
	last := bytes.TrimSpace(line)
	return bytes.HasSuffix(last, []byte(`"`)) || bytes.HasSuffix(last, []byte("}"))
}

// bad notes a line that cannot be read.
func (r *reader) bad(number int, f flaw) {
	e := timeline.ParseError{Line: number, What: f.what, Why: f.why, Mend: f.mend}
	if r.o.SkipBad && !f.final || f.soft {
		r.skip(e)
		// Who skips lines and says that the log is complete says that they are no requests.
		r.out.Lossy = r.out.Lossy || f.soft || !r.o.Complete
		return
	}
	r.problems.final = r.problems.final || f.final
	r.problems.add(e)
}

// skip leaves a line out.
func (r *reader) skip(e timeline.ParseError) {
	if r.out.Skipped++; r.out.FirstSkipped == nil {
		r.out.FirstSkipped = &e
	}
}

// split reads the values of a line, or of the line that a wrapper holds. part: it goes on in the next line.
func (r *reader) split(line []byte) (inner []byte, f flaw, part bool) {
	r.wraps = unwrapped(line, r.row.inJSON(), r.wraps)
	errorsOut := false
	for i := len(r.wraps) - 1; i >= 0; i-- {
		w := r.wraps[i]
		errorsOut = errorsOut || w.errors
		if w.part {
			r.part = append(r.part, w.line...)
			return nil, flaw{}, true
		}
		if inner = w.line; i > 0 && len(r.part) > 0 {
			inner = append(r.part, inner...)
			r.part = nil
		}
		clear(r.v)
		one := r.layout.split(inner, r.v)
		if !one.found() {
			one = r.complete(one)
		}
		if !one.found() && (i == len(r.wraps)-1 || !one.foreign) {
			if w.by != "" && !one.foreign {
				r.wrapped(w.by)
			}
			return inner, one, false
		}
		if i == len(r.wraps)-1 || f.foreign {
			f = one // of what is inside
		}
	}
	if len(r.wraps) > 1 && (errorsOut || otherLine(r.wraps[1].line)) || otherLine(line) {
		f = flaw{foreign: true}
	}
	return line, f, false
}

// complete brings the address of a line into shape, and tells whether the line is a request.
func (r *reader) complete(f flaw) flaw {
	v := r.v
	if r.row.foreign != nil && r.row.foreign(v) {
		return flaw{foreign: true}
	}
	if r.row.port != nil && v[slotAddress] != nil {
		v[slotAddress] = r.row.port(v[slotAddress])
	}
	if noAddress(v[slotAddress]) {
		return flaw{what: "address " + quote(v[slotAddress]), soft: true,
			why: "it is no address, or has a space, a quote or a control character: something stands " +
				"before the line"}
	}
	return f
}

// take reads one line.
func (r *reader) take(line []byte, number int) flaw {
	inner, f, part := r.split(line)
	if part {
		r.out.Lines--
	}
	if f.foreign || f.found() || part {
		return f
	}
	status, ok := statusOf(r.v[slotStatus])
	if !ok {
		return flaw{what: "status " + quote(r.v[slotStatus]), why: "a status of three digits is needed"}
	}
	r.stated = r.stated || r.v[slotStatus] != nil
	s, f := r.span()
	if f.found() {
		return f
	}
	if f := r.follow(s, number); f.found() {
		return f
	}
	r.v.fill()
	meets, sure := r.meets()
	if !meets {
		r.out.Unmatched++
		return flaw{}
	}
	if known, f := r.client(); !known || f.found() {
		return f
	}
	hits := r.out.Caches.Hits
	o := r.record(s, status, sure, number)
	if r.o.WithoutCached && r.out.Caches.Hits > hits {
		return flaw{}
	}
	o.At += r.sum(inner)
	r.add(&o)
	return flaw{}
}

// record returns the request of a line. Its times count from the Unix epoch. Origin: its answer had surely
// ended by Done. At is Sent and the hash of the line. Log.Each brings them into shape. sure: the request
// surely meets the conditions.
func (r *reader) record(s span, status int, sure bool, line int) timeline.Observation {
	judged := status > 0 && sure
	sent, decided := time.Duration(s.from), time.Duration(max(s.to, s.from))
	o := timeline.Observation{Arrival: timeline.Arrival{Seq: line, At: sent, Cost: r.costs()}, Sent: sent,
		FirstByte: decided, Done: decided, Answered: status > 0, Status: status}
	// Who knows what an answer cost has seen its end.
	if (s.whole || r.o.Cost != "" && o.Cost != timeline.CostUnknown) && judged {
		o.Done, o.Origin = max(time.Duration(s.done), decided), true
	}
	if s.headed {
		r.out.Headed++
	}
	if judged {
		o.Outcome = r.outcome(status)
		if r.out.Caches.Gave(line, r.cache.get(r.v)) {
			o.Outcome = timeline.Unknown
		} else if o.Outcome == timeline.Unknown {
			r.out.Unnamed[status]++
		}
	}
	o.Partition = r.clients.take(r.v.get(r.by), sure)
	return o
}

// costs returns what a request cost.
func (r *reader) costs() int64 {
	if r.o.Cost == "" {
		return max(r.o.Each, 1)
	}
	units, ok := text.Units(string(r.v.get(r.cost)), r.o.CostUnit)
	if !ok {
		return timeline.CostUnknown
	}
	r.out.Costs++
	return units
}

// outcome returns what a request became: by the word of the limiter, or by its status.
func (r *reader) outcome(status int) timeline.Outcome {
	for i := range r.denied {
		if c := &r.denied[i]; c.meets(r.v.get(c.of)) {
			if status >= 100 && status < 400 {
				r.out.Shadow++
			}
			return timeline.Denied
		}
	}
	for i := range r.allowed {
		if c := &r.allowed[i]; c.meets(r.v.get(c.of)) {
			return timeline.Allowed
		}
	}
	return r.o.Outcome(status)
}

// add keeps a request.
func (r *reader) add(o *timeline.Observation) {
	if o.Origin {
		r.out.Whole++
	}
	if r.n++; r.n == 1 {
		r.begun = int64(o.Sent)
	}
	r.firstFrom = min(r.firstFrom, int64(o.Sent))
	r.sorter.Add(o)
}

// statusOf reads a status; 0: none was sent.
func statusOf(b []byte) (int, bool) {
	if none(b) {
		return 0, true
	}
	if !digits(b) || len(b) > 3 {
		return 0, false
	}
	n, err := strconv.Atoi(string(b))
	if n < 100 {
		n = 0
	}
	return n, err == nil
}

// backwards is by how much the times of a log without zones may run backwards or leap. More than that is
// taken for a change of local time.
const backwards = int64(25 * time.Minute)

// follow notes the time of a line.
func (r *reader) follow(s span, number int) flaw {
	if s.local && r.lastEnd != math.MinInt64 {
		leap := s.end - r.lastEnd
		switch {
		case leap < -backwards:
			return flaw{what: fmt.Sprintf("time that runs back by %s",
				time.Duration(-leap).Round(time.Second)),
				why:  "local time was set back, or files are in the wrong order",
				mend: "judge the parts separately, or log in UTC", final: true}
		case leap > backwards && r.o.Zone == nil:
			return flaw{what: fmt.Sprintf("time that leaps by %s", time.Duration(leap).Round(time.Second)),
				why:  "without its zone it may be local time that was set forward",
				mend: "give the zone: --zone UTC, or --zone Europe/Berlin", final: true}
		}
	}
	r.out.ZoneUnknown = r.out.ZoneUnknown || s.local && r.o.Zone == nil
	r.fine = max(r.fine, s.step)
	r.stepped(s, number, r.row.ordered)
	if r.lastEnd == math.MinInt64 {
		r.begunTo = s.done
	} else {
		r.late = max(r.late, r.lastEnd-s.end)
	}
	r.firstTo = min(r.firstTo, s.done)
	r.lastEnd = max(r.lastEnd, s.end)
	r.longest = max(r.longest, s.done-s.from)
	r.out.Widest = max(r.out.Widest, time.Duration(s.to-s.from))
	return flaw{}
}

// finish returns what is wrong with the whole log.
func (r *reader) finish(last int) error {
	nothing := timeline.ParseError{Line: max(last, 1), What: "no request", Why: "there is nothing to judge"}
	_, lone, _ := r.lone()
	switch n := r.out.Lines; {
	case r.problems.count > 0:
	case r.n > lone && !r.stated:
		r.problems.add(timeline.ParseError{Line: last, What: "no status",
			Why:  fmt.Sprintf("none of %d lines has %q, so no outcome is known", n, r.t.name(slotStatus)),
			Mend: "log it, or name the member that has it with --columns"})
	case r.n > lone:
	case n > 0 && r.out.Skipped == n && !r.o.SkipBad:
		r.problems.add(*r.out.FirstSkipped)
		r.problems.list[0].More = n - 1
	case n > 0 && r.out.Skipped == n:
		nothing.Why = fmt.Sprintf("none of %d lines can be read; line %d has %s: %s", n,
			r.out.FirstSkipped.Line, r.out.FirstSkipped.What, r.out.FirstSkipped.Why)
		r.problems.add(nothing)
	case r.out.Keyless > 0:
		nothing.Why = fmt.Sprintf("%d have no %s", r.out.Keyless, r.by.name)
		nothing.Mend = "use --log-partition to name the field that identifies a client"
		r.problems.add(nothing)
	case r.out.Unmatched+lone > 0:
		nothing.Why = fmt.Sprintf("none of %d matches", r.out.Unmatched+lone)
		if none := r.absent(); len(none) > 0 {
			nothing.Why += ", and none has " + strings.Join(none, " or ")
			nothing.Mend = "with --match, name fields that the log has"
		}
		r.problems.add(nothing)
	default:
		r.problems.add(nothing)
	}
	return r.problems.err()
}

// absent returns the fields of conditions that no request had.
func (r *reader) absent() []string {
	var out []string
	for _, c := range slices.Concat(r.match, r.denied, r.allowed) {
		if !c.had && !slices.Contains(out, c.Field) {
			out = append(out, c.Field)
		}
	}
	return out
}

// usualLongest is the longest that a request is taken to last, unless the log or the user says more.
const usualLongest = int64(time.Minute)

// unseenLate is how many times as late as observed a line may be written, since only earlier lines of others
// show it.
const unseenLate = 2

// log returns the result. The error is that of a file for a long log.
func (r *reader) log() (*Log, error) {
	out := r.out // the maps of the reader are not kept
	l := &out
	l.spool = r.sorter.Finish()
	l.Absent = r.absent()
	l.lone, l.left, l.Doubtful = r.lone()
	l.Unmatched += l.left
	l.Respelled = max(0, len(r.numbers)-len(r.names))
	zero := time.Unix(0, r.firstFrom).Unix() * second // the whole second before it
	l.zero = time.Duration(zero)
	l.Header = timeline.Header{Started: time.Unix(0, zero).UTC(), WallError: r.o.WallError}
	if r.row.relative {
		l.Header.Started = time.Time{}
	}
	if l.flaws(r); !r.o.Complete {
		took := max(usualLongest, r.longest, int64(r.o.MaxDuration)) + second // a second for lags
		from := r.firstTo
		if r.late > 0 {
			from = r.begunTo + unseenLate*r.late
		}
		l.Header.CompleteFrom = time.Duration(max(from-zero, 1))
		if !r.row.client { // which waits for its answers
			l.Header.CompleteUntil = time.Duration(max(r.lastEnd-unseenLate*r.late-took-zero, 1))
		}
	}
	l.Lossy = l.Lossy || !r.o.Complete && r.row.lossy || len(l.eras) > 0
	return l, l.count()
}
