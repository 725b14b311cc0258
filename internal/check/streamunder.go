package check

import "github.com/rlcheck/rlcheck/internal/timeline"

// feeder is a meter whose history comes block by block.
type feeder interface {
	meter
	// extend adds requests that may have been admitted, ascending by s, and ends of such, ascending by e; none is before
	// those added earlier. Instants asked for afterwards lie before the horizon and the next ones do not.
	extend(starts, ended []event, horizon int64)
}

// underSweep asks for every denial, block by block, whether some instant of its interval explains it: sweep, for policies
// that count admissions alone.
type underSweep struct {
	m    feeder
	unit int64
	// pending are the denials not yet explained; earliest and dearest are those of sweep.
	pending           []event
	earliest, dearest int64
	// begun tells that events were taken.
	begun bool
}

func newUnderSweep(b bound) *underSweep {
	m := b.usage(&history{}).(feeder)
	switch m := m.(type) { // a history that grows is not shared
	case *counterMeter:
		m.old = newTally(nil)
	case *firstMeter:
		m.sweep.after = minTime
	}
	return &underSweep{m: m, unit: m.unit(), earliest: maxTime, dearest: minTime / 2}
}

// advance takes the events that begin before the horizon and were not taken yet, ascending by s, and the admissions that
// end before it, ascending by e. It returns a denial that nothing explains, or nil; then the sweep is over.
func (u *underSweep) advance(fresh, ended []event, horizon int64) *event {
	if !u.begun && len(fresh) > 0 {
		u.begun = true
		u.join(fresh)
	}
	u.m.extend(fresh, ended, horizon)
	last := minTime
	for i := range fresh {
		ev := &fresh[i]
		if ev.s > last && len(u.pending) > 0 {
			if d := u.settle(ev.s); d != nil {
				return d
			}
		}
		if last = ev.s; ev.outcome == timeline.Denied && !u.explains(u.m.excess(ev.s), ev) {
			u.pending = append(u.pending, *ev)
			u.earliest = min(u.earliest, ev.e)
			u.dearest = max(u.dearest, (ev.cost-1)*u.unit)
		}
	}
	switch {
	case horizon < maxTime:
		u.m.excess(horizon - 1) // takes what was fed, also where nothing is denied
	case len(u.pending) > 0:
		return &u.pending[0]
	}
	return nil
}

// join lets the first events find a bucket that requests, which are missing from before them, may have used up: as in
// bucket.meter, but for an event outside of the block that ended before all of it, which would let the bucket have been
// created a little earlier.
func (u *underSweep) join(fresh []event) {
	m, ok := u.m.(*bucketMeter)
	if h := (&history{all: fresh}); ok && h.joined(m.memory()) {
		m.tat, m.from = m.joined(h)
	}
}

func (u *underSweep) explains(excess int64, d *event) bool { return excess+(d.cost-1)*u.unit > 0 }

// settle drops the pending denials that instant t explains, and returns one that ended before it.
func (u *underSweep) settle(t int64) *event {
	excess := u.m.excess(t)
	if u.earliest >= t && excess+u.dearest <= 0 {
		return nil
	}
	keep := u.pending[:0]
	u.earliest, u.dearest = maxTime, minTime/2
	for i := range u.pending {
		d := u.pending[i]
		switch {
		case d.e < t:
			return &d
		case !u.explains(excess, &d):
			keep = append(keep, d)
			u.earliest = min(u.earliest, d.e)
			u.dearest = max(u.dearest, (d.cost-1)*u.unit)
		}
	}
	u.pending = keep
	return nil
}

// fed keeps the starts of a meter.
func fed(starts []event, used int, more []event) ([]event, int) {
	starts, used = refill(starts, used, nil)
	for i := range more {
		if more[i].outcome != timeline.Denied {
			starts = append(starts, more[i])
		}
	}
	return starts, used
}

func fedEnds(ends []ending, used int, more []event) ([]ending, int) {
	ends, used = refill(ends, used, nil)
	for i := range more {
		ends = append(ends, ending{more[i].e, more[i].cost})
	}
	return ends, used
}

func (m *bucketMeter) extend(starts, ended []event, _ int64) {
	m.starts, m.i = fed(m.starts, m.i, starts)
	m.ends, m.k = fedEnds(m.ends, m.k, ended)
}

func (m *logMeter) extend(starts, ended []event, _ int64) {
	m.starts, m.i = fed(m.starts, m.i, starts)
	m.ends, m.k = fedEnds(m.ends, m.k, ended)
}

func (m *windowMeter) extend(starts, ended []event, _ int64) {
	m.starts, m.i = fed(m.starts, m.i, starts)
	m.gone.extend(ended)
}

func (m *counterMeter) extend(starts, ended []event, _ int64) {
	m.starts, m.i = fed(m.starts, m.i, starts)
	m.gone.extend(ended)
	m.old.extend(ended)
}

// extend adds endings, and forgets those before the last instant asked for: later ones must not be before it.
func (y *tally) extend(ended []event) { y.ends, y.k = fedEnds(y.ends, y.k, ended) }
