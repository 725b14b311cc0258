package timeline

import (
	"cmp"
	"encoding/json"
	"math"
	"math/bits"
	"slices"
	"time"
)

// Values from Lowest to Highest are reported to three significant digits. Values outside are counted
// separately and still take part in every number.
const (
	LowestLatency = time.Microsecond
	Highest       = time.Hour
)

// Distribution is the distribution of one measure. All members are zero if Count is zero.
type Distribution struct {
	// Count is the number of values, with those outside the range.
	Count int64 `json:"count"`
	// Min, Mean and Max are exact; Mean is rounded toward zero.
	Min  time.Duration `json:"min_ns"`
	Mean time.Duration `json:"mean_ns"`
	// The quantiles, to three digits (see Quantile).
	P50  time.Duration `json:"p50_ns"`
	P90  time.Duration `json:"p90_ns"`
	P95  time.Duration `json:"p95_ns"`
	P99  time.Duration `json:"p99_ns"`
	P999 time.Duration `json:"p99_9_ns"`
	Max  time.Duration `json:"max_ns"`
	// Below counts the values under Lowest, Above those over Highest.
	Below int64 `json:"below_1us"`
	Above int64 `json:"above_1h"`
	// Buckets are the values to three digits: ascending, disjoint, none empty. Their counts add up to Count.
	// Negative values are in one bucket, values over Highest in another.
	Buckets []LatencyBucket `json:"buckets"`
}

// LatencyBucket counts the values v with From <= v <= To.
type LatencyBucket struct {
	From, To time.Duration
	Count    int64
}

// MarshalJSON writes d with its LogBuckets, PerDecade, without the empty ones.
func (d Distribution) MarshalJSON() ([]byte, error) {
	type members Distribution
	all := d.LogBuckets(BucketsPerDecade)
	d.Buckets = append([]LatencyBucket{},
		slices.DeleteFunc(all, func(b LatencyBucket) bool { return b.Count == 0 })...)
	return json.Marshal(members(d))
}

