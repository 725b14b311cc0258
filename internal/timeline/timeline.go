// Package timeline holds what was planned and what happened: the schedule of a run, and the observations that
// were recorded. They are in memory or, if they are too many, in a Spool. It reads and writes their files: a
// line of JSON for each observation, plain or compressed, the journal of a recording while it is made, and
// CSV. It measures how long answers took (LatencySummary). It knows neither HTTP nor any algorithm.
//
// Time is a time.Duration since the start of the recording, monotonic. Wall time appears once, in the Header.
package timeline

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"
)

// Outcome is what the target did with one request.
type Outcome uint8

// The three outcomes. Unknown is the zero value: no answer came, or no rule classifies its status. The target
// may or may not have admitted the request.
const (
	Unknown Outcome = iota
	Allowed
	Denied
)

// String returns the word used in timeline files: unknown, allowed or denied.
func (o Outcome) String() string {
	switch o {
	case Allowed:
		return "allowed"
	case Denied:
		return "denied"
	default:
		return "unknown"
	}
}

// MarshalText returns String.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads what String returns.
func (o *Outcome) UnmarshalText(word []byte) error {
	for *o = Unknown; *o <= Denied; *o++ {
		if o.String() == string(word) {
			return nil
		}
	}
	return fmt.Errorf("outcome %q: an outcome must be allowed, denied or unknown", word)
}

// Arrival is a planned request.
type Arrival struct {
	// Seq numbers the requests of a run from 0, in the order in which they were planned.
	Seq int `json:"seq"`
	// Partition is the key under which the quota is counted. May be empty.
	Partition string `json:"partition"`
	// Phase names the phase of the schedule to which the request belongs. May be empty.
	Phase string `json:"phase"`
	// At is when the request is due.
	At time.Duration `json:"at_ns"`
	// Cost is the number of quota units that the request takes, at least 1. In a recording of a limit whose
	// costs answers tell, an admitted request has the cost that its answer told, 0 or more, or CostUnknown.
	Cost int64 `json:"cost"`
	// Origin: the request goes to the origin instead of the target (proxy comparisons).
	Origin bool `json:"origin"`
}

// CostUnknown is the Cost of a request whose answer did not tell what it cost.
const CostUnknown = -1

// Field is one header field of an answer, its name in canonical form.
type Field struct{ Name, Value string }

// Fields are the recorded header fields of one answer, ascending by name. Repeated lines are joined by ", ".
// May be nil.
type Fields []Field

// Get returns the value of the field with the canonical name, and whether the answer had it.
func (f Fields) Get(name string) (string, bool) {
	for _, x := range f {
		if x.Name == name {
			return x.Value, true
		}
	}
	return "", false
}

// Observation is an arrival and what became of it.
type Observation struct {
	Arrival
	// Sent is the clock just before the write that first lets the target decide. The closed interval [Sent,
	// FirstByte] contains the decision.
	Sent time.Duration
	// FirstByte is a time by which the first byte of the answer had arrived, at most the clock after the read
	// that returned it. It means nothing unless Answered.
	FirstByte time.Duration
	// Done is the clock after the last byte of the answer. 0: it is not known.
	Done time.Duration
	// Answered tells whether an answer came at all.
	Answered bool
	// Observer is who recorded it, numbered from 1, if there are several with a clock each. 0: not known.
	Observer int32
	// Status is the HTTP status, 0 if no answer came.
	Status int
	// Outcome is what the target did.
	Outcome Outcome
	// Error says in a word or two why no answer came (timeout, reset, refused, ...). Empty for an answered
	// request.
	Error string
	// Fields are the header fields that were recorded.
	Fields Fields
	// Body is the beginning of the answer's body, if the recorder was asked to keep it.
	Body string
}

// NoAnswer tells whether an Observation.Error says that the target was reached and gave no answer: it closed
// the connection, or nothing came in time.
func NoAnswer(word string) bool {
	switch word {
	case "timeout", "eof", "closed", "reset":
		return true
	default:
		return false
	}
}

// OfAgent begins a note that says which of several recorders broke the plan, and how.
const OfAgent = "the plan was not kept: agent "

// OfTarget begins a note about the target that every reader of a verdict must know.
const OfTarget = "target: "

