package latency

import (
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// recorder collects the values of one measure. The zero value is empty. The first value allocates the
// histogram (270 KiB).
type recorder struct {
	h *hdr.Histogram
	// count is the number of all values. negative and above count those that are not in h.
	count, below, negative, above int64
	min, max                      time.Duration
	// The sum of all values is seconds plus nanoseconds, each of which fits into 64 bits.
	seconds, nanoseconds int64
}

// newHistogram returns a histogram of nanoseconds with three digits.
func newHistogram() *hdr.Histogram { return hdr.New(1, int64(timeline.Highest), 3) }

// record adds v n times.
func (r *recorder) record(v time.Duration, n int64) {
	if n == 0 {
		return
	}
	if r.count == 0 {
		r.min, r.max = v, v
	}
	r.min, r.max = min(r.min, v), max(r.max, v)
	r.count += n
	r.seconds += int64(v/time.Second) * n
	r.nanoseconds += int64(v%time.Second) * n
	switch {
	case v < 0:
		r.negative += n
		r.below += n
		return
	case v > timeline.Highest:
		r.above += n
		return
	case v < timeline.LowestLatency:
		r.below += n
	}
	if r.h == nil {
		r.h = newHistogram()
	}
	if err := r.h.RecordValues(int64(v), n); err != nil {
		panic("latency: " + err.Error()) // v is in range
	}
}

// mean returns the mean of all values. There must be at least one.
func (r *recorder) mean() time.Duration {
	whole, rest := r.seconds/r.count, r.seconds%r.count
	// rest is below count, so its nanoseconds fit into 64 bits for up to nine billion values.
	return time.Duration(whole)*time.Second + time.Duration((rest*int64(time.Second)+r.nanoseconds)/r.count)
}

// distribution returns what was recorded.
func (r *recorder) distribution() timeline.Distribution {
	if r.count == 0 {
		return timeline.Distribution{}
	}
	d := timeline.Distribution{
		Count: r.count, Min: r.min, Mean: r.mean(), Max: r.max, Below: r.below, Above: r.above,
		Buckets: r.buckets(),
	}
	d.P50, d.P90, d.P95 = d.Quantile(.5), d.Quantile(.9), d.Quantile(.95)
	d.P99, d.P999 = d.Quantile(.99), d.Quantile(.999)
	return d
}

func (r *recorder) buckets() []timeline.LatencyBucket {
	var all []timeline.LatencyBucket
	if r.negative > 0 {
		all = append(all, timeline.LatencyBucket{From: r.min, To: -1, Count: r.negative})
	}
	if r.h != nil {
		for _, bar := range r.h.Distribution() {
			if bar.Count > 0 {
				all = append(all, timeline.LatencyBucket{From: time.Duration(bar.From),
					To: time.Duration(bar.To), Count: bar.Count})
			}
		}
		// so that it does not overlap the values above
		if last := &all[len(all)-1]; last.To > timeline.Highest {
			last.To = timeline.Highest
		}
	}
	if r.above > 0 {
		all = append(all, timeline.LatencyBucket{From: timeline.Highest + 1, To: r.max, Count: r.above})
	}
	return all
}

// Summarize measures tl. An empty timeline gives the zero Summary.
func Summarize(tl *timeline.Timeline) timeline.LatencySummary {
	var c Collector
	for o := range tl.All() {
		c.Add(o)
	}
	return c.Summary()
}

// Collector measures a recording one observation at a time. The zero value is empty. It uses the
// memory of at most seven histograms (270 KiB each) and a number for each phase.
type Collector struct {
	corrected, service [timeline.Denied + 1]recorder
	unanswered         int64
	lateness           recorder
	phases             map[string]*phase
	// last is the phase of the last observation, and lastName its name.
	last     *phase
	lastName string
}

// phase tells whether a phase has a plan.
type phase struct {
	planned bool
	// onTime counts the requests with Sent = At, until the phase is known to have a plan.
	onTime int64
}

// Add takes in one observation. Their order does not matter.
func (c *Collector) Add(o *timeline.Observation) {
	c.addLateness(o.Phase, max(o.Sent-o.At, 0)) // answered before complete: Sent may precede At
	if !o.Answered {
		c.unanswered++
		return
	}
	c.corrected[o.Outcome].record(o.FirstByte-o.At, 1)
	c.service[o.Outcome].record(o.FirstByte-o.Sent, 1)
}

func (c *Collector) addLateness(name string, late time.Duration) {
	if c.last == nil || c.lastName != name {
		if c.phases == nil {
			c.phases = make(map[string]*phase)
		}
		if c.phases[name] == nil {
			c.phases[name] = &phase{}
		}
		c.last, c.lastName = c.phases[name], name
	}
	p := c.last
	if late == 0 && !p.planned {
		p.onTime++
		return
	}
	if !p.planned {
		p.planned = true
		c.lateness.record(0, p.onTime)
	}
	c.lateness.record(late, 1)
}

// Summary returns what was collected so far.
func (c *Collector) Summary() timeline.LatencySummary {
	s := timeline.LatencySummary{Unanswered: c.unanswered, Lateness: c.lateness.distribution()}
	for o := timeline.Unknown; o <= timeline.Denied; o++ {
		*s.Of(o) = timeline.Latencies{Corrected: c.corrected[o].distribution(),
			Service: c.service[o].distribution()}
	}
	return s
}
