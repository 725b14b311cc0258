package check

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// richProducts are limits of several policies of which some remember more than what they admitted. A request
// that another policy denies creates them, renews them or begins nothing, in each its own way.
func richProducts() map[string]spec.Limit {
	small := smallLimits()
	one := func(name string, edits ...func(*spec.Policy)) spec.Policy {
		p := small[name][0]
		for _, edit := range edits {
			edit(&p)
		}
		return p
	}
	own := func(p *spec.Policy) { p.Count = spec.CountOwn }
	banned := func(p *spec.Policy) { p.Ban = 11 }
	shortLived := func(p *spec.Policy) { p.TTL = 9 }
	bucket, window, log := one("token bucket"), one("fixed window"), one("sliding log, quota 3")
	return map[string]spec.Limit{
		"bucket with a ban + window":            {one("token bucket, ban"), window},
		"bucket with a ban, its own + log":      {one("token bucket, ban", own), log},
		"window with a ban + bucket with a ban": {one("fixed window", banned), one("token bucket, ban")},
		"bucket with a ttl + window":            {one("token bucket, ttl"), window},
		"log with a ttl + bucket":               {one("sliding log, ttl"), bucket},
		"window with a ttl + log, its own":      {one("fixed window, ttl", own), log},
		"bucket with a ban and a ttl + window":  {one("token bucket, ban", shortLived), window},
		"bucket that starts empty + window":     {one("token bucket, starts empty"), window},
		"bucket, empty with a ttl + bucket":     {one("token bucket, starts empty, ttl"), bucket},
		"bucket, start unknown + window":        {one("token bucket, start unknown"), window},
		"batches + window":                      {one("token bucket, batches"), window},
		"batches, empty + log, its own": {one("token bucket, batches, starts empty"),
			one("sliding log", own)},
		"batches, counts all + bucket":        {one("token bucket, batches, counts all"), bucket},
		"counter, first + bucket":             {one("sliding counter, first"), bucket},
		"counter, first, counts all + window": {one("sliding counter, first", countsAll), window},
		"counter, first, its own + counter": {one("sliding counter, first", own),
			one("sliding counter")},
		"bucket counts all + bucket with a ttl": {one("token bucket, counts all"),
			one("token bucket, ttl")},
		"queue + bucket with a ban":         {one("queue"), one("token bucket, ban")},
		"bucket + log + window":             {bucket, log, window},
		"bucket + window, phase in a range": {bucket, one("fixed window, phase in a range")},
		"bucket with a ban + log, its own + window": {one("token bucket, ban"), one("sliding log", own),
			window},
		"window, first, with a ttl + bucket, empty": {one("fixed window, first request, ttl"),
			one("token bucket, starts empty")},
		"log with a ban, its own + window, open end": {one("sliding log, ban", own),
			one("fixed window, quota 3, unknown phase")},
	}
}

// clockProducts are limits of several policies whose clocks tick, each in its own way.
func clockProducts() map[string]spec.Limit {
	small := smallLimits()
	with := func(name string, edits ...func(*spec.Policy)) spec.Policy {
		p := small[name][0]
		for _, edit := range edits {
			edit(&p)
		}
		return p
	}
	slow := func(p *spec.Policy) { p.Tick, p.TickSet = 3, true }
	own := func(p *spec.Policy) { p.Count = spec.CountOwn }
	return map[string]spec.Limit{
		"bucket, tick + window": {with("token bucket, tick"), with("fixed window")},
		"bucket, tick + bucket with another one": {with("token bucket, tick"),
			with("token bucket, 3 per 25", slow)},
		"window, tick + log": {with("fixed window, tick"), with("sliding log, quota 3")},
		"log, tick, its own + window, tick": {with("sliding log", own, slow),
			with("fixed window", slow)},
		"bucket with a ban, tick + counter": {with("token bucket, ban", slow), with("sliding counter")},
	}
}

// TestClocksOfSeveralNeverAccuse is TestRichProductsAreNeverAccused for clockProducts.
func TestClocksOfSeveralNeverAccuse(t *testing.T) {
	soakProducts(t, clockProducts(), 2600, bands[:4], 8)
}

// TestRichProductsAreNeverAccused is TestJudgeNeverAccusesWhatTheOracleExplains for richProducts.
func TestRichProductsAreNeverAccused(t *testing.T) { soakProducts(t, richProducts(), 3400, bands, 1) }

// soakProducts judges random histories under each limit. Its bands are the longest latencies, in quarters of
// the refill time. Of the histories that are not accused, it asks the oracle about one in `every`.
func soakProducts(t *testing.T, limits map[string]spec.Limit, soak int, bands []int, every int) {
	rounds, seeds := soakRounds(t, 4, soak)
	if rounds > 100 {
		every = 16
	}
	for name, limit := range limits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, costs := range []bool{false, true} {
				if testing.Short() && costs != (len(name)%2 == 0) { // half of the limits each
					continue
				}
				var narrow, all catches
				var line strings.Builder
				for _, quarters := range bands {
					var c catches
					for seed := range seeds {
						c.add(judgeRandom(t, limit, quarters, rounds, soakSeed+uint64(seed), costs, every))
					}
					if all.add(c); quarters <= 2 {
						narrow.add(c)
					}
					fmt.Fprintf(&line, "  %g: %s", float64(quarters)/4, c)
				}
				kind := fmt.Sprintf("%s, mixed costs %v", name, costs)
				t.Logf("caught of the infeasible: %s: up to half %s, all %s of %d histories; by latency%s",
					kind, narrow, all, all.histories, line.String())
				enough(t, kind, demandedOf(limit), narrow, all)
			}
		})
	}
}

// everySmallLimit are those of smallLimits and richProducts.
func everySmallLimit() map[string]spec.Limit {
	out := smallLimits()
	maps.Copy(out, richProducts())
	return out
}
