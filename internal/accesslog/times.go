package accesslog

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// times say what the times of a server mean. Its row says where that is documented.
type times struct {
	// unit is the unit of a bare number as a duration. 0: a second.
	unit int64
	// early and late are how far before its logged beginning and after its logged end a request may have been
	// decided. Options.Lag replaces those that are not 0, or both if they are. earlyError replaces early for
	// a status from 400 on.
	early, earlyError, late time.Duration
	// slack is added at both ends for roundings. cutOff is the most that was cut off a duration, if that is
	// more than a step of its last digit.
	slack, cutOff int64
	// oneClock: duration and end are readings of one clock, of which nothing else was cut off.
	oneClock bool
	// utc: a time without a zone is UTC. Otherwise it is the local time of the server.
	utc bool
	// relative: times count from the beginning of the recording.
	relative bool
	// headers is how many values add up to the time from the beginning to the answer's header.
	headers int
}

const (
	// usualLag is how much later than its clock says a busy event loop may decide.
	usualLag = 100 * time.Millisecond
	// readingsApart is how long a thread may stand still between two readings of clocks.
	readingsApart = 10 * time.Millisecond
	// upgradedWithin is how long after its beginning a request was decided that became a WebSocket.
	upgradedWithin = time.Second
)

// span is a time in nanoseconds since the Unix epoch.
type span struct {
	// The request was decided in the closed interval [from, to].
	from, to int64
	// end is when the request ended, or an earlier instant. done is when it surely had ended.
	end, done int64
	// step is how coarse the times are. Requests may end by up to disorder before that of the line before.
	step, disorder int64
	// local: the logged time has no zone.
	local bool
	// whole: the answer was sent to its last byte, and not after done.
	whole bool
	// headed: the time of the answer's header narrowed the interval.
	headed bool
}

// drift returns how far a duration on a monotonic clock and one on the wall clock, which is slewed, may
// differ. NTP slews by at most 500 millionths.
func drift(duration int64) int64 { return duration / 1000 }

// lags returns how far a decision may lie outside the logged times.
func (r *reader) lags() (early, late int64) {
	t := &r.row.times
	early, late = int64(t.early), int64(t.late)
	if s := r.v[slotStatus]; t.earlyError > 0 && len(s) == 3 && s[0] >= '4' {
		early = int64(t.earlyError)
	}
	if r.o.LagSet {
		both := early == 0 && late == 0
		if early > 0 || both {
			early = int64(r.o.Lag)
		}
		if late > 0 || both {
			late = int64(r.o.Lag)
		}
	}
	return early, late
}

// span returns when the request of a line may have been decided.
func (r *reader) span() (s span, f flaw) {
	t := &r.row.times
	start, began, f1 := r.moment(slotStart, slotStartCoarse)
	end, ended, f2 := r.moment(slotEnd, slotEndISO, slotEndCLF)
	either, some, f3 := r.moment(slotTime)
	took, known, f4 := r.duration(began && ended)
	for _, f := range []flaw{f1, f2, f3, f4} {
		if f.found() {
			return s, f
		}
	}
	most := took.ns + max(took.step, t.cutOff)
	begun, over := start.ns+start.step, end.ns+end.step // at the latest
	switch {
	case began && !ended:
		end.ns, over = start.ns+took.ns, begun+most+drift(took.ns)
	case ended && !began:
		start.ns, begun = end.ns-most-drift(most), over-took.ns
		if t.oneClock && took.step <= millisecond { // otherwise something cut its digits off
			start.ns = end.ns - took.ns
		} else if t.oneClock {
			start.ns = end.ns - most
		}
		end.ns -= t.slack
	case some && !began:
		start.ns, end.ns = either.ns-most-drift(most), either.ns-t.slack
		begun, over = either.ns+either.step, either.ns+either.step+most
	case !began:
		return s, flaw{what: "no time", why: "a line has the time when its request began, or ended",
			mend: r.t.timeMend(r.row)}
	case end.ns < start.ns:
		return s, flaw{what: r.t.name(slotEnd) + " " + quote(r.v[slotEnd]),
			why: "an answer cannot have been sent before its request was received"}
	}
	early, late := r.lags()
	s.from, s.to, s.end = start.ns-early-t.slack, over+late+t.slack, end.ns
	s.step, s.done, s.local = max(start.step, end.step, either.step), s.to, r.unzoned && !t.utc
	s.disorder = max(late, int64(readingsApart)) + s.step
	s.whole = known && r.whollySent()
	if known || began {
		r.narrow(&s, begun+late+t.slack)
	}
	return s, flaw{}
}

