package claim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
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
