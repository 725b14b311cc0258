package claim

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Three quarters of the retries, and at least leastWaits, decide whether retries are spread. They are not
// spread if those differ by at most `alike` of the wait. They are spread if those differ by `spread` of it or
// more; between the two nothing is known. With jitter over a tenth of the wait, retries are alike by chance
// less than once in twenty thousand times. The other quarter allows for machines that had no processor time.
const (
	leastWaits   = 8
	alike        = 0.01
	clientSpread = 0.05
)

// clientGroup is a number of waits that would end at the same place without jitter. places are where they
// ended: how long after the stated time, as a share of the wait.
type clientGroup struct {
	client string
	waits  []*clientWait
	places []float64
	// of is the number of waits before the most deviating ones were left out.
	of int
}

// narrowest finds the smallest span among ascending places that holds three quarters of them, and at least
// leastWaits. The span is places[from:to].
func narrowest[T cmp.Ordered](places []T, width func(a, b T) float64) (from, to int) {
	n := max(leastWaits, (3*len(places)+3)/4)
	best := 0
	for i := 0; i+n <= len(places); i++ {
		if width(places[i], places[i+n-1]) < width(places[best], places[best+n-1]) {
			best = i
		}
	}
	return best, best + n
}

// width returns how far apart the places of the narrowest span are. It leaves only that span in g.
func (g *clientGroup) width() float64 {
	order := make([]int, len(g.places))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(g.places[a], g.places[b]) })
	sorted := slices.Sorted(slices.Values(g.places))
	from, to := narrowest(sorted, func(a, b float64) float64 { return b - a })
	near := make([]*clientWait, 0, to-from)
	for _, i := range order[from:to] {
		near = append(near, g.waits[i])
	}
	g.waits, g.of = near, len(g.places)
	return sorted[to-1] - sorted[from]
}

// jitter judges whether the waits are spread, for each client with enough of them and for all others
// together.
func (s *session) jitter() result.Claim {
	const id = string(result.ClaimClientJitter)
	var found []result.Finding
	judged, between, most := 0, 0, 0
	for _, g := range s.groups() {
		most = max(most, len(g.waits))
		if len(g.waits) < leastWaits {
			continue
		}
		judged += len(g.waits)
		switch w := g.width(); {
		case w <= alike && g.onTheirOwn():
			found = append(found, g.finding())
		case w < clientSpread:
			between++
		}
	}
	switch {
	case judged == 0:
		return TooFew(id, fmt.Sprintf("at most %s are comparable; jitter shows in %d or more",
			text.Plural(most, "wait"), leastWaits))
	case len(found) == 0 && between > 0:
		return TooFew(id, "waits are somewhat alike: the cause may be little jitter, noise, or a "+
			"client that stood still")
	}
	return result.Settle(id, fmt.Sprintf("%s looked at", text.Plural(judged, "wait")),
		result.Of(judged, "waits that can be compared with others"), found...)
}

// groups returns the groups of each client with enough waits for one, and the groups of all others together.
func (s *session) groups() []*clientGroup {
	own := map[string][]clientWait{}
	for _, w := range s.waits {
		own[w.denial.Partition] = append(own[w.denial.Partition], w)
	}
	var out []*clientGroup
	var rest []clientWait
	for _, client := range slices.Sorted(maps.Keys(own)) {
		enough := false
		for _, g := range grouped(own[client]) {
			if len(g.waits) >= leastWaits {
				g.client, enough = client, true
				out = append(out, g)
			}
		}
		if !enough {
			rest = append(rest, own[client]...)
		}
	}
	return append(out, grouped(rest)...)
}

// grouped divides waits into those with a stated wait and those without one, the latter by the number of the
// try. It skips a retry long before its time, which did not wait for that time.
func grouped(waits []clientWait) []*clientGroup {
	byTry := map[int]*clientGroup{}
	for i := range waits {
		w := &waits[i]
		key, place := w.try, float64(w.gap())
		if w.told {
			key, place = 0, float64(w.retry.Sent-w.wait.due)/float64(max(w.length(), time.Second))
		}
		if w.told && (place < -0.5 || !w.sure && w.early() > 0) || !w.told && !w.sure {
			continue
		}
		if byTry[key] == nil {
			byTry[key] = &clientGroup{}
		}
		byTry[key].waits, byTry[key].places = append(byTry[key].waits, w), append(byTry[key].places, place)
	}
	var out []*clientGroup
	for key, g := range byTry {
		least := slices.Min(g.places)
		for i := range g.places {
			if key > 0 { // without a stated wait: a share of the shortest gap
				g.places[i] /= max(least, 1)
			}
		}
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b *clientGroup) int {
		return cmp.Compare(a.waits[0].denial.Seq, b.waits[0].denial.Seq)
	})
	return out
}