// Header is the first line of a timeline file: what is known of the clocks of one recording.
type Header struct {
	// Started is the wall time of zero. The zero time: it is not known. Windows that are aligned to the clock
	// then have an unknown phase.
	Started time.Time `json:"started,omitzero"`
	// WallError is how far the target's wall clock may be from ours, in either direction.
	WallError time.Duration `json:"wall_error_ns"`
	// ClockError widens every interval at both ends. It is for recordings by several observers with several
	// clocks.
	ClockError time.Duration `json:"clock_error_ns"`
	// DriftPPM is by how many millionths the target's clock may run faster or slower than ours, from the
	// start of the recording on.
	DriftPPM int64 `json:"drift_ppm,omitempty"`
	// Tick is how coarse the target's own clock may be: it reads a time in [d-Tick, d] for a decision at d.
	Tick time.Duration `json:"tick_ns"`
	// Ended is the end of the recording. The interval of a request that was never answered ends there. Zero:
	// the largest time in the file.
	Ended time.Duration `json:"ended_ns"`
	// CompleteFrom and CompleteUntil bound, both included, the time in which no decided request is missing. A
	// recording cut out of traffic that went on before and after, such as an access log, misses requests that
	// ended before its beginning or after its end. Zero: from before the first request, and until after the
	// last.
	CompleteFrom, CompleteUntil time.Duration `json:"-"`
	// Unsent counts planned requests that could not be sent. They are no observations.
	Unsent int `json:"unsent"`
	// Lost counts those of Unsent that may have been sent: the recording of their agent is lost.
	Lost int `json:"lost,omitempty"`
	// Interrupted: the recording was stopped before its plan was done.
	Interrupted bool `json:"interrupted"`
	// Spreads are the measured spreads of the phases that were meant to arrive together; may be empty.
	Spreads []Spread `json:"spreads"`
	// Stalls are the times in which the recorder itself did not run, ascending, without overlap. May be
	// empty.
	Stalls []Stall `json:"-"`
	// Phases says how well the plan of each phase was kept, in the order of the plan. Empty: it is not known.
	Phases []Kept `json:"phases,omitempty"`
	// Notes are what the recorder says of itself (interrupted, ceilings reached) and, behind OfTarget, of the
	// target. May be empty.
	Notes []string `json:"notes"`
	// Counted are the denials that the target had counted itself, at each Count event in their order. May be
	// empty.
	Counted []int64 `json:"-"`
	// Protocols are those of the target's answers, with the version of TLS ("HTTP/2, TLS 1.3"), sorted, each
	// once. Empty: not known.
	Protocols []string `json:"protocols,omitempty"`
	// Audit is what the recorder measured of itself.
	Audit Audit `json:"audit"`
	// Judged are the terms by which the recording was judged when it was made.
	Judged Terms `json:"-"`
}

// Apart returns how much later an instant of observer a must be in the recording to be surely later than one
// of observer b. One clock that never goes back orders its own instants, however wrong it is.
func (h *Header) Apart(a, b int32) time.Duration {
	if a != 0 && a == b {
		return 0
	}
	return 2 * h.ClockError
}

// MaxDriftPPM is the largest drift of a header: a tenth.
const MaxDriftPPM = 100_000

// Drift returns how far the target's clock and ours may come apart within d, in either direction, rounded up.
func (h *Header) Drift(d time.Duration) time.Duration {
	if d < 0 {
		d = -d
	}
	const million = 1_000_000
	return d/million*time.Duration(h.DriftPPM) + (d%million*time.Duration(h.DriftPPM)+million-1)/million
}

// Audit is what a recorder measured of itself, to tell its own faults from the target's. The zero value:
// nothing was measured.
type Audit struct {
	// CPUShare is the processor time of the recorder's process, divided by the time that passed (2.0: two
	// processors).
	CPUShare float64 `json:"cpu_share"`
	// LongestGC is the longest pause of the garbage collector, Collections their number.
	LongestGC   time.Duration `json:"longest_gc_ns"`
	Collections int           `json:"collections"`
	// Connections is the number of connections opened.
	Connections int `json:"connections"`
}

// Spread is the time from the first to the last send of one simultaneous burst.
type Spread struct {
	Phase    string        `json:"phase"`
	Requests int           `json:"requests"`
	Width    time.Duration `json:"width_ns"`
}

// Stall is a closed interval of the recording in which the recorder could neither send nor read.
type Stall struct {
	From time.Duration `json:"from_ns"`
	To   time.Duration `json:"to_ns"`
}

// Apart joins times that overlap, and returns them ascending. It sorts all.
func Apart(all []Stall) []Stall {
	slices.SortFunc(all, func(a, b Stall) int { return cmp.Compare(a.From, b.From) })
	apart := all[:0]
	for _, s := range all {
		if n := len(apart); n > 0 && s.From <= apart[n-1].To {
			apart[n-1].To = max(apart[n-1].To, s.To)
			continue
		}
		apart = append(apart, s)
	}
	return apart
}

// Kept is how well a recorder kept the plan of one phase.
type Kept struct {
	Phase string `json:"phase"`
	// Sent and Unsent count the planned requests. Requests that find a boundary are in neither.
	Sent   int `json:"sent"`
	Unsent int `json:"unsent"`
	// LateP99 and LateMax are how late requests were sent against the plan: the 99th percentile and the most.
	LateP99 time.Duration `json:"late_p99_ns"`
	LateMax time.Duration `json:"late_max_ns"`
	// Stalled is how long the recorder did not run. ReadLag is the longest time that it took to read what had
	// come, by samples.
	Stalled time.Duration `json:"stalled_ns"`
	ReadLag time.Duration `json:"read_lag_ns"`
}

// Timeline is one recording.
type Timeline struct {
	Header Header
	// Observations ascend by Sent. May be empty.
	Observations []Observation
	// Spool has all observations of a recording that is too long for memory, otherwise it is nil.
	// Observations are then its beginning, as if the recording had been stopped when the next one was sent.
	Spool *Spool
}

