package timeline

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rlcheck/rlcheck/internal/text"
)

// memberSet is a set of members of an observation.
type memberSet uint16

// The members of an observation. Those below memberPartition are integers.
const (
	memberSeq memberSet = 1 << iota
	memberAt
	memberSent
	memberFirstByte
	memberDone
	memberStatus
	memberCost
	memberObserver
	memberPartition
	memberPhase
	memberOutcome
	memberError
	memberBody
	memberFields
	memberOrigin

	memberIntegers = memberPartition - 1
)

// memberNames are the names of the members in the order of their bits.
var memberNames = [...]string{"seq", "at_ns", "sent_ns", "first_byte_ns", "done_ns", "status", "cost",
	"observer", "partition", "phase", "outcome", "error", "body", "fields", "origin"}

func nameOf(m memberSet) string { return memberNames[bits.TrailingZeros16(uint16(m))] }

// maxStatus is the largest status: three digits.
const maxStatus = 999

// memberOf returns the member with a name, or 0 if there is none.
func memberOf[T string | []byte](name T) memberSet {
	for i := range memberNames {
		if memberNames[i] == string(name) {
			return 1 << i
		}
	}
	return 0
}

// setInteger sets an integer member. complete checks its range.
func setInteger(o *Observation, m memberSet, v int64) {
	switch m {
	case memberSeq:
		o.Seq = int(v)
	case memberAt:
		o.At = time.Duration(v)
	case memberSent:
		o.Sent = time.Duration(v)
	case memberFirstByte:
		o.FirstByte = time.Duration(v)
		o.Answered = true
	case memberDone:
		o.Done = time.Duration(v)
	case memberStatus:
		o.Status = int(v)
	case memberCost:
		o.Cost = v
	case memberObserver:
		if o.Observer = int32(v); int64(o.Observer) != v {
			o.Observer = -1
		}
	}
}

// setText sets a text member. A word that is no outcome is a problem.
func (r *Reader) setText(o *Observation, m memberSet, text []byte) {
	switch m {
	case memberPartition:
		o.Partition = r.names.get(text)
	case memberPhase:
		o.Phase = r.names.get(text)
	case memberError:
		o.Error = r.names.get(text)
	case memberBody:
		o.Body = r.names.get(text)
	case memberOutcome:
		if o.Outcome.UnmarshalText(text) != nil {
			r.addOutcome(string(text))
		}
	}
}

// parseInteger reads a whole number. why says what text is instead.
func parseInteger(text string) (v int64, why, mend string) {
	v, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err == nil:
		return v, "", ""
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Sprintf("does not fit 64 bits: at most %d", int64(math.MaxInt64)), ""
	case strings.ContainsAny(text, ".eE") && isNumber(text):
		return 0, "a number here is whole", "round it; times are in nanoseconds"
	default:
		return 0, "a number is needed", ""
	}
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil || errors.Is(err, strconv.ErrRange)
}

// complete fills in the defaults of o and checks it against the rules and the observations before it. r.seen
// are the members of o that were read. It returns false if it added a problem.
func (r *Reader) complete(o *Observation) bool {
	r.ever |= r.seen
	if r.seen&memberSent == 0 {
		mend := r.strays.instead(memberSent)
		if r.n == 1 && r.seen == 0 && slices.ContainsFunc(r.ignored,
			func(name string) bool { return slices.Contains(headerNames, name) }) {
			mend = fmt.Sprintf("a header line has the member %q: %q", "rlcheck", timelineVersion)
		}
		r.add(`"sent_ns" missing`, "every observation has the time when it was sent", mend)
		return false
	}
	before := r.problems.count
	if r.strays.set != 0 {
		has := r.seen
		if o.Outcome == Unknown && o.Status == 0 {
			has |= memberFirstByte // no answer came
		}
		r.addStrays(has)
	}
	if r.seen&memberSeq == 0 {
		o.Seq = r.n - 1
	}
	if r.seen&memberAt == 0 {
		o.At = o.Sent
	}
	if r.seen&memberCost == 0 {
		o.Cost = 1
	}
	if r.seen&memberOutcome == 0 {
		r.inferOutcome(o)
	}
	o.check(r.seen, r.prev, r.add)
	r.prev = max(o.Sent, 0)
	if o.Seq >= 0 && !r.seqs.insert(o.Seq) {
		r.add(fmt.Sprintf("seq %d", o.Seq), "an earlier observation has the same number",
			"leave seq out to number them by position")
	}
	return r.problems.count == before
}

func (r *Reader) inferOutcome(o *Observation) {
	switch {
	case r.seen&memberStatus != 0:
		o.Outcome = r.opts.Outcome(o.Status)
	case r.seen&memberError == 0 || o.Answered:
		mend := cmp.Or(r.strays.instead(memberOutcome), r.strays.instead(memberStatus),
			"write unknown as the outcome if it is not known")
		r.add(`"outcome" and "status" missing`, "every observation has one of them", mend)
	}
}