// narrow bounds the decision by the time that it took at most, as the user said, or as the log says. begun is
// the latest instant at which the request may have begun.
func (r *reader) narrow(s *span, begun int64) {
	within := int64(-1)
	if string(r.v[slotStatus]) == "101" {
		within = int64(upgradedWithin)
	}
	if r.o.WithinSet {
		if r.o.Within > 0 {
			within = int64(r.o.Within)
		}
	} else if h, ok := r.headed(); ok {
		within, s.headed = h, begun+h < s.to
	}
	if within >= 0 {
		s.to = max(min(s.to, begun+within), s.from)
	}
}

// headed returns the time from the beginning of a request to the header of its answer, at most.
func (r *reader) headed() (ns int64, ok bool) {
	for i := range r.row.headers {
		// Of several upstream servers that were tried, the first one counts.
		first, _, _ := bytes.Cut(r.v[slotHeader+slot(i)], []byte(","))
		m, ok := moment{}, false
		if len(first) > 0 {
			m, ok = duration(first, r.row.durationUnit())
		}
		if !ok {
			return 0, false
		}
		ns += m.ns + m.step
	}
	return ns + drift(ns), r.row.headers > 0
}

// whollySent: nginx writes OK, and HAProxy a state that begins with --, if the last byte was sent.
func (r *reader) whollySent() bool {
	b := r.v[slotCompletion]
	return string(b) == "OK" || bytes.HasPrefix(b, []byte("--"))
}

func (t *times) durationUnit() int64 {
	if t.unit == 0 {
		return second
	}
	return t.unit
}

// moment reads the first of several times that a line has.
func (r *reader) moment(slots ...slot) (m moment, ok bool, f flaw) {
	for _, s := range slots {
		b := r.v[s]
		if b == nil {
			continue
		}
		zone := time.UTC
		if r.o.Zone != nil && !r.row.utc {
			zone = r.o.Zone
		}
		m, r.unzoned, ok = instant(b, zone)
		switch {
		case !ok:
			return m, false, flaw{what: r.t.name(s) + " " + quote(b),
				why: "a time such as 2026-11-20T10:00:00.000Z, or seconds since 1970, is needed"}
		case m.ns < earliest && !r.row.relative:
			return m, false, flaw{what: r.t.name(s) + " " + quote(b),
				why: "it is before the year 2001: the start of the line is cut, or the clock was not " +
					"set", mend: "leave the line out"}
		}
		return m, true, flaw{}
	}
	return m, false, flaw{}
}

// duration reads how long a request took. known=false: it is the longest that the user allows for.
func (r *reader) duration(needless bool) (m moment, known bool, f flaw) {
	for i, unit := range []int64{1, microsecond, millisecond, second, r.row.durationUnit()} {
		s := slotNanos + slot(i)
		b := r.v[s]
		if none(b) || string(b) == "-1" {
			continue
		}
		m, ok := duration(b, unit)
		if !ok {
			return m, false, flaw{what: r.t.name(s) + " " + quote(b),
				why: "a duration is a number, or text such as 8ms"}
		}
		return m, true, flaw{}
	}
	switch {
	case needless:
		return m, true, flaw{}
	case r.o.MaxDuration > 0:
		return moment{ns: int64(r.o.MaxDuration)}, false, flaw{}
	}
	return m, false, flaw{what: "no duration", soft: true,
		why: "without it the start of a request is unknown",
		mend: fmt.Sprintf("log %s, or give --max-duration D, an upper bound of how long a request took",
			r.t.logged(slotDuration, r.row))}
}

// logged returns the name under which the server logs a value, as its log_format has it.
func (t *table) logged(s slot, row *server) string {
	if row.mark == "" {
		return t.name(s)
	}
	return fmt.Sprintf(row.mark, t.name(s))
}

// timeMend names the times that the server can log.
func (t *table) timeMend(row *server) string {
	var names []string
	for _, s := range []slot{slotEnd, slotEndISO, slotEndCLF, slotStart, slotStartCoarse, slotTime} {
		if t.name(s) != "" {
			names = append(names, t.logged(s, row))
		}
	}
	return "log " + strings.Join(names, ", or ")
}

// moment is a time, or a duration, that was read, in nanoseconds. step is one step of its last digit. The
// true value lies in [ns, ns+step].
type moment struct{ ns, step int64 }

const (
	second      = int64(time.Second)
	millisecond = int64(time.Millisecond)
	microsecond = int64(time.Microsecond)
	// farthest is the largest time that is read, in the year 2200.
	farthest = int64(7_258_118_400) * second
)

// earliest is the first time whose seconds have ten digits, in the year 2001. An earlier time has lost digits
// at its beginning: it stands in the first line of a log that was cut by its size.
const earliest = 1_000_000_000 * second

