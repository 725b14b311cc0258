package fleet

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Gathered is what the agents recorded together. Its receiver closes it.
type Gathered struct {
	schedule *timeline.Schedule
	parts    []part
	planned  []int
	shelf    *timeline.Shelf
	// zero is when the time of the recording begins, by the clock of the Redis server. started is the same as
	// wall time of the coordinator.
	zero    time.Duration
	started time.Time
	// wall is how wrong started may be.
	wall        time.Duration
	interrupted bool
	// early says who ended before the others, which made them stop. Empty: nobody did.
	early string
}

// Close releases the recordings.
func (g *Gathered) Close() { g.shelf.Close() }

// mostMissing is how many lost agents are named.
const mostMissing = 4

// Missing says whose requests are missing, and why. Empty: the recording is whole.
func (g *Gathered) Missing() string {
	var lost []string
	for i := range g.parts {
		if p := &g.parts[i]; p.lost != "" {
			why := fmt.Sprintf("agent %s: %s", p.agent, p.lost)
			if p.beat.Sent > 0 {
				why += fmt.Sprintf(" (it had sent at least %s)", text.Plural(p.beat.Sent, "request"))
			}
			lost = append(lost, why)
		}
	}
	if n := len(lost) - mostMissing; n > 0 {
		lost = append(lost[:mostMissing], fmt.Sprintf("and %d more of %d agents for the same reason",
			n, len(g.parts)))
	}
	return strings.Join(lost, "; ")
}

// Stopped says who made all agents stop before the plan was done, and why. Empty: nobody did. The recording
// is whole in both cases.
func (g *Gathered) Stopped() string { return g.early }

// WallError returns how far the start of the recording may be from the wall clock of the coordinator.
func (g *Gathered) WallError() time.Duration { return g.wall }

// Timeline returns the merged recording. If it has more than most requests, it is in a Spool, in a file that
// spill makes, and its caller closes it.
//
// Every time is that of the Redis server, as well as the agent knew it. ClockError is that of the worst
// clock, so each interval contains the decision. Requests with a planned time keep their numbers; the others
// are numbered in the order in which they were sent. The requests of a lost agent are unsent and lost, as
// nobody knows which of them were sent. The error is that of a piece, or of the file.
func (g *Gathered) Timeline(spill func() (timeline.Spill, error), most int) (*timeline.Timeline, error) {
	zero := g.earliest()
	tl := &timeline.Timeline{Header: timeline.Header{Started: g.started.Add(zero - g.zero),
		Interrupted: g.interrupted}}
	h := &tl.Header
	planned, free := numbered(g.schedule)
	sorted := timeline.NewSorter(spill)
	var all []*source
	for i := range g.parts {
		p := &g.parts[i]
		if p.lost != "" {
			h.Unsent, h.Lost = h.Unsent+g.planned[i], h.Lost+g.planned[i]
			continue
		}
		x := &source{part: p, shift: p.result.Shift - zero}
		all = append(all, x)
		err := x.read(g.shelf, func(o *timeline.Observation) {
			if o.Observer = int32(i) + 1; !planned[o.Phase] {
				o.Seq = -1
			}
			sorted.Add(o)
		})
		if err != nil {
			return tl, err
		}
	}
	h.ClockError = g.clockError()
	gather(h, all)
	h.Spreads = g.spreads(all, h.ClockError)
	h.Notes = append(h.Notes, g.notes()...)
	s := sorted.Finish().From(free)
	tl.Unroll(s, most)
	return tl, s.Err()
}

// earliest returns when the time of the merged recording begins: before its first request. Requests that
// leave at once are prepared before all agents begin. One that failed then was sent when it was prepared.
func (g *Gathered) earliest() time.Duration {
	zero := g.zero
	for i := range g.parts {
		if p := &g.parts[i]; p.lost == "" && p.result.Counts.Sent > 0 {
			zero = min(zero, p.result.Shift+p.result.Earliest)
		}
	}
	return zero
}

// source is the recording of one part while it is merged. shift added to its times gives the common time.
type source struct {
	*part
	shift  time.Duration
	header timeline.Header
}

