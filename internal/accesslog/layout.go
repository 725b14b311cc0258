package accesslog

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// layout is the form of the lines of one format, and what their times mean.
type layout interface {
	// split puts the values of a line into v, which is all nil. They are valid until the next call.
	split(line []byte, v values) flaw
	// span returns when the request of a line may have been decided.
	span(v values) (span, flaw)
	// own returns the format's name of a field that is not one of the shared names. ok=false: the format has
	// no such field.
	own(name string) (own string, ok bool)
	// ready is called once, before split, with the fields that are needed. Its error names those that no line
	// can have.
	ready(fields []field) error
}

// partial is a layout that may have only a part of a value that the client sent. Two clients may then look
// like one.
type partial interface {
	// lost returns what is wrong with the value of a field as a partition. Nothing is wrong if it is whole.
	lost(f field, value []byte) flaw
}

// field is a value that partitions or conditions read.
type field struct {
	name string
	slot slot
	// path: only the path of the value is meant.
	path bool
}

// sharedNames are the fields that have the same names for users in every format.
var sharedNames = map[string]field{
	"address": {"address", slotAddress, false}, "user": {"user", slotUser, false},
	"host": {"host", slotHost, false},
	"path": {"path", slotTarget, true}, "method": {"method", slotMethod, false},
	"status": {"status", slotStatus, false},
}

// find returns the field with a user's name.
func find(name string, l layout, t *table) (field, bool) {
	if f, ok := sharedNames[name]; ok {
		return f, true
	}
	own, ok := l.own(name)
	if !ok {
		return field{}, false
	}
	return field{name, t.add(own), false}, true
}

// span is a time in nanoseconds since the Unix epoch.
type span struct {
	// The request was decided in the closed interval [from, to].
	from, to int64
	// end is when the request ended, or an earlier instant.
	end int64
	// local: the logged time has no zone.
	local bool
	// whole: the answer was sent to its last byte, and not after to.
	whole bool
}

// flaw says what is wrong with a line. Nothing is wrong if what is empty and foreign is false.
type flaw struct {
	what, why, mend string
	// foreign: the line is sound, and is no request.
	foreign bool
	// final: the same is wrong with all lines.
	final bool
}

func (f flaw) found() bool { return f.what != "" }

// values are the needed values of one line, by slot. nil: the line does not have it.
type values [][]byte

// slot is the place of a value.
type slot int

// The slots that all formats share. The format decides which of the times a line has. The fields of
// Options.PartitionBy and Options.Match get further slots.
const (
	slotStatus slot = iota
	slotMethod
	slotTarget // the request target, with its query
	slotRequest
	slotHost
	slotAddress
	slotRemote // the address if slotAddress is absent
	slotUser
	slotMsec // seconds since the Unix epoch, a decimal
	slotISO  // a time as in ISO 8601
	slotCLF  // a time as in the common log format
	slotEnd
	slotDuration
	slotLogger
	slotCompletion // how the request ended
	sharedSlots
)

// table gives slots to the names of a format.
type table struct {
	slots map[string]slot
	n     slot
}

func newTable(names map[string]slot, columns map[string]string) (*table, error) {
	t := &table{map[string]slot{}, sharedSlots}
	for name, s := range names {
		if _, moved := columns[name]; !moved {
			t.slots[name] = s
		}
	}
	given := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		s, known := names[name]
		if !known {
			continue
		}
		theirs := columns[name]
		if other, twice := given[theirs]; twice && names[other] != s {
			return nil, &OptionError{"Columns", fmt.Sprintf("column %q", theirs),
				fmt.Sprintf("two names (%s and %s) cannot map to one value", other, name), ""}
		}
		given[theirs] = name
		// The user's name counts, even if the format has such a name too.
		t.slots[theirs] = s
	}
	for name := range columns {
		if _, ok := names[name]; !ok {
			known := make([]string, 0, len(names))
			for n := range names {
				known = append(known, n)
			}
			slices.Sort(known)
			return nil, &OptionError{"Columns", fmt.Sprintf("column %q", name),
				"this format has " + strings.Join(known, ", "), ""}
		}
	}
	return t, nil
}

// add returns the slot of a name, and gives it a new one if it has none.
func (t *table) add(name string) slot {
	s, ok := t.slots[name]
	if !ok {
		s = t.n
		t.slots[name] = s
		t.n++
	}
	return s
}