// onTheirOwn tells that no standstill of the client made the waits of g alike. After a standstill, a client
// sends at once what was due long before. So the waits must have ended on time, or not all at once.
func (g *clientGroup) onTheirOwn() bool {
	const never = time.Duration(1 << 62)
	first, last, length, late := never, time.Duration(0), never, time.Duration(0)
	for _, w := range g.waits {
		first, last = min(first, w.retry.Sent), max(last, w.retry.Sent)
		if !w.told {
			length, late = min(length, w.gap()), never
			continue
		}
		length, late = min(length, w.length()), max(late, w.retry.Sent-w.wait.due)
	}
	return late <= share(length) || last-first >= share(length)
}

// share is the least difference between retries that are spread, for a wait of this length.
func share(wait time.Duration) time.Duration { return time.Duration(clientSpread * float64(wait)) }

// finding returns the proof that waits are alike.
func (g *clientGroup) finding() result.Finding {
	var of []*timeline.Observation
	low, high := time.Duration(1<<62), -time.Duration(1<<62)
	for _, w := range g.waits {
		of = append(of, w.retry)
		past := w.gap()
		if w.told {
			past = w.retry.Sent - w.wait.due
		}
		low, high = min(low, past), max(high, past)
	}
	behind := "after the stated time"
	if !g.waits[0].told {
		behind = "after their denials, which stated no wait"
	}
	text := fmt.Sprintf("%d of %d retries came %s to %s %s: they differ by no more than %g %% of the "+
		"wait, so nothing spreads them",
		len(g.waits), g.of, text.Brief(low), text.Brief(high), behind,
		alike*100)
	f := finding(NoJitter, (high - low).Milliseconds(), 0, text, of...)
	if g.client != "" {
		f.Partition = g.client
	}
	return f
}

// together is how far apart due times may be and still count as equal.
const together = 10 * time.Millisecond

// storm judges whether eight or more retries that were due at once also came at once. The last result is
// false if so many were never due at once.
func (s *session) storm() (result.Claim, bool) {
	const id = string(result.ClaimClientStorm)
	var found []result.Finding
	largest, between := 0, 0
	for _, wave := range wavesOf(s.waits) {
		if largest = max(largest, len(wave)); len(wave) < leastWaits {
			continue
		}
		switch f, width, onTime := wave.finding(); {
		case width <= alike && onTime:
			found = append(found, f)
		case width < clientSpread:
			between++
		}
	}
	text := fmt.Sprintf("up to %s over at once", text.Plural(largest, "wait"))
	if len(found) == 0 && between > 0 {
		return TooFew(id, text+", which came neither at once and on time, nor apart: the cause may "+
			"be little jitter, noise, or a client that stood still"), true
	}
	return result.Settle(id, text, result.Of(largest, "waits of one wave"),
		found[:min(len(found), findingsMax)]...), largest >= leastWaits
}

// wave is retries that were due at once, ascending by due time.
type wave []*clientWait

// wavesOf divides the waits that were kept by the time at which they were due.
func wavesOf(waits []clientWait) []wave {
	var told wave
	for i := range waits {
		if w := &waits[i]; w.told && w.early() <= 0 {
			told = append(told, w)
		}
	}
	slices.SortStableFunc(told, func(a, b *clientWait) int { return cmp.Compare(a.wait.due, b.wait.due) })
	var out []wave
	for _, w := range told {
		if n := len(out); n > 0 && w.wait.due-out[n-1][0].wait.due <= together {
			out[n-1] = append(out[n-1], w)
			continue
		}
		out = append(out, wave{w})
	}
	return out
}

