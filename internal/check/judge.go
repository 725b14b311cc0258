package check

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// Conformance says which side of a limit is judged.
type Conformance string

// The sides. The zero value means Exact: both.
const (
	Exact      Conformance = "exact"
	UpperBound Conformance = "upper-bound"
	LowerBound Conformance = "lower-bound"
)

// Resolution is what a pass must be worth. The zero value demands nothing.
type Resolution struct {
	// Burst demands that the interval measured for the burst (quota) is no wider than this share of the
	// declared one; BurstExact that it is one value.
	Burst      float64
	BurstExact bool
	// Rate demands the same of the rate.
	Rate float64
}

// Options are what a scenario or a command line asks of a judgement.
type Options struct {
	Conformance Conformance
	Resolution  Resolution
	// Shared tells that others may use the same partitions: an unexplained denial is then no proof.
	Shared bool
	// SkipMeasure leaves the measured policy out.
	SkipMeasure bool
	// Hint looks for what explains a recording which fails: a Diagnosis, or else another policy.
	Hint bool
	// Spill makes the file for what a Stream does not hold in memory; nil: it holds all. Judge needs none.
	Spill func() (Spill, error)
}

// ErrTooLarge is what Judge wraps when the products of a limit and the length of a recording exceed 2^61.
var ErrTooLarge = errors.New("the limit times the length of the recording exceeds 2^61")

// ErrUnsorted is what Judge wraps when observations do not ascend by Sent.
var ErrUnsorted = errors.New("observations ascend by the time they were sent")

// Judge decides whether decision times inside the closed intervals of tl, an order along them and, where they
// are not known, window phases exist under which limit gives the observed outcomes. tl.Observations ascend by
// Sent. The verdict is Fail only if none exist; every Fail has a finding with its witness. It costs O(n log
// n) for known phases.
//
// It returns an error that wraps ErrTooLarge where the arithmetic would overflow, or ErrUnsorted; then
// nothing is judged.
func Judge(tl *timeline.Timeline, limit spec.Limit, o Options) (*verdict.Judgement, error) {
	if err := fits(tl, limit); err != nil {
		return nil, err
	}
	return newCase(tl, limit, o).explained(limit), nil
}

// explained judges, and looks for what explains a recording that fails the limit, as it was declared.
func (c *caseFile) explained(limit spec.Limit) *verdict.Judgement {
	c.judge()
	j := c.judgement()
	if c.o.Hint {
		if j.Diagnosis = diagnose(c.tl, limit, j, c.o); j.Diagnosis == nil {
			j.Explanations, j.Hint = explain(c.tl, limit, j, c.o)
		}
	}
	return j
}

// fits checks that the observations ascend and that no product of the bounds can overflow.
func fits(tl *timeline.Timeline, limit spec.Limit) error {
	var units int64
	var begin, last time.Duration
	for i := range tl.Observations {
		o := &tl.Observations[i]
		units += o.Cost
		if units < 0 || o.Cost < 0 || units > maxTime/4 {
			return fmt.Errorf("check: observation #%d: cost %d: %w", o.Seq, o.Cost, ErrTooLarge)
		}
		if i > 0 && o.Sent < last {
			return fmt.Errorf("check: observation #%d: sent at %s, before the one in front of it: %w", o.Seq,
				o.Sent, ErrUnsorted)
		}
		last = o.Sent
	}
	if len(tl.Observations) > 0 {
		begin = min(begin, tl.Observations[0].Sent)
	}
	return fitsSpan(&tl.Header, limit, begin, tl.End(), units)
}

// fitsSpan checks that no product of the bounds can overflow for units requested between two instants.
func fitsSpan(h *timeline.Header, limit spec.Limit, begin, end time.Duration, units int64) error {
	least, most := min(h.ClockError, h.Tick, h.WallError), max(h.ClockError, h.Tick, h.WallError)
	if int64(begin) < -maxTime/4 || least < 0 || int64(most) > maxTime/4 {
		return fmt.Errorf("check: from %s, clocks known up to %s, %s and %s: %w", begin, h.WallError,
			h.ClockError, h.Tick, ErrTooLarge)
	}
	if h.DriftPPM < 0 || h.DriftPPM > timeline.MaxDriftPPM {
		return fmt.Errorf("check: a drift of %d ppm: %w", h.DriftPPM, ErrTooLarge)
	}
	span := min(int64(end), maxTime) - int64(begin) + 2*int64(h.ClockError) + int64(h.Tick)
	span += 2 * int64(h.Drift(time.Duration(max(span, 0))))
	for _, p := range limit {
		if span < 0 || span > maxTime/4 || int64(p.Rate.Per) > maxTime/4 ||
			!fitsEnds(p, span+int64(p.Tick), units) {
			return fmt.Errorf("check: %s over %s: %w", p.Algorithm, end, ErrTooLarge)
		}
	}
	return nil
}

// part is one partition of a case.
type part struct {
	name string
	obs  []timeline.Observation
	seen facts
	// histories has one history a policy; policies with the same clock share theirs.
	histories []*history
	// joint is what jointly made of them.
	joint    *history
	findings []verdict.Finding
	limited  bool
	search   verdict.Search
	unjudged string
}

// caseFile is a timeline before its judge: its partitions, the policies, and what was found.
type caseFile struct {
	tl *timeline.Timeline
	// limit is what is judged, declared what is measured: lasting of it is the same limit.
	limit, declared spec.Limit

	o     Options
	parts []*part
	// observations is how many there are of all parts, 0 where that is not known.
	observations int
	end          int64
	edges        *edges
	// quick asks for the verdict alone: findings have no witness.
	quick bool
	// boundsOnly leaves out the exact search.
	boundsOnly bool
	// frugal measures on the first observations alone, and gives up early: what is measured is wider.
	frugal bool
	// few is how many boxes of phases are asked, 0 for the usual budget.
	few int
}