// MarshalJSON writes [From, To, Count], in nanoseconds.
func (b LatencyBucket) MarshalJSON() ([]byte, error) {
	return json.Marshal([3]int64{int64(b.From), int64(b.To), b.Count})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (b *LatencyBucket) UnmarshalJSON(text []byte) error {
	var x [3]int64
	err := json.Unmarshal(text, &x)
	*b = LatencyBucket{time.Duration(x[0]), time.Duration(x[1]), x[2]}
	return err
}

// Quantile returns the value with rank ceil(q*Count), to three digits. It is the smallest value that at least
// a share q of all values does not exceed. It is Min for q <= 0, Max for q >= 1, and 0 without values. Values
// over Highest are not distinguished: it returns Max for them.
func (d *Distribution) Quantile(q float64) time.Duration {
	if d.Count == 0 {
		return 0
	}
	if !(q > 0) {
		return d.Min
	}
	// A whole product may come out slightly larger: 0.07*100 > 7.
	rank := int64(math.Ceil(min(q, 1) * float64(d.Count) * (1 - 1e-12)))
	for _, b := range d.Buckets {
		if rank -= b.Count; rank <= 0 {
			return min(b.To, d.Max)
		}
	}
	return d.Max
}

// BucketsPerDecade is how many buckets per power of ten the reports have. A report that is read back has only
// these.
const BucketsPerDecade = 20

// LogBuckets returns the distribution for a logarithmic axis. Buckets begin at Lowest*10^(k/perDecade), from
// the bucket of the smallest value to that of the largest, with the empty ones between. Values under Lowest
// have their own bucket, from 0 or Min. Values over Highest are in the last bucket. It returns nil without
// values. A value that lies below a bound by less than three digits can show is counted above it.
func (d *Distribution) LogBuckets(perDecade int) []LatencyBucket {
	perDecade = max(perDecade, 1)
	var all []LatencyBucket
	first := 0
	for _, b := range d.Buckets {
		k := logIndex(min(b.To, d.Max), perDecade)
		if all == nil {
			first = k
		}
		for first+len(all) <= k {
			all = append(all, logBucket(first+len(all), perDecade))
		}
		all[k-first].Count += b.Count
	}
	if first < 0 {
		all[0].From = 0
	}
	if len(all) > 0 {
		all[0].From = min(all[0].From, d.Min)
	}
	return all
}

// logBound returns where bucket k begins.
func logBound(k, perDecade int) time.Duration {
	bound := math.Round(float64(LowestLatency) * math.Pow(10, float64(k)/float64(perDecade)))
	if bound >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(bound)
}

func logBucket(k, perDecade int) LatencyBucket {
	to := logBound(k+1, perDecade)
	if to < math.MaxInt64 {
		to-- // the next one begins there
	}
	return LatencyBucket{From: logBound(k, perDecade), To: to}
}

// logIndex returns the bucket of v; -1 for values under Lowest.
func logIndex(v time.Duration, perDecade int) int {
	if v < LowestLatency {
		return -1
	}
	k := int(math.Log10(float64(v)/float64(LowestLatency)) * float64(perDecade))
	for k > 0 && logBound(k, perDecade) > v { // the logarithm is not exact
		k--
	}
	for next := logBound(k+1, perDecade); next <= v && next < math.MaxInt64; next = logBound(k+1, perDecade) {
		k++
	}
	return k
}

// Latencies are the two measures of the answers of one outcome.
type Latencies struct {
	// Corrected is the latency, FirstByte - At. It counts from the plan, so a request that was sent late
	// counts as slow. For requests without a plan (closed loop) it is the service time.
	Corrected Distribution `json:"corrected"`
	// Service is the service time, FirstByte - Sent.
	Service Distribution `json:"service"`
}

// LatencySummary is what one recording says about latency. Allowed.Service.Count + Denied.Service.Count +
// Unknown.Service.Count + Unanswered is the number of observations.
type LatencySummary struct {
	Allowed Latencies `json:"allowed"`
	Denied  Latencies `json:"denied"`
	// Unknown are the answers whose status is not classified.
	Unknown Latencies `json:"unknown"`
	// Unanswered counts the observations without a first byte, which have no latency.
	Unanswered int64 `json:"unanswered"`
	// Lateness is Sent - At of the requests with a plan. A phase has a plan if at least one of its requests
	// was not sent at the very nanosecond of its At. Count is 0 for a recording of closed loops, or in
	// virtual time.
	Lateness Distribution `json:"lateness"`
}

// Of returns the latencies of one outcome.
func (s *LatencySummary) Of(o Outcome) *Latencies {
	switch o {
	case Allowed:
		return &s.Allowed
	case Denied:
		return &s.Denied
	default:
		return &s.Unknown
	}
}

// StatusCount is how many answers had a status and an outcome.
type StatusCount struct {
	Status  int     `json:"status"`
	Outcome Outcome `json:"outcome"`
	Answers int     `json:"answers"`
	// Location is where the first of them that redirects leads. Empty: none does.
	Location string `json:"location,omitempty"`
}

// notModified is the status of an answer that a client has already.
const notModified = 304

// Redirects tells whether x counts as admissions, and sends the client elsewhere.
func (x StatusCount) Redirects() bool {
	return x.Outcome == Allowed && x.Status >= 300 && x.Status < 400 && x.Status != notModified
}

// Breaks tells whether x counts as denials, and may as well be errors of the server.
func (x StatusCount) Breaks() bool { return x.Outcome == Denied && x.Status >= 500 }

// statusKey is what a StatusTally tells answers apart by.
type statusKey struct {
	status  int
	outcome Outcome
}

// StatusTally counts answers by status and outcome. The zero value is empty.
type StatusTally struct {
	at  map[statusKey]int
	out []StatusCount
}

// Add takes the next observation.
func (t *StatusTally) Add(o *Observation) {
	if o.Status == 0 {
		return
	}
	k := statusKey{o.Status, o.Outcome}
	n, known := t.at[k]
	if !known {
		if n = len(t.out); n == 0 {
			t.at = map[statusKey]int{}
		}
		t.at[k] = n
		t.out = append(t.out, StatusCount{Status: o.Status, Outcome: o.Outcome})
	}
	t.out[n].Answers++
	if t.out[n].Location == "" && o.Status >= 300 && o.Status < 400 {
		t.out[n].Location, _ = o.Fields.Get("Location")
	}
}

// Statuses returns the counts, ascending by status. Empty: nothing was answered, or no status was recorded.
func (t *StatusTally) Statuses() []StatusCount {
	slices.SortFunc(t.out, func(a, b StatusCount) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(a.Outcome, b.Outcome))
	})
	return t.out
}

// Statuses counts the answers of t by status and outcome.
func (t *Timeline) Statuses() []StatusCount {
	var all StatusTally
	for o := range t.All() {
		all.Add(o)
	}
	return all.Statuses()
}

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