// finding returns the wave as a storm. width is its width as a share of the wait, beyond the width of the due
// times and herdWidth. onTime tells that no standstill of the client made it a storm.
func (v wave) finding() (f result.Finding, width float64, onTime bool) {
	slices.SortStableFunc(v, func(a, b *clientWait) int { return cmp.Compare(a.retry.Sent, b.retry.Sent) })
	at := make([]time.Duration, len(v))
	length, due := v[0].length(), [2]time.Duration{v[0].wait.due, v[0].wait.due}
	for i, w := range v {
		at[i], length = w.retry.Sent, min(length, w.length())
		due[0], due[1] = min(due[0], w.wait.due), max(due[1], w.wait.due)
	}
	from, to := narrowest(at, func(a, b time.Duration) float64 { return float64(b - a) })
	var of []*timeline.Observation
	for _, w := range v[from:to] {
		of = append(of, w.retry)
	}
	within := at[to-1] - at[from]
	text := fmt.Sprintf("%d of %d retries that were due at once came within %s", to-from, len(v),
		text.Brief(within))
	beyond := max(0, within-(due[1]-due[0])-herdWidth)
	return finding(Storm, int64(to-from), leastWaits, text, of...),
		float64(beyond) / float64(max(length, 100*time.Millisecond)), at[from]-due[1] <= share(length)
}

// Backoff is how long a client says that it waits where a denial states no wait. The zero value is not
// judged.
type Backoff struct {
	// Base is the first wait. Each further one of a request is Factor times as long, at most Max.
	Base, Max time.Duration
	Factor    float64
	// Jitter is by which share of itself a wait may be shorter, 0 to 1.
	Jitter float64
}

// ParseBackoff reads BASE..MAX[,factor=F][,jitter=SHARE%], such as 1s..60s,jitter=50%. The factor is 2 and
// the jitter 0% by default.
func ParseBackoff(s string) (b Backoff, err error) {
	span, more, _ := strings.Cut(s, ",")
	from, to, ranged := strings.Cut(span, "..")
	b.Factor = 2
	var bad [4]error
	b.Base, bad[0] = time.ParseDuration(from)
	b.Max, bad[1] = time.ParseDuration(to)
	for part := range strings.SplitSeq(more, ",") {
		key, value, _ := strings.Cut(part, "=")
		switch {
		case key == "factor":
			b.Factor, bad[2] = strconv.ParseFloat(value, 64)
		case key == "jitter" && strings.HasSuffix(value, "%"):
			b.Jitter, bad[3] = strconv.ParseFloat(strings.TrimSuffix(value, "%"), 64)
			b.Jitter /= 100
		case more != "":
			ranged = false
		}
	}
	right := b.Base > 0 && b.Base <= b.Max && b.Factor >= 1 && b.Factor <= 1000 && b.Jitter >= 0 &&
		b.Jitter <= 1
	if cmp.Or(bad[:]...) != nil || !ranged || !right {
		return Backoff{},
			fmt.Errorf("%q: a backoff is BASE..MAX, with factor=F and jitter=SHARE%% behind it "+
				"(1s..60s,jitter=50%%)", s)
	}
	return b, nil
}

// least returns the shortest wait after a denial of a request's try with a number from 1.
func (b Backoff) least(try int) time.Duration {
	wait := min(float64(b.Max), float64(b.Base)*math.Pow(b.Factor, float64(try-1)))
	return time.Duration(wait * (1 - b.Jitter))
}

// backoff judges the waits after denials that state none. A client of eight or more such waits, nine of ten
// of which are over within the slack of a timer, waits for nothing. If a backoff is declared, no wait is
// shorter. judged is false if no client has so many of these waits, and no backoff is declared.
func (s *session) backoff() (c result.Claim, judged bool) {
	const id = string(result.ClaimClientBackoff)
	own := map[string][]*clientWait{}
	for i := range s.waits {
		if w := &s.waits[i]; !w.told && w.sure {
			own[w.denial.Partition] = append(own[w.denial.Partition], w)
		}
	}
	declared := s.opts.Backoff != Backoff{}
	var found []result.Finding
	n, longest := 0, time.Duration(0)
	for _, client := range slices.Sorted(maps.Keys(own)) {
		waits := own[client]
		if len(waits) < leastWaits && !declared {
			continue
		}
		n += len(waits)
		var short []*clientWait
		for _, w := range waits {
			longest = max(longest, w.gap())
			if w.gap() <= timerSlack {
				short = append(short, w)
			}
			least := s.opts.Backoff.least(w.try)
			if declared && w.gap()+timerSlack < least {
				found = append(found, w.tooShort(least))
			}
		}
		if len(waits) >= leastWaits && 10*len(short) >= 9*len(waits) {
			found = append(found, waitless(short, len(waits)))
		}
	}
	what := fmt.Sprintf("%s after denials that stated none, the longest %s", text.Plural(n, "wait"),
		text.Seconds(longest))
	return result.Settle(id, what, result.Of(n, "retries after denials that stated no wait"),
		found[:min(len(found), findingsMax)]...), declared || n > 0
}