func newCase(tl *timeline.Timeline, limit spec.Limit, o Options) *caseFile {
	if len(limit) == 1 && limit[0].Count == spec.CountOwn {
		alone := limit[0]
		alone.Count = spec.CountAdmitted // there is no other policy to deny what it admits
		limit = spec.Limit{alone}
	}
	c := &caseFile{tl: tl, declared: ticked(limit, tl.Header), o: o, end: int64(tl.End())}
	c.limit = lasting(c.declared)
	c.edges = edgesOf(tl.Header, c.limit)
	for _, p := range tl.ByPartition() {
		c.parts = append(c.parts,
			&part{name: p.Partition, obs: p.Observations, seen: factsOf(p.Observations)})
		c.observations += len(p.Observations)
	}
	each(len(c.parts), func(i int) { c.prepare(c.parts[i]) })
	return c
}

// Why a partition is not judged of whose answers none proves anything.
const (
	amidTraffic = "the recording starts mid-traffic, and this partition was never idle long enough for a " +
		"new window: the start of its windows is unknown"
	unsureEdges = "requests that are missing, as the recording was cut out of traffic, may explain all " +
		"answers of this partition"
)

// prepare makes the histories of a partition.
func (c *caseFile) prepare(p *part) {
	type kind struct {
		widening
		stay
	}
	made := map[kind]*history{}
	for _, pol := range c.limit {
		w := kind{widen(c.tl.Header, pol.Tick, pol.TickSet), stayOf(pol)}
		if made[w] == nil {
			made[w] = newHistory(p.obs, w.widening, c.end)
			made[w].completions(p.obs, w.widening, w.stay)
			if c.edges != nil {
				made[w].all = c.edges.trim(made[w].all)
				made[w].split()
			}
			if len(made[w].all) == 0 || p.seen.known > 0 && c.edges != nil && !made[w].known() {
				p.unjudged = c.edges.unjudged()
			}
		}
		p.histories = append(p.histories, made[w])
	}
}

// judge fills the findings of every partition.
func (c *caseFile) judge() {
	if len(c.limit) > 1 {
		c.judgeSeveral()
		return
	}
	pol := c.limit[0]
	box, shared := phasesOf(pol, c.tl.Header)
	switch {
	case anchored(pol):
		each(len(c.parts), func(i int) { c.judgeAnchored(c.parts[i]) })
	case shared && box.from != box.to:
		c.judgeGroup(c.parts, box)
	default:
		each(len(c.parts), func(i int) { c.judgeGroup(c.parts[i:i+1], box) })
	}
}

// judgeGroup judges partitions that share one phase of the box.
func (c *caseFile) judgeGroup(parts []*part, box phases) {
	g := &group{}
	for _, p := range parts {
		g.parts = append(g.parts, p.histories[0])
	}
	s := c.newSearch(g)
	found, refuted := s.refute(box)
	denials := slices.ContainsFunc(found, func(r refutation) bool { return r.kind != verdict.OverAdmission })
	if refuted && denials && c.o.Shared { // they prove nothing: perhaps the admissions do alone
		alone := &search{policy: c.limit[0], mode: UpperBound, group: g}
		if over, ok := alone.refute(box); ok {
			found, denials = over, false
		}
	}
	for _, p := range parts {
		p.limited = s.limited
		p.search = verdict.Search{Visited: s.steps, Cap: visitCap, Capped: s.capped}
	}
	if refuted {
		c.accuse(parts, found, box)
	}
	if refuted && denials && c.o.Shared { // one, perhaps of another partition, is a part of the proof
		for _, p := range parts {
			for i := range p.findings {
				p.findings[i].Kind = verdict.NoExplanation
			}
		}
	}
	if refuted && box.from == box.to && !ranged(c.limit[0]) {
		c.addOtherSide(parts, box)
	}
}

// newSearch returns the search of a group's phases: a short one where only the verdict is asked for.
func (c *caseFile) newSearch(g *group) *search {
	n := 0
	for _, h := range g.parts {
		n += len(h.all)
	}
	s := &search{policy: c.limit[0], mode: c.o.Conformance, group: g, quick: c.boundsOnly, few: c.few}
	s.each, s.most = c.decisions(n), c.share(maxWork, n)
	if c.quick {
		s.each = 0
		s.steps, s.wide = stepBudget-hintSteps, stepBudget-hintWide
	}
	return s
}

// addOtherSide completes the findings where the phase is known: every partition is judged, and one that
// breaks both sides of its limit says so.
func (c *caseFile) addOtherSide(parts []*part, box phases) {
	bd := newBound(c.limit[0], box.from, box.to)
	each(len(parts), func(i int) {
		p := parts[i]
		var both []verdict.Finding
		for _, mode := range []Conformance{UpperBound, LowerBound} {
			if c.o.Conformance != "" && c.o.Conformance != Exact && c.o.Conformance != mode {
				continue
			}
			if br := judgeOne(p.histories[0], bd, mode); br != nil {
				both = append(both, c.finding(p, []*breach{br}, box))
			}
		}
		if len(both) > 0 { // else what was found is a contradiction between answers
			p.findings = both
		}
	})
}

// each runs f for 0..n-1 on all processors.
func each(n int, f func(i int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	if workers <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var wg sync.WaitGroup
	next := make(chan int, workers)
	for range workers {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}
