package accesslog

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/ndjson"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// reader reads one log.
type reader struct {
	o      Options
	layout layout
	v      values
	// by is the field of the partition. whole: there is only one partition.
	by    field
	whole bool
	match []field
	// plain are the patterns of conditions on a path, for paths in plain form.
	plain []string
	// met says of each condition whether any line had its field. stated: a line had a status.
	met    []bool
	stated bool
	doubts []doubts // by partition

	out     Log
	numbers map[string]uint32
	cache   cacheTold
	order   survey
	unnamed map[int]int
	// keep takes a request instead of out. If it returns false, nothing more is read.
	keep     func(rec record) bool
	enough   bool
	problems problems
	// cut: the last line is not whole.
	cut bool
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
func newReader(name string, o Options) (*reader, error) {
	l, t, err := newLayout(o)
	if err != nil {
		return nil, err
	}
	for _, x := range []struct {
		option, what string
		d            time.Duration
	}{{"MaxDuration", "the longest duration", o.MaxDuration}, {"Lag", "a lag", o.Lag},
		{"WallError", "an error of the clock", o.WallError}} {
		if x.d < 0 || x.d > widest {
			return nil, &OptionError{x.option, fmt.Sprintf("%s of %s", x.what, x.d),
				fmt.Sprintf("it may not be negative, and is at most %s", widest), ""}
		}
	}
	if o.Outcome == nil {
		o.Outcome = StatusOutcome
	}
	r := &reader{o: o, layout: l, numbers: map[string]uint32{}, unnamed: map[int]int{},
		problems: problems{file: name}, firstTo: math.MaxInt64, lastEnd: math.MinInt64}
	r.cache = newCacheTold(o.Format, t)
	fields, err := r.fields(t)
	if err != nil {
		return nil, err
	}
	if err := l.ready(fields); err != nil {
		return nil, err
	}
	r.v = make(values, t.n)
	return r, nil
}

// fields finds the fields that the options name.
func (r *reader) fields(t *table) ([]field, error) {
	var all []field
	get := func(option, name string) (field, error) {
		f, ok := find(name, r.layout, t)
		if !ok {
			mend := ""
			if r.o.Format == HAProxy {
				mend = "capture request header " + name +
					" len 64, and write capture1 for the first of the captures"
			}
			return f, &OptionError{option, "field " + quote(name),
				fmt.Sprintf("a log of %s does not have it", r.o.Format), mend}
		}
		all = append(all, f)
		return f, nil
	}
	var err error
	switch r.o.PartitionBy {
	case "none":
		r.whole = true
	case "":
		r.by, err = get("PartitionBy", "address")
	default:
		r.by, err = get("PartitionBy", r.o.PartitionBy)
	}
	if err != nil {
		return nil, err
	}
	for _, m := range r.o.Match {
		f, err := get("Match", m.Field)
		if err != nil {
			return nil, err
		}
		r.match = append(r.match, f)
		r.plain = append(r.plain, string(plainPath([]byte(m.Glob))))
	}
	r.met = make([]bool, len(r.match))
	return all, nil
}

// readAll reads the lines. The error is of type ndjson.Errors.
func (r *reader) readAll(in io.Reader) error {
	lines := ndjson.NewLines(in)
	for {
		line, number, ended, err := lines.Next()
		switch {
		case err == io.EOF:
			return r.finish(number)
		case errors.Is(err, ndjson.ErrLongLine):
			r.out.Lines++
			r.bad(number, flaw{what: fmt.Sprintf("line of more than %d bytes", ndjson.MaxLine),
				why: "a line has at most 1 MiB"})
			continue
		case err != nil:
			what, why, mend := ndjson.ReadFlaw(err)
			r.problems.add(ndjson.ParseError{Line: number, What: what, Why: why, Mend: mend, Err: err})
			return r.problems.list
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		r.out.Lines++
		var f flaw
		if ended || sealed(line) {
			f = r.take(line, number)
		} else {
			f.what = "line " + quote(line)
		}
		if r.enough {
			return nil
		}
		if f.foreign {
			r.out.Foreign++
		} else if f.found() {
			if !ended && !f.final {
				r.cut = true
				f.why, f.mend = "it is the last line and has no end: the log was being written, or is "+
					"cut",
					"leave the line out, or end it if it is complete"
			}
			r.bad(number, f)
			if f.final {
				return r.problems.list
			}
		}
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
	e := ndjson.ParseError{File: r.problems.file, Line: number, What: f.what, Why: f.why, Mend: f.mend}
	if !r.o.SkipBad || f.final {
		r.problems.add(e)
		return
	}
	if r.out.Skipped++; r.out.FirstSkipped == nil {
		r.out.FirstSkipped = &e
	}
}

// take reads one line.
func (r *reader) take(line []byte, number int) flaw {
	clear(r.v)
	if f := r.layout.split(line, r.v); f.foreign || f.found() {
		return f
	}
	status, ok := statusOf(r.v[slotStatus])
	if !ok {
		return flaw{what: "status " + quote(r.v[slotStatus]), why: "a status of three digits is needed"}
	}
	r.stated = r.stated || r.v[slotStatus] != nil
	s, f := r.layout.span(r.v)
	if f.found() {
		return f
	}
	if f := r.follow(s); f.found() {
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
	if r.keep == nil && len(r.out.records) == maxRequests || number > math.MaxUint32 {
		return flaw{what: fmt.Sprintf("request %d", r.order.n+1), why: "more cannot be held in memory",
			mend: "split the log by time", final: true}
	}
	hits := r.out.Caches.Hits
	rec := r.record(s, status, sure, uint32(number))
	if r.o.WithoutCached && r.out.Caches.Hits > hits {
		return flaw{}
	}
	return r.add(rec)
}

// record returns the request of a line, without its partition. sure: the request surely meets the conditions.
func (r *reader) record(s span, status int, sure bool, line uint32) record {
	judged := status > 0 && sure
	rec := record{from: s.from, to: max(s.to, s.from), line: line, status: uint16(status), whole: s.whole &&
		judged}
	if judged {
		rec.outcome = r.o.Outcome(status)
		if r.out.Caches.Gave(int(line), r.cache.get(r.v)) {
			rec.outcome = timeline.Unknown
		} else if rec.outcome == timeline.Unknown {
			r.unnamed[status]++
		}
	}
	if !r.whole {
		rec.partition = r.number(r.v.get(r.by))
	}
	r.doubt(rec.partition, sure)
	return rec
}

// add keeps a request.
func (r *reader) add(rec record) flaw {
	if rec.whole {
		r.out.Whole++
	}
	r.order.add(rec.from)
	if r.keep == nil {
		r.out.records = append(r.out.records, rec)
	} else if !r.keep(rec) {
		r.enough = true
	}
	return flaw{}
}

// client tells whether it is known whose request the line is, and what is wrong with that name. It counts a
// line without a name.
func (r *reader) client() (known bool, f flaw) {
	if r.whole {
		return true, flaw{}
	}
	name := r.v.get(r.by)
	if name == nil {
		r.out.Keyless++
		return false, flaw{}
	}
	if l, ok := r.layout.(partial); ok {
		f = l.lost(r.by, name)
	}
	return true, f
}

// get returns the value of a field, or nil if the line does not have it.
func (v values) get(f field) []byte {
	b := v[f.slot]
	if f.path && b != nil {
		return path(b)
	}
	return b
}

// statusOf reads a status; 0: none was sent.
func statusOf(b []byte) (int, bool) {
	if none(b) {
		return 0, true
	}
	n, ok := number(b)
	if !ok || len(b) > 3 {
		return 0, false
	}
	if n < 100 {
		n = 0
	}
	return n, true
}

// number returns the number of a partition.
func (r *reader) number(name []byte) uint32 {
	k, known := r.numbers[string(name)]
	if !known {
		k = uint32(len(r.out.names))
		r.out.names = append(r.out.names, partitionName(name))
		r.numbers[string(name)] = k
	}
	return k
}

// backwards is by how much the times of a log without zones may run backwards or leap. More than that is
// taken for a change of local time.
const backwards = int64(25 * time.Minute)

// follow notes the time of a line.
func (r *reader) follow(s span) flaw {
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
	if r.lastEnd == math.MinInt64 {
		r.begunTo = s.to
	} else {
		r.late = max(r.late, r.lastEnd-s.end)
	}
	r.firstTo = min(r.firstTo, s.to)
	r.lastEnd = max(r.lastEnd, s.end)
	r.longest = max(r.longest, s.to-s.from)
	return flaw{}
}

// finish returns what is wrong with the whole log.
func (r *reader) finish(last int) error {
	nothing := ndjson.ParseError{Line: last, What: "no request", Why: "there is nothing to judge"}
	j, isJSON := r.layout.(*object)
	_, lone := r.lone()
	switch n := r.out.Lines; {
	case r.problems.count > 0:
	case r.order.n > lone && isJSON && !r.stated: // the other formats have a place for it
		name := j.t.name(slotStatus)
		r.problems.add(ndjson.ParseError{Line: last, What: "no status",
			Why:  fmt.Sprintf("none of %d lines has %q, so no outcome is known", n, name),
			Mend: "log it, or name the member that has it with --columns"})
	case r.order.n > lone:
	case n > 0 && r.out.Skipped == n:
		nothing.Why = fmt.Sprintf("none of %d lines can be read; line %d has %s: %s", n,
			r.out.FirstSkipped.Line, r.out.FirstSkipped.What, r.out.FirstSkipped.Why)
		r.problems.add(nothing)
	case r.out.Keyless > 0:
		nothing.Why = fmt.Sprintf("%d have no %s", r.out.Keyless, r.by.name)
		nothing.Mend = "use --partition-by to name the field that identifies a client"
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
	if r.problems.count > 0 {
		return r.problems.list
	}
	return nil
}

// absent returns the fields of conditions that no request had.
func (r *reader) absent() []string {
	var out []string
	for i, f := range r.match {
		if !r.met[i] {
			out = append(out, f.name)
		}
	}
	return out
}

// usualLongest is the longest that a request is taken to last, unless the log or the user says more.
const usualLongest = int64(time.Minute)

// unseenLate is how many times as late as observed a line may be written, since only earlier lines of others
// show it.
const unseenLate = 2

// log returns the result.
func (r *reader) log() *Log {
	l := &r.out
	slices.SortFunc(l.records,
		func(a, b record) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.line, b.line)) })
	l.order, l.Unnamed, l.Absent = r.order, r.unnamed, r.absent()
	l.lone, l.left = r.lone()
	l.Unmatched += l.left
	l.records = slices.DeleteFunc(l.records, l.without)
	for i, d := range r.doubts {
		if d.sure {
			l.Doubtful += r.doubts[i].perhaps
		}
	}
	l.zero = time.Unix(0, l.order.first).Unix() * second // the whole second before it
	l.Header = timeline.Header{Started: time.Unix(0, l.zero).UTC(), WallError: r.o.WallError}
	if r.whole {
		l.names = []string{""}
	}
	if !r.o.Complete {
		took := max(usualLongest, r.longest, int64(r.o.MaxDuration)) + second // a second for lags
		from := r.firstTo
		if r.late > 0 {
			from = r.begunTo + unseenLate*r.late
		}
		l.Header.CompleteFrom = time.Duration(max(from-l.zero, 1))
		l.Header.CompleteUntil = time.Duration(max(r.lastEnd-unseenLate*r.late-took-l.zero, 1))
	}
	midst := l.Skipped
	if r.cut {
		midst--
	}
	l.Lossy = !r.o.Complete && (midst > 0 || r.o.Format == ALB)
	return l
}

// problems collects what is wrong with one log.
type problems struct {
	file  string
	list  ndjson.Errors
	count int
}

// mostProblems is how many problems of a log are reported. The others are counted.
const mostProblems = 10

func (p *problems) add(e ndjson.ParseError) {
	p.count++
	if len(p.list) == mostProblems {
		p.list[mostProblems-1].More++
		return
	}
	e.File = p.file
	p.list = append(p.list, e)
}
