package transport

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// noteBook has what is told of a target and of the run.
type noteBook struct {
	mu    sync.Mutex
	notes []string
	// words are those of notes of which one is enough. protocols are what the target answered in.
	words, protocols map[string]bool
}

// remember keeps the first error of each word as a note.
func (b *noteBook) remember(w string, err error) {
	if err != nil && w != CauseInterrupted {
		b.once(w, CauseFirst(w, CausePlain(err)))
	}
}

// once adds a note, unless one of the same word exists.
func (b *noteBook) once(w, note string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.words[w] {
		b.words[w] = true
		b.notes = append(b.notes, note)
	}
}

// Note adds a sentence to the header of the timeline.
func (b *noteBook) Note(format string, args ...any) {
	b.mu.Lock()
	b.notes = append(b.notes, fmt.Sprintf(format, args...))
	b.mu.Unlock()
}

// Notes returns the notes so far, oldest first. The caller must not change the slice.
func (b *noteBook) Notes() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.notes
}

// speaks remembers that the target answered on nc in this version of HTTP. Answers of the origin do not
// count.
func (b *noteBook) speaks(p *Pool, nc net.Conn, http string) {
	if p.origin {
		return
	}
	if secure, ok := nc.(*tls.Conn); ok {
		http += ", " + tls.VersionName(secure.ConnectionState().Version)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.protocols[http] = true
}

// hungUp tells whether connections were ended, or got an answer that is not HTTP.
func (b *noteBook) hungUp() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for w := range b.words {
		if CauseHungUp(w) {
			return true
		}
	}
	return false
}

// Protocols returns the versions of HTTP that the target answered in, with those of TLS, in ascending order.
func (b *noteBook) Protocols() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.protocols))
}

// The notes on a ceiling that was reached; AtCeiling and MissedRemedy read them back.
const (
	ceilingOfRequests = "stopped at the ceiling of %d requests"
	ceilingOfTime     = "stopped at the ceiling of %v"
)

// CauseCeilingOfRequests is the note on a ceiling of n requests that was reached.
func CauseCeilingOfRequests(n int) string { return fmt.Sprintf(ceilingOfRequests, n) }

// CauseCeilingOfTime is the note on a ceiling of time that was reached.
func CauseCeilingOfTime(d time.Duration) string { return fmt.Sprintf(ceilingOfTime, d) }

// CauseSlept is the note on a recording that a sleep of this computer ended, and the reason to repeat it.
const CauseSlept = "this computer slept, or its clock was set, so nobody knows how much time passed meanwhile"

// CauseAtCeiling tells whether a note says that the ceiling of time ended a recording.
func CauseAtCeiling(note string) bool {
	return strings.HasPrefix(note, strings.TrimSuffix(ceilingOfTime, "%v"))
}

// slow is the median time of an answer from which on a target keeps connections busy.
const slow = 50 * time.Millisecond

// CauseMissedRemedy says what helps if the plan of tl was not kept. It knows these reasons: a lost agent, a
// ceiling, a stalled machine, and slow answers that occupied all connections. It returns "" for any other
// reason.
func CauseMissedRemedy(tl *timeline.Timeline) string {
	for _, note := range tl.Header.Notes {
		if strings.HasPrefix(note, timeline.OfAgent) {
			return "find out what happened to that agent on its machine, start the agents again, and " +
				"repeat the run"
		}
		var n int
		if _, err := fmt.Sscanf(note, ceilingOfRequests, &n); err == nil {
			return fmt.Sprintf("raise safety: max_requests, which is %d", n)
		}
		if at, found := strings.CutPrefix(note, strings.TrimSuffix(ceilingOfTime, "%v")); found {
			return "raise safety: max_duration, which is " + at
		}
	}
	most, middle := inFlight(tl)
	if still := stalled(tl); still > 0 && middle < slow {
		return fmt.Sprintf("this machine stood still for %v: use a machine with more idle processors, "+
			"or repeat the run (--retries 3)", still.Round(time.Millisecond))
	}
	if most == 0 || middle < slow || most != tl.Header.Audit.Connections { // over HTTP/2 the two differ
		return ""
	}
	return fmt.Sprintf("the median answer took %v, and all %d connections waited for answers: raise "+
		"safety: max_connections, or find out why the target is slow; a faster machine, or more requests, "+
		"do not help", middle.Round(time.Millisecond), most)
}

// stalled returns how long, in total, the recorder of tl did not run.
func stalled(tl *timeline.Timeline) (d time.Duration) {
	for _, s := range tl.Header.Stalls {
		d += s.To - s.From
	}
	return d
}

// inFlight returns the most requests that waited for answers at once, and the median wait. A request without
// an answer waited until the end.
func inFlight(tl *timeline.Timeline) (most int, middle time.Duration) {
	n := len(tl.Observations)
	if n == 0 {
		return 0, 0
	}
	ends, took, last := make([]time.Duration, n), make([]time.Duration, n), tl.End()
	for i := range tl.Observations {
		o := &tl.Observations[i]
		if ends[i] = last; o.Answered {
			ends[i] = o.FirstByte
		}
		took[i] = ends[i] - o.Sent
	}
	slices.Sort(ends)
	slices.Sort(took)
	over := 0
	for i := range tl.Observations { // ascending by Sent
		for over < i && ends[over] <= tl.Observations[i].Sent {
			over++
		}
		most = max(most, i+1-over)
	}
	return most, took[n/2]
}