// check calls bad for each rule that o breaks behind an observation that was sent at prev. seen are the
// members that its line has.
func (o *Observation) check(seen memberSet, prev time.Duration, bad func(what, why, mend string)) {
	if o.At < 0 || o.Sent < 0 || o.Answered && o.FirstByte < 0 || o.Done < 0 {
		for _, t := range []struct {
			m  memberSet
			at time.Duration
		}{{memberAt, o.At}, {memberSent, o.Sent}, {memberFirstByte, o.FirstByte}, {memberDone, o.Done}} {
			if t.at < 0 && seen&t.m != 0 {
				bad(fmt.Sprintf("%s %d", nameOf(t.m), t.at),
					"times count from the start of the recording", "")
			}
		}
	}
	if o.Sent >= 0 && o.Sent < prev {
		bad(fmt.Sprintf("sent_ns %d", o.Sent), fmt.Sprintf("the observation before it was sent at %d; they "+
			"ascend by sent_ns", prev), "sort the file by sent_ns")
	}
	if o.Answered && o.FirstByte < o.Sent {
		bad(fmt.Sprintf("first_byte_ns %d", o.FirstByte), fmt.Sprintf("before it was sent at %d", o.Sent),
			"leave first_byte_ns out if no answer came")
	}
	switch {
	case seen&memberDone == 0:
	case o.Answered && o.Done < o.FirstByte:
		bad(fmt.Sprintf("done_ns %d", o.Done), fmt.Sprintf("before its first byte at %d", o.FirstByte),
			"leave done_ns out if it is not known")
	case o.Done < o.Sent:
		bad(fmt.Sprintf("done_ns %d", o.Done), fmt.Sprintf("before it was sent at %d", o.Sent),
			"leave done_ns out if it is not known")
	}
	o.checkOthers(bad)
}

// checkOthers is check for the members that are no times.
func (o *Observation) checkOthers(bad func(what, why, mend string)) {
	if o.Cost < CostUnknown {
		bad(fmt.Sprintf("cost %d", o.Cost), "a request costs at least 0, or -1 if it is not known", "")
	}
	if o.Status < 0 || o.Status > maxStatus {
		bad(fmt.Sprintf("status %d", o.Status), "a status has at most three digits",
			"leave status out if none came")
	}
	if o.Observer < 0 {
		bad(nameOf(memberObserver), "observers are numbered from 1, with at most nine digits", "")
	}
	if o.Seq < 0 {
		bad(fmt.Sprintf("seq %d", o.Seq), "observations are numbered from 0", "")
	}
	if !soundName(o.Partition) { // two names could have become one, and would share a quota
		bad("partition "+excerpt(o.Partition), "the name of a partition is UTF-8, without U+FFFD",
			"write other bytes in hex or base64")
	}
}

func soundName(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return !strings.ContainsRune(s, utf8.RuneError) // it finds invalid bytes, too
		}
	}
	return true
}

// maxProblems is how many problems of one file are reported. The others are counted.
const maxProblems = 10

// ParseError is one problem of a timeline or schedule file.
type ParseError struct {
	// File is the name that was given to the reader.
	File string
	// Line counts from 1 and lies inside the file (1 for an empty file).
	Line int
	// What quotes the offending text, Why states the rule, Mend is an edit that helps. Mend may be empty.
	What, Why, Mend string
	// More is how many further problems of the file were left out. It is set only on the last problem.
	More int
	// Err is the cause if the bytes could not be read at all. It is ErrNotJSON for a line that is no JSON
	// object, and nil for a problem of the content.
	Err error
}

// ErrNotJSON is the cause of the problem of a line that is no JSON object. The file may have another format.
var ErrNotJSON = errors.New("not a JSON object")

// Error returns file:line: what: why (mend).
func (e ParseError) Error() string {
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, text.NewProblem(e.What, e.Why, e.Mend))
}

// Unwrap returns Err.
func (e ParseError) Unwrap() error { return e.Err }

// Errors are the problems of one file in the order of its lines, at most ten and at least one.
type Errors []ParseError

// Error returns a line for each problem, and one more with the number of those left out.
func (e Errors) Error() string {
	var b strings.Builder
	for i, p := range e {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.Error())
		if p.More > 0 {
			fmt.Fprintf(&b, "\n%s: %d more left out", p.File, p.More)
		}
	}
	return b.String()
}

// Unwrap returns the problems one by one, for errors.Is and errors.As.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i := range e {
		all[i] = e[i]
	}
	return all
}

// problems collects what is wrong with one file.
type problems struct {
	file string
	list Errors
	// count is how many problems there are, listed or not.
	count int
}

func (p *problems) add(e ParseError) {
	p.count++
	if len(p.list) == maxProblems {
		p.list[maxProblems-1].More++
		return
	}
	e.File = p.file
	p.list = append(p.list, e)
}

// cut takes back all problems but the first n.
func (p *problems) cut(n int) {
	p.count = n
	p.list = p.list[:min(n, len(p.list))]
	if len(p.list) == maxProblems {
		p.list[maxProblems-1].More = n - maxProblems
	}
}

// excerpt quotes text for a message, at most its first 40 bytes.
func excerpt[T ~string | ~[]byte](text T) string {
	const most = 40
	if len(text) <= most {
		return strconv.Quote(string(text))
	}
	end := most
	for end > most-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return strconv.Quote(string(text[:end])) + "..."
}

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