// tooShort returns the finding of a wait that is shorter than declared.
func (w *clientWait) tooShort(least time.Duration) result.Finding {
	return finding(ShortBackoff, w.gap().Milliseconds(), least.Milliseconds(),
		fmt.Sprintf("%s, #%d, came %s after denial %d of its request (#%d), which stated no wait: declared "+
			"are at least %s", url(w.retry), w.retry.Seq, text.Seconds(w.gap()), w.try, w.denial.Seq,
			text.Seconds(least)), w.denial, w.retry)
}

// waitless returns the finding of a client that does not wait.
func waitless(short []*clientWait, of int) result.Finding {
	var all []*timeline.Observation
	longest := time.Duration(0)
	for _, w := range short {
		all, longest = append(all, w.retry), max(longest, w.gap())
	}
	return finding(NoWait, int64(len(short)), 0, fmt.Sprintf("%d of %d retries after denials that stated no "+
		"wait came within %s: the client does not wait at all", len(short), of, text.Brief(longest)), all...)
}

// Breaker is after how many denials in a row a client sends nothing for a while. The zero value is not
// judged.
type Breaker struct {
	Denials int
	Open    time.Duration
}

// ParseBreaker reads DENIALS/TIME, such as 5/30s.
func ParseBreaker(s string) (b Breaker, err error) {
	n, open, _ := strings.Cut(s, "/")
	b.Denials, err = strconv.Atoi(n)
	if b.Open, _ = time.ParseDuration(open); err != nil || b.Denials < 1 || b.Open <= 0 {
		return Breaker{}, fmt.Errorf("%q: a breaker is DENIALS/TIME (5/30s)", s)
	}
	return b, nil
}

// breaker judges that a client sends nothing for the declared time after the declared number of denials in a
// row. A request that may have been on its way when the last denial came is no evidence, and an admission
// closes the breaker.
func (s *session) breaker() result.Claim {
	const id = string(result.ClaimClientBreaker)
	var found []result.Finding
	opened := 0
	for _, p := range s.tl.ByPartition() {
		obs := p.Observations
		for _, d := range s.openings(obs) {
			until := d.FirstByte + s.opts.Breaker.Open - timerSlack
			if s.tl.End() >= until {
				opened++
			}
			if o := firstWhileOpen(obs, d, until); o != nil {
				found = append(found, finding(OpenBreaker, (o.Sent-d.FirstByte).Milliseconds(),
					s.opts.Breaker.Open.Milliseconds(), fmt.Sprintf("%s, #%d, came %s after denial #%d, the "+
						"last of %d in a row: declared are %s without a request", url(o), o.Seq,
						text.Seconds(o.Sent-d.FirstByte), d.Seq, s.opts.Breaker.Denials,
						text.Seconds(s.opts.Breaker.Open)), d, o))
			}
		}
	}
	if opened == 0 && len(found) == 0 {
		return TooFew(id, fmt.Sprintf("no client had %d denials in a row", s.opts.Breaker.Denials))
	}
	return result.Settle(id, fmt.Sprintf("the breaker opened %s", text.Plural(opened, "time")),
		result.Of(max(opened, len(found)), "breakers that opened"), found[:min(len(found), findingsMax)]...)
}

// openings returns the denials that open the breaker of a client: the last of so many in a row, and one of a
// request that was sent when the breaker was over.
func (s *session) openings(obs []timeline.Observation) (out []*timeline.Observation) {
	answers := make([]*timeline.Observation, 0, len(obs))
	for i := range obs {
		if obs[i].Answered {
			answers = append(answers, &obs[i])
		}
	}
	slices.SortStableFunc(answers,
		func(a, b *timeline.Observation) int { return cmp.Compare(a.FirstByte, b.FirstByte) })
	run := 0
	var open *timeline.Observation
	for _, o := range answers {
		switch {
		case o.Outcome == timeline.Denied:
			run++
		default:
			run, open = 0, nil
		}
		if run < s.opts.Breaker.Denials {
			continue
		}
		if open == nil || o.Sent >= open.FirstByte+s.opts.Breaker.Open-timerSlack {
			open, out = o, append(out, o)
		}
	}
	return out
}