// All yields the observations of t in their order. With a Spool, each is overwritten by the next.
func (t *Timeline) All() iter.Seq[*Observation] {
	if t.Spool != nil {
		return t.Spool.Each
	}
	return func(yield func(*Observation) bool) {
		for i := range t.Observations {
			if !yield(&t.Observations[i]) {
				return
			}
		}
	}
}

// Close removes the file of a recording with a Spool.
func (t *Timeline) Close() {
	if t.Spool != nil {
		t.Spool.Close()
	}
}

// Sent returns the number of observations of t.
func (t *Timeline) Sent() int {
	if t.Spool != nil {
		return t.Spool.N
	}
	return len(t.Observations)
}

// Beginning returns what t would be if it had been stopped when the first request outside its Observations
// was sent. It is t itself if there is no such request.
func (t *Timeline) Beginning() *Timeline {
	if t.Spool == nil {
		return t
	}
	out := &Timeline{Header: t.Header, Observations: t.Observations}
	out.Header.Interrupted, out.Header.Ended, out.Header.Unsent = true, 0, 0
	for i := range t.Observations {
		o := &t.Observations[i]
		out.Header.Ended = max(out.Header.Ended, o.Sent, o.FirstByte, o.Done)
	}
	return out
}

// Counts are the numbers of a run that must add up: Planned = Sent + Unsent, Sent = Allowed + Denied +
// Unknown. Lost are those of Unsent of which it is not known whether they were sent.
type Counts struct {
	Planned int `json:"planned"`
	Sent    int `json:"sent"`
	Unsent  int `json:"unsent"`
	Allowed int `json:"allowed"`
	Denied  int `json:"denied"`
	Unknown int `json:"unknown"`
	Lost    int `json:"lost,omitempty"`
}

// Counts returns the counts of a recording before its observations are added.
func (h *Header) Counts() Counts { return Counts{Planned: h.Unsent, Unsent: h.Unsent, Lost: h.Lost} }

// Counts adds up the observations of t.
func (t *Timeline) Counts() Counts {
	c := t.Header.Counts()
	for o := range t.All() {
		c.Add(o)
	}
	return c
}

// Add counts an observation.
func (c *Counts) Add(o *Observation) {
	c.Planned++
	c.Sent++
	switch o.Outcome {
	case Allowed:
		c.Allowed++
	case Denied:
		c.Denied++
	default:
		c.Unknown++
	}
}

// Interrupted is the Error of an observation whose recording was stopped before its answer came.
const Interrupted = "interrupted"

// BySent orders observations as they stand in a recording: by Sent, then by Seq.
func BySent(a, b Observation) int {
	return cmp.Or(cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.Seq, b.Seq))
}

// SortBySent puts observations into the order of BySent, stably. An observation is large, so each is moved
// once at most, and none is copied to be compared.
func SortBySent(all []Observation) {
	type place struct {
		sent    time.Duration
		seq, at int
	}
	n := 1 // so many are in order
	for ; n < len(all); n++ {
		a, b := &all[n-1], &all[n]
		if a.Sent > b.Sent || a.Sent == b.Sent && a.Seq > b.Seq {
			break
		}
	}
	if n >= len(all) {
		return
	}
	places := make([]place, len(all))
	for i := range all {
		places[i] = place{all[i].Sent, all[i].Seq, i}
	}
	slices.SortFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.sent, b.sent), cmp.Compare(a.seq, b.seq), cmp.Compare(a.at, b.at))
	})
	for i := range places { // one cycle of the permutation after the other
		first := all[i]
		for to := i; ; {
			from := places[to].at
			places[to].at = to
			if from == i {
				all[to] = first
				break
			}
			all[to], to = all[from], from
		}
	}
}

// End returns the end of the recording: Header.Ended, or the largest time that was observed.
func (t *Timeline) End() time.Duration {
	end := t.Header.Ended
	if t.Spool != nil && end > 0 {
		return end
	}
	for o := range t.All() {
		end = max(end, o.Sent, o.FirstByte, o.Done)
	}
	return end
}

// Part is the observations of one partition, in the order of the timeline.
type Part struct {
	Partition    string
	Observations []Observation
}

// ByPartition splits the observations by their partition, ascending by its name; nil if there are none. With
// one partition, the observations are those of t and not a copy. Otherwise it copies each observation once.
// The cost is linear, and p log p for p partitions.
func (t *Timeline) ByPartition() (parts []Part) {
	place := map[string]int{} // at first how many observations a partition has, then the place of its part
	for i := range t.Observations {
		place[t.Observations[i].Partition]++
	}
	if len(place) == 1 {
		return []Part{{t.Observations[0].Partition, t.Observations}}
	}
	copies := make([]Observation, len(t.Observations))
	for _, name := range slices.Sorted(maps.Keys(place)) {
		n := place[name]
		place[name] = len(parts)
		parts = append(parts, Part{name, copies[:0:n]})
		copies = copies[n:]
	}
	for i := range t.Observations {
		p := &parts[place[t.Observations[i].Partition]]
		p.Observations = append(p.Observations, t.Observations[i])
	}
	return parts
}
