package accesslog

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/text"
)

// layout is the form of the lines of a log. There are two: patterns and JSON (object).
type layout interface {
	// split puts the values of a line into v, which is all nil. They are valid until the next call.
	split(line []byte, v values) flaw
}

// flaw says what is wrong with a line. Nothing is wrong if what is empty and foreign is false.
type flaw struct {
	what, why, mend string
	// foreign: the line is sound, and is no request.
	foreign bool
	// soft: the line is left out and counted, and the others are read.
	soft bool
	// final: the same is wrong with all lines.
	final bool
}

func (f flaw) found() bool { return f.what != "" }

// values are the needed values of one line, by slot. nil: the line does not have it.
type values [][]byte

// slot is the place of a value.
type slot int

// The slots that all servers share. The fields of Options get further slots. Of the times of one kind, the
// first that a line has counts.
const (
	slotStatus slot = iota
	slotMethod
	slotTarget // the request target, with its query
	slotRequest
	slotHost
	slotAddress
	slotRemote // the address if slotAddress is absent
	slotUser
	slotStart       // when the request began
	slotStartCoarse // the same
	slotEnd         // when it ended
	slotEndISO      // the same
	slotEndCLF      // the same
	slotTime        // when it began, or ended, or any time between
	slotNanos       // how long it took, in nanoseconds
	slotMicros
	slotMillis
	slotSeconds
	slotDuration   // the same, in the unit of the server
	slotHeader     // from the beginning to the answer's header, in the unit of the server
	slotHeader2    // to be added to it
	slotHeader3    // to be added to it
	slotHeader4    // to be added to it
	slotKind       // tells requests from other lines
	slotCompletion // how the request ended
	slotRest       // what server.after reads
	sharedSlots
)

// unwanted is the slot of a value that is not needed.
const unwanted slot = -1

// field is a value that partitions or conditions read.
type field struct {
	name string
	slot slot
	// other is the slot of another spelling of the name, unwanted if there is none.
	other slot
	// path: only the path of the value is meant.
	path bool
	// bits says how much of an address is meant: the first so many of IPv4 and of IPv6. 0: all.
	bits [2]int
}

// sharedNames are the fields that have the same names for users in every format.
var sharedNames = map[string]slot{"address": slotAddress, "user": slotUser, "host": slotHost,
	"path": slotTarget, "method": slotMethod, "status": slotStatus}

// get returns the value of a field, or nil if the line does not have it.
func (v values) get(f field) []byte {
	b := v[f.slot]
	if b == nil && f.other >= 0 {
		b = v[f.other]
	}
	if f.path && b != nil {
		return path(b)
	}
	return b
}

// table gives slots to the names of a format.
type table struct {
	slots map[string]slot
	n     slot
	// most is to how many bytes a log cuts a value. Two longer values may look like one.
	most map[slot]int
}

// units are the endings of a column's name that say in which unit a duration is.
var units = map[string]slot{":ns": slotNanos, ":us": slotMicros, ":ms": slotMillis, ":s": slotSeconds}

func newTable(names map[string]slot, columns map[string]string) (*table, error) {
	t := &table{map[string]slot{}, sharedSlots, map[slot]int{}}
	for name, s := range names {
		if _, moved := columns[name]; !moved {
			t.slots[name] = s
		}
	}
	given := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		s, known := names[name]
		if !known {
			return nil, text.NewProblem(fmt.Sprintf("column %q", name),
				"this format has "+strings.Join(slices.Sorted(maps.Keys(names)), ", "), "")
		}
		theirs := columns[name]
		if other, twice := given[theirs]; twice && names[other] != s {
			return nil, text.NewProblem(fmt.Sprintf("column %q", theirs),
				fmt.Sprintf("two names (%s and %s) cannot map to one value", other, name), "")
		}
		given[theirs] = name
		if s >= slotNanos && s <= slotDuration {
			for end, unit := range units {
				if short, ok := strings.CutSuffix(theirs, end); ok {
					theirs, s = short, unit
				}
			}
		}
		// The user's name counts, even if the format has such a name too.
		t.slots[theirs] = s
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

// find returns the field with a user's name.
func (t *table) find(name string, row *server) field {
	f := field{name: name, other: unwanted}
	name, f.bits = prefixBits(name)
	if s, ok := sharedNames[name]; ok {
		f.slot, f.path = s, name == "path"
		return f
	}
	if row.notation != nil {
		name = row.notation.name(name)
	}
	_, known := t.slots[name]
	f.slot = t.add(name)
	if row.header != "" && !known && headerLike(name) {
		f.other = t.add(fieldIn(row.header, name))
	}
	return f
}

// headerLike tells whether a name looks like that of a header field: it has a capital letter or a dash, and
// no dot or underscore.
func headerLike(name string) bool {
	return strings.ToLower(name) != name && !strings.ContainsAny(name, "._") || strings.Contains(name, "-")
}

// none tells whether a value is missing: nil, empty, or the dash that servers write for nothing.
func none(v []byte) bool { return len(v) == 0 || len(v) == 1 && v[0] == '-' }

// fill completes the values that follow from others: the method and target from the request line, and the
// address, without its port.
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

func digits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0
}