// name returns the first of the names that have a slot. Empty: none has it.
func (t *table) name(s slot) string {
	for _, name := range slices.Sorted(maps.Keys(t.slots)) {
		if t.slots[name] == s {
			return name
		}
	}
	return ""
}

// newLayout returns the layout of a format.
func newLayout(o Options) (layout, *table, error) {
	if o.Layout != "" && o.Format != Nginx && o.Format != Envoy {
		return nil, nil, &OptionError{"Layout", "layout " + quote(o.Layout),
			fmt.Sprintf("the form of %s is fixed", o.Format), ""}
	}
	w := widths{max: o.MaxDuration, lag: o.Lag, lagSet: o.LagSet}
	switch o.Format {
	case Nginx:
		return newNginx(o, w)
	case NginxJSON:
		return newJSON(o, nginxNames, nginxTimes{w})
	case HAProxy:
		return newHAProxy(o, w)
	case Envoy:
		return newEnvoy(o, w)
	case EnvoyJSON:
		return newJSON(o, envoyNames, envoyTimes{w})
	case Caddy:
		return newJSON(o, caddyNames, caddyTimes{w, o.Zone})
	case ALB:
		return newALB(o, w)
	}
	return nil, nil, &OptionError{"Format", fmt.Sprintf("format %q", o.Format),
		fmt.Sprintf("it is one of %v", Formats()), ""}
}

// widths say by how much intervals are widened.
type widths struct {
	max    time.Duration
	lag    time.Duration
	lagSet bool
}

// or returns the lag that the user gave, or else usual.
func (w widths) or(usual time.Duration) int64 {
	if w.lagSet {
		return int64(w.lag)
	}
	return int64(usual)
}

// drift returns how far a duration on a monotonic clock and one on the wall clock, which is slewed, may
// differ. NTP slews by at most 500 millionths.
func drift(duration int64) int64 { return duration / 1000 }

// missingDuration returns the flaw of a log without durations.
func missingDuration(mend string) flaw {
	return flaw{what: "no duration", why: "without it the start of a request is unknown", mend: mend,
		final: true}
}

// none tells whether a value is missing: nil, empty, or the dash that servers write for nothing.
func none(v []byte) bool { return len(v) == 0 || len(v) == 1 && v[0] == '-' }

// fill completes the values that follow from others: the method and target from the request line, and the
// address.
func (v values) fill() {
	if v[slotAddress] == nil {
		v[slotAddress] = withoutPort(v[slotRemote])
	}
	if v[slotRequest] == nil || v[slotMethod] != nil && v[slotTarget] != nil {
		return
	}
	method, rest, ok := bytes.Cut(v[slotRequest], []byte(" "))
	if !ok || none(method) {
		return // it is no request line: something else was sent
	}
	if target, _, ok := cutLast(rest, ' '); ok {
		rest = target
	}
	if v[slotMethod] == nil {
		v[slotMethod] = method
	}
	if v[slotTarget] == nil {
		v[slotTarget] = rest
	}
}

// path returns the path of a request target, without query and fragment, and without scheme and authority.
func path(target []byte) []byte {
	if i := bytes.Index(target, []byte("://")); i > 0 && !bytes.Contains(target[:i], []byte("/")) {
		rest := target[i+3:]
		if j := bytes.IndexByte(rest, '/'); j >= 0 {
			target = rest[j:]
		} else {
			target = []byte("/")
		}
	}
	if i := bytes.IndexAny(target, "?#"); i >= 0 {
		target = target[:i]
	}
	return target
}

// cutLast cuts b at its last sep.
func cutLast(b []byte, sep byte) (before, after []byte, ok bool) {
	if i := bytes.LastIndexByte(b, sep); i >= 0 {
		return b[:i], b[i+1:], true
	}
	return b, nil, false
}

// withoutPort returns the address of address:port or [address]:port. Text without a port stays as it is.
func withoutPort(b []byte) []byte {
	if bytes.Count(b, []byte(":")) == 1 || len(b) > 0 && b[0] == '[' {
		return cutPort(b)
	}
	return b
}

// cutPort returns the address of a text with a port: 10.0.0.1:80, ::1:80 or [::1]:80.
func cutPort(b []byte) []byte {
	if addr, port, ok := cutLast(b, ':'); ok && digits(port) {
		b = addr
	}
	if len(b) > 1 && b[0] == '[' && b[len(b)-1] == ']' {
		b = b[1 : len(b)-1]
	}
	return b
}

func digits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0
}