// firstWhileOpen returns the first request that was surely sent after d had arrived, and before the breaker
// was over or an admission closed it. nil: there is none.
func firstWhileOpen(obs []timeline.Observation, d *timeline.Observation,
	until time.Duration) *timeline.Observation {
	for i := range obs {
		o := &obs[i]
		if o.Answered && o.Outcome != timeline.Denied && o.FirstByte >= d.FirstByte {
			until = min(until, o.FirstByte)
		}
	}
	for i := range obs {
		if o := &obs[i]; o.Sent-d.FirstByte > d.FirstByte-d.Sent && o.Sent < until {
			return o
		}
	}
	return nil
}

// attempts judges whether each request was given up in time: after at most the declared number of tries.
func (s *session) attempts() result.Claim {
	const id = string(result.ClaimClientAttempts)
	var found []result.Finding
	most, given, doubtful := 0, 0, 0
	for i := range s.requests {
		r := &s.requests[i]
		most = max(most, len(r.tries))
		switch n := len(r.tries); {
		case n > s.opts.MaxAttempts && r.sure:
			text := fmt.Sprintf("%s was tried %s, declared are at most %d", url(r.tries[0]),
				text.Plural(n, "time"), s.opts.MaxAttempts)
			found = append(found, finding(ManyAttempts, int64(n), int64(s.opts.MaxAttempts), text,
				r.tries[:s.opts.MaxAttempts+1]...))
		case n > s.opts.MaxAttempts:
			doubtful++
		case s.givenUp(r):
			given++
		}
	}
	text := fmt.Sprintf("at most %d tries of one request, %s given up", most,
		text.Plural(given, "request"))
	switch {
	case len(found) > 0: // the claim fails
	case doubtful > 0:
		return TooFew(id, text+"; whether more tries belong to one request is unknown")
	case given == 0:
		return TooFew(id, text+": no request was seen to be given up (record for at least twice the "+
			"longest wait)")
	}
	return result.Settle(id, text, result.Of(given, "requests that were given up"),
		found[:min(len(found), findingsMax)]...)
}

// givenUp tells whether a request ended with a denial and was then given up. It was, if no try followed for
// more than twice the longest wait. That is the longest of the last stated wait, the gaps between its tries,
// and timerSlack.
func (s *session) givenUp(r *request) bool {
	d := last(r)
	if d.Outcome != timeline.Denied || !d.Answered {
		return false
	}
	long := timerSlack
	if t, ok := clockOf(&s.tl.Header).told(d); ok {
		long = max(long, t.due-d.FirstByte)
	}
	for i := 1; i < len(r.tries); i++ {
		long = max(long, r.tries[i].Sent-r.tries[i-1].Sent)
	}
	return s.tl.End()-d.FirstByte > 2*long
}

// budget judges whether all retries together stayed within their share of the first tries.
func (s *session) budget() result.Claim {
	const id, retried = string(result.ClaimClientBudget), "retries"
	var retries []*timeline.Observation
	first, doubtful := 0, 0
	for i := range s.requests {
		r := &s.requests[i]
		first++
		if !r.sure {
			doubtful += len(r.tries) - 1
			continue
		}
		retries = append(retries, r.tries[1:]...)
	}
	n, budget := len(retries), s.opts.Budget
	text := fmt.Sprintf("%d retries of %s, %d %%; declared are at most %d %%", n+doubtful,
		text.Plural(first, "request"), (n+doubtful)*100/max(first, 1), budget)
	switch {
	case n*100 > budget*(first+doubtful):
		f := finding(OverBudget, int64(n), int64(budget*(first+doubtful)/100), text, retries...)
		f.Partition = ""
		return result.Settle(id, text, result.Of(n, retried), f)
	case (n+doubtful)*100 > budget*first:
		return TooFew(id, text+"; but which of them are new requests is unknown")
	}
	return result.Settle(id, text, result.Of(n+doubtful, retried))
}