// read calls take for every observation of a recording, in the common time. The error says which part of it
// is missing.
func (x *source) read(pieces *timeline.Shelf, take func(*timeline.Observation)) (err error) {
	in := timeline.NewReader(inRow(pieces, x.pieces), x.agent, timeline.ReadOptions{AllowEmpty: true})
	if x.header, err = in.Header(); err != nil {
		return err
	}
	counts := x.header.Counts()
	var o timeline.Observation
	for err = in.Next(&o); err == nil; err = in.Next(&o) {
		o.Sent, o.At = o.Sent+x.shift, max(o.At+x.shift, 0)
		if o.Answered {
			o.FirstByte += x.shift
		}
		if o.Done != 0 {
			o.Done += x.shift
		}
		counts.Add(&o)
		take(&o)
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	if counts != x.result.Counts || x.crc != x.result.CRC {
		return fmt.Errorf("results of %s: %+v came of %+v, or the checksum is wrong", x.agent, counts,
			x.result.Counts)
	}
	return nil
}

// numbered returns the phases whose requests have their own numbers, and the first free number.
func numbered(s *timeline.Schedule) (planned map[string]bool, free int) {
	planned = map[string]bool{}
	for i := range s.Phases {
		p := &s.Phases[i]
		if p.Shape == timeline.Boundary || hasClients(p) {
			continue
		}
		planned[p.Name] = true
		free = max(free, p.Free())
	}
	return planned, free
}

func (g *Gathered) clockError() (worst time.Duration) {
	for i := range g.parts {
		if p := &g.parts[i]; p.lost == "" {
			worst = max(worst, p.result.Clock)
		}
	}
	return worst
}

// gather adds the headers of the parts.
func gather(h *timeline.Header, all []*source) {
	for _, x := range all {
		t := &x.header
		h.WallError, h.Tick = max(h.WallError, t.WallError), max(h.Tick, t.Tick)
		h.Ended = max(h.Ended, t.Ended+x.shift)
		h.Unsent += t.Unsent
		h.Interrupted = h.Interrupted || t.Interrupted
		for _, note := range t.Notes {
			if !slices.Contains(h.Notes, note) { // most notes are on the target, and all agents see it
				h.Notes = append(h.Notes, note)
			}
		}
		h.Protocols = slices.Compact(slices.Sorted(slices.Values(slices.Concat(h.Protocols, t.Protocols))))
		for _, s := range t.Stalls {
			s.From, s.To = max(0, s.From+x.shift), max(0, s.To+x.shift)
			h.Stalls = append(h.Stalls, s)
		}
		a := &h.Audit
		a.CPUShare = max(a.CPUShare, t.Audit.CPUShare)
		a.LongestGC = max(a.LongestGC, t.Audit.LongestGC)
		a.Collections += t.Audit.Collections
		a.Connections += t.Audit.Connections
	}
	h.Stalls = timeline.Apart(h.Stalls)
}

// spreads joins the spreads of each phase. The result lasts from the first send of any agent to the last send
// of any, and as much longer as two clocks may differ.
func (g *Gathered) spreads(all []*source, clock time.Duration) []timeline.Spread {
	var out []timeline.Spread
	for i := range g.schedule.Phases {
		p := &g.schedule.Phases[i]
		if p.Shape != timeline.AtOnce {
			out = append(out, others(all, p.Name)...)
			continue
		}
		first, last, n, agents := time.Duration(math.MaxInt64), time.Duration(0), 0, 0
		for _, x := range all {
			for _, s := range x.header.Spreads {
				at, sent := x.result.Firsts[p.Name]
				if s.Phase != p.Name || !sent {
					continue
				}
				first, last = min(first, at+x.shift), max(last, at+x.shift+s.Width)
				n, agents = n+s.Requests, agents+1
			}
		}
		if n == 0 {
			continue
		}
		if agents > 1 {
			last += 2 * clock
		}
		out = append(out, timeline.Spread{Phase: p.Name, Requests: n, Width: last - first})
	}
	return out
}

// others returns the spreads of a phase that one agent sent.
func others(all []*source, phase string) (out []timeline.Spread) {
	for _, x := range all {
		for _, s := range x.header.Spreads {
			if s.Phase == phase {
				out = append(out, s)
			}
		}
	}
	return out
}

// notKept is the beginning of the note on a plan that was not kept (timeline.OfAgent).
var notKept = strings.TrimSuffix(timeline.OfAgent, "agent ")

// notes says what merging costs.
func (g *Gathered) notes() []string {
	drift, n := 0.0, 0
	for i := range g.parts {
		if p := &g.parts[i]; p.lost == "" {
			drift = max(drift, math.Abs(p.result.Drift))
			n++
		}
	}
	clock := g.clockError()
	if clock > 10*time.Microsecond {
		clock = clock.Round(time.Microsecond)
	}
	out := []string{fmt.Sprintf("sent by %s: clock error %s, drift %.0f ppm", text.Plural(n, "agent"),
		clock, drift)}
	if g.early != "" {
		out = append(out, notKept+g.early)
	}
	if why := g.Missing(); why != "" {
		out = append(out, notKept+why+"; its requests are missing")
	}
	return out
}