// decimal reads a number of units of the given length: 1700000000.123 for a unit of a second. It is not
// negative.
func decimal(b []byte, unit int64) (moment, bool) {
	whole, fraction, _ := bytes.Cut(b, []byte("."))
	if !digits(whole) || fraction != nil && !digits(fraction) {
		return moment{}, false
	}
	var n int64
	for _, c := range whole {
		if n >= farthest/unit/10 {
			return moment{}, false
		}
		n = n*10 + int64(c-'0')
	}
	m := moment{n * unit, unit}
	for _, c := range fraction {
		if m.step == 1 {
			break // finer than a nanosecond
		}
		m.step = max(m.step/10, 1)
		m.ns += int64(c-'0') * m.step
	}
	return m, true
}

// duration reads a duration: a number of units, as a decimal or with an exponent, or text with its own units
// (8ms, 1.5s, 6m0s). It is not negative.
func duration(b []byte, unit int64) (moment, bool) {
	if m, ok := decimal(b, unit); ok {
		return m, true
	}
	if f, err := strconv.ParseFloat(string(b), 64); err == nil {
		ns := math.Ceil(f * float64(unit))
		return moment{int64(ns), 1}, f >= 0 && ns < float64(farthest)
	}
	number := bytes.TrimRight(b, "nuµms")
	for text, unit := range map[string]int64{"ns": 1, "us": microsecond, "µs": microsecond, "ms": millisecond,
		"s": second} {
		if string(b[len(number):]) == text {
			if m, ok := decimal(number, unit); ok {
				return m, true
			}
		}
	}
	d, err := time.ParseDuration(string(b))
	return moment{int64(d), 1}, err == nil && d >= 0 && int64(d) < farthest
}

// instant reads a time: as in ISO 8601 or the common log format, or seconds, milliseconds, microseconds or
// nanoseconds since the epoch, which it tells by their size. unzoned: it has none, and is in the given zone.
func instant(b []byte, zone *time.Location) (m moment, unzoned, ok bool) {
	const milliseconds, microseconds, nanoseconds = 12, 15, 18 // digits of the present, less one
	if len(b) > 1 && b[0] == '[' && b[len(b)-1] == ']' {
		b = b[1 : len(b)-1]
	}
	whole := 0
	for whole < len(b) && b[whole] >= '0' && b[whole] <= '9' {
		whole++
	}
	if whole < len(b) && b[whole] != '.' {
		if m, unzoned, ok = calendar(b, zone); ok {
			return m, unzoned, true
		}
		if f, err := strconv.ParseFloat(string(b), 64); err == nil && f >= 0 && f < 7e9 { // 1.7e9
			return moment{int64(f * 1e9), microsecond}, false, true
		}
		return m, false, false
	}
	unit := second
	switch {
	case whole > nanoseconds:
		unit = 1
	case whole > microseconds:
		unit = microsecond
	case whole > milliseconds:
		unit = millisecond
	}
	m, ok = decimal(b, unit)
	return m, false, ok
}

// forms are the forms of a time, as in ISO 8601 and in the common log format. Those with a zone come first.
// Each may have a fraction of a second.
var forms = []string{time.RFC3339, "2006-01-02T15:04:05Z0700", "02/Jan/2006:15:04:05 -0700",
	"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700", "2006-01-02T15:04:05", "2006-01-02 15:04:05",
	"2006/01/02 15:04:05", "02/Jan/2006:15:04:05"}

// zoned is how many of the forms have a zone.
const zoned = 5

// calendar reads a time in one of the forms. unzoned: it has no zone, and is in the given one.
func calendar(b []byte, zone *time.Location) (m moment, unzoned, ok bool) {
	for i, form := range forms {
		if len(b) < len("2006-01-02T15:04:05") || b[2] == '/' != (form[2] == '/') {
			continue
		}
		t, err := time.ParseInLocation(form, string(b), zone)
		if err != nil || t.Year() < 1970 || t.Year() > 2200 {
			continue
		}
		first, last := t, t
		if i >= zoned && zone != time.UTC {
			first, last = twice(t)
		}
		return moment{first.UnixNano(), step(b) + int64(last.Sub(first))}, i >= zoned, true
	}
	return m, false, false
}

// step returns one step of the last digit of the seconds in a time.
func step(b []byte) int64 {
	at := bytes.IndexAny(b, ".,")
	if at < 0 {
		return second
	}
	n := second
	for at++; at < len(b) && b[at] >= '0' && b[at] <= '9' && n > 1; at++ {
		n /= 10
	}
	return n
}

// twice returns the first and the last instant with the local time of t. They differ if the clock is set
// back, otherwise both are t.
func twice(t time.Time) (first, last time.Time) {
	const near = 12 * time.Hour // nowhere is the clock set twice within it
	first, last = t, t
	_, here := t.Zone()
	for _, other := range []time.Time{t.Add(-near), t.Add(near)} {
		_, there := other.Zone()
		if same := t.Add(time.Duration(here-there) * time.Second); same.Hour() == t.Hour() &&
			same.Minute() == t.Minute() && same.Day() == t.Day() {
			if same.Before(first) {
				first = same
			}
			if same.After(last) {
				last = same
			}
		}
	}
	return first, last
}
