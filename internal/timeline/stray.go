package timeline

import (
	"fmt"
	"math/bits"
	"regexp"
	"strconv"
	"strings"

	"github.com/rlcheck/rlcheck/internal/text"
)

// A stray is a name in a file that has no meaning here but looks like a member that matters. The recording
// would be judged without what its author wrote. If the member itself is there, a stray is only ignored.

// strays are the members that names of a line look like, with the last name for each.
type strays struct {
	set  memberSet
	name [len(memberNames)]string
	// known are the names that were compared before.
	known map[string]likeness
	// told are the names that were reported. One report of each is enough.
	told map[string]bool
}

// likeness is the member that a name looks like, if any. misspelt: the name is no other word for it.
type likeness struct {
	member   memberSet
	misspelt bool
}

// mostKnown is how many names are remembered. Others are compared again each time.
const mostKnown = 64

// note takes a name that is no member. ever are the members that the file had so far. Other words for these
// mean something else.
func (s *strays) note(name []byte, ever memberSet, names *interner) {
	like, ok := s.known[string(name)]
	if !ok {
		like = likenessOf(string(name))
		if s.known == nil {
			s.known = make(map[string]likeness)
		}
		if len(s.known) < mostKnown {
			s.known[string(name)] = like
		}
	}
	if m := like.member; m != 0 && (like.misspelt || ever&m == 0) {
		s.set |= m
		s.name[bits.TrailingZeros16(uint16(m))] = names.get(name)
	}
}

// without are the members whose absence changes what is judged, and what then holds.
var without = []struct {
	member memberSet
	holds  string
}{
	{memberPartition, "all requests would count as those of one client"},
	{memberCost, "each request would cost 1"},
	{memberOutcome, "the status alone would tell the outcome"},
	{memberFirstByte, "no answer would have come"},
	{memberDone, "the end of an answer would be unknown"},
	{memberOrigin, "all requests would count as those of the target"},
}

// addStrays adds a problem for each stray of the current line, or row of names, whose member is not in has.
func (r *Reader) addStrays(has memberSet) {
	missing := r.strays.set &^ has &^ r.none
	for _, w := range without {
		name := r.strays.name[bits.TrailingZeros16(uint16(w.member))]
		if missing&w.member == 0 || r.strays.told[name] {
			continue
		}
		if r.strays.told == nil {
			r.strays.told = make(map[string]bool)
		}
		r.strays.told[name] = true
		ours := nameOf(w.member)
		r.add(excerpt(name), fmt.Sprintf("a timeline has no such member, and without %q %s", ours, w.holds),
			fmt.Sprintf("%s; if it means something else, write --columns %s=", rename(w.member, name), ours))
	}
}

// instead returns the mend for a missing member: the name in the line that looks like it. Empty: there is
// none.
func (s *strays) instead(m memberSet) string {
	if s.set&m == 0 {
		return ""
	}
	name := s.name[bits.TrailingZeros16(uint16(m))]
	return fmt.Sprintf("did you mean %q? then %s", name, rename(m, name))
}

// rename returns the edit that makes a name of the file a member.
func rename(m memberSet, name string) string {
	ours := nameOf(m)
	if name == ours {
		return fmt.Sprintf("leave --columns %s=... out, which says that it has another name", ours)
	}
	if _, unit := plainName(name); unit != "" && unit != "ns" && unit != "nanos" {
		return fmt.Sprintf("write %q in nanoseconds", ours)
	}
	if strconv.Quote(name) != `"`+name+`"` { // no shell takes it as it is
		return fmt.Sprintf("write %q", ours)
	}
	return fmt.Sprintf("write %q, or --columns %s=%s", ours, ours, name)
}

// synonyms are other names that people use for the members, without underscores.
var synonyms = wordsFor(map[memberSet]string{
	memberPartition: "key client clientid clientip ip address remoteaddr remoteaddress user userid tenant " +
		"tenantid apikey consumer customer customerid account accountid subject partitionkey partitionid " +
		"limitkey ratelimitkey",
	memberCost:      "weight unit units tokens permits hits credits points",
	memberOutcome:   "decision verdict allowed admitted denied",
	memberSent:      "start started begin time timestamp ts sent",
	memberFirstByte: "firstbyte end ended received response finished",
	memberStatus:    "code statuscode httpstatus",
})

func wordsFor(words map[memberSet]string) map[string]memberSet {
	out := map[string]memberSet{}
	for m, all := range words {
		for _, word := range strings.Fields(all) {
			out[word] = m
		}
	}
	return out
}

// likenessOf returns what a name that is no member looks like. It leaves out members whose absence changes
// nothing (seq, at_ns, phase, error, body, fields).
func likenessOf(name string) likeness {
	plain, unit := plainName(name)
	if m := synonyms[plain]; m != 0 && (unit == "" || m&memberIntegers != 0) {
		return likeness{m, false}
	}
	for _, m := range []memberSet{memberSent, memberFirstByte, memberDone, memberStatus, memberCost,
		memberPartition, memberOutcome, memberOrigin} {
		ours, ourUnit := plainName(nameOf(m))
		if plain == ours && (unit != "" || ourUnit == "" || m == memberSent || m == memberFirstByte) ||
			misspelt(plain+unit, ours+ourUnit) {
			return likeness{m, true}
		}
	}
	return likeness{}
}

// headerNames are the members of a header that change what is judged.
var headerNames = []string{"started", "wall_error_ns", "clock_error_ns", "drift_ppm", "tick_ns", "ended_ns",
	"complete_from_ns", "complete_until_ns", "judged"}

// headerLike returns the member of a header that an unknown name looks like. Empty: it looks like none.
func headerLike(name string) string {
	plain, unit := plainName(name)
	for _, n := range headerNames {
		if ours, ourUnit := plainName(n); plain == ours || misspelt(plain+unit, ours+ourUnit) {
			return n
		}
	}
	switch plain {
	case "start", "startedat", "starttime", "startedtime":
		return "started"
	case "driftppm", "clockdrift":
		return "drift_ppm"
	}
	return ""
}

// unitEnd is a unit of time at the end of a name: sent_ns, sentNs.
var unitEnd = regexp.MustCompile(
	`(_(?i:ns|us|ms|s|sec|seconds|nanos|micros|millis|ppm)|Ns|Us|Ms|Nanos|Micros|Millis|Seconds)$`)

// plainName returns a name in lower case without separators, and separately the unit of time at its end.
func plainName(name string) (plain, unit string) {
	if len(name) > 40 {
		return "", ""
	}
	name = strings.TrimSpace(name)
	if at := unitEnd.FindStringIndex(name); at != nil && at[0] > 0 {
		name, unit = name[:at[0]], strings.ToLower(strings.TrimPrefix(name[at[0]:], "_"))
	}
	return strings.NewReplacer("_", "", "-", "", ".", "", " ", "").Replace(strings.ToLower(name)), unit
}

// misspelt tells whether name is a slip away from ours: one letter too many, too few or wrong, or two
// neighbours swapped. Long names may have two slips. A wrong letter in a short name makes another word (host
// and cost).
func misspelt(name, ours string) bool {
	most := 1
	if len(ours) >= 8 {
		most = 2
	}
	if name == "" || len(name) > len(ours)+most || len(ours) > len(name)+most {
		return false
	}
	if len(ours) < 5 {
		return text.Slips(name, ours) <= most
	}
	return text.Edits(name, ours) <= most
}
