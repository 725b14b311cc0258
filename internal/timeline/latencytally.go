package timeline

import (
	"math/bits"
	"time"
)

// recorder collects the values of one measure to three digits. The zero value is empty.
type recorder struct {
	// pages count the values, as a histogram of HdrHistogram does. The first holds 0 to 1023, each after it
	// the next power of two in 1024 buckets. nil: it has none.
	pages [33]*[pageSize]int64
	// count is the number of all values. negative and above count those that are on no page.
	count, below, negative, above int64
	min, max                      time.Duration
	// The sum of all values is seconds plus nanoseconds, each of which fits into 64 bits.
	seconds, nanoseconds int64
}

// pageSize is how many buckets a page has.
const pageSize = 1 << 10

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
	case v > Highest:
		r.above += n
		return
	case v < LowestLatency:
		r.below += n
	}
	page := max(0, bits.Len64(uint64(v))-10)
	if r.pages[page] == nil {
		r.pages[page] = new([pageSize]int64)
	}
	r.pages[page][v>>max(0, page-1)%pageSize] += n
}

// mean returns the mean of all values. There must be at least one.
func (r *recorder) mean() time.Duration {
	whole, rest := r.seconds/r.count, r.seconds%r.count
	// rest is below count, so its nanoseconds fit into 64 bits for up to nine billion values.
	return time.Duration(whole)*time.Second + time.Duration((rest*int64(time.Second)+r.nanoseconds)/r.count)
}

// distribution returns what was recorded.
func (r *recorder) distribution() Distribution {
	if r.count == 0 {
		return Distribution{}
	}
	d := Distribution{
		Count: r.count, Min: r.min, Mean: r.mean(), Max: r.max, Below: r.below, Above: r.above,
		Buckets: r.buckets(),
	}
	d.P50, d.P90, d.P95 = d.Quantile(.5), d.Quantile(.9), d.Quantile(.95)
	d.P99, d.P999 = d.Quantile(.99), d.Quantile(.999)
	return d
}

func (r *recorder) buckets() []LatencyBucket {
	var all []LatencyBucket
	if r.negative > 0 {
		all = append(all, LatencyBucket{From: r.min, To: -1, Count: r.negative})
	}
	for i, page := range r.pages {
		if page == nil {
			continue
		}
		width := time.Duration(1) << max(0, i-1)
		first := min(time.Duration(i), 1) * width * pageSize
		for k, n := range page {
			if from := first + time.Duration(k)*width; n > 0 {
				all = append(all, LatencyBucket{from, min(from+width-1, Highest), n})
			}
		}
	}
	if r.above > 0 {
		all = append(all, LatencyBucket{From: Highest + 1, To: r.max, Count: r.above})
	}
	return all
}

// LatencyOf measures tl. An empty timeline gives the zero LatencySummary.
func LatencyOf(tl *Timeline) LatencySummary {
	var c LatencyTally
	for o := range tl.All() {
		c.Add(o)
	}
	return c.Summary()
}

// LatencyTally measures a recording one observation at a time. The zero value is empty. It uses 8 KiB for
// each power of two of its seven measures, at most 1.8 MiB, and a number for each phase.
type LatencyTally struct {
	corrected, service [Denied + 1]recorder
	unanswered         int64
	lateness           recorder
	phases             map[string]*planned
	// last is the phase of the last observation, and lastName its name.
	last     *planned
	lastName string
}

// planned tells whether a phase has a plan.
type planned struct {
	is bool
	// onTime counts the requests with Sent = At, until the phase is known to have a plan.
	onTime int64
}

// Add takes in one observation. Their order does not matter.
func (c *LatencyTally) Add(o *Observation) {
	c.addLateness(o.Phase, max(o.Sent-o.At, 0)) // answered before complete: Sent may precede At
	if !o.Answered {
		c.unanswered++
		return
	}
	c.corrected[o.Outcome].record(o.FirstByte-o.At, 1)
	c.service[o.Outcome].record(o.FirstByte-o.Sent, 1)
}

func (c *LatencyTally) addLateness(name string, late time.Duration) {
	if c.last == nil || c.lastName != name {
		if c.phases == nil {
			c.phases = make(map[string]*planned)
		}
		if c.phases[name] == nil {
			c.phases[name] = &planned{}
		}
		c.last, c.lastName = c.phases[name], name
	}
	p := c.last
	if late == 0 && !p.is {
		p.onTime++
		return
	}
	if !p.is {
		p.is = true
		c.lateness.record(0, p.onTime)
	}
	c.lateness.record(late, 1)
}

// Summary returns what was collected so far.
func (c *LatencyTally) Summary() LatencySummary {
	s := LatencySummary{Unanswered: c.unanswered, Lateness: c.lateness.distribution()}
	for o := Unknown; o <= Denied; o++ {
		*s.Of(o) = Latencies{Corrected: c.corrected[o].distribution(),
			Service: c.service[o].distribution()}
	}
	return s
}
