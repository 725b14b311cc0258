package headers

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// skewFrom is how far a Date may be from our clock, beyond its own second. Farther away, the two clocks count
// as different.
const skewFrom = time.Second

// AnnouncedReset returns when an answer says that quota comes back. wait is counted from received, the wall
// time at which the answer arrived, and is never negative. unit is how far the true instant may be from it in
// either direction, because of the notation. ok is false if the answer announces nothing, or an instant that
// is past.
//
// Of several announcements the finest counts. Of equally fine ones the order is RateLimit, RateLimit-Reset,
// X-RateLimit-Reset, Retry-After. Of several policies the one with the least remaining counts. An instant is
// taken on our clock, which is finer than a Date. It is taken on the clock of the Date field if that is more
// than a second off ours.
func AnnouncedReset(get func(name string) (string, bool), received time.Time) (wait, unit time.Duration,
	ok bool) {
	base, slack := received, time.Duration(0)
	if v, has := get("Date"); has {
		if date, err := ParseDate(v); err == nil {
			base, slack = answerClock(date, received)
		}
	}
	quotas, _ := Quotas(get, base)
	var best *Quota
	for i := len(quotas) - 1; i >= 0; i-- {
		q := &quotas[i]
		if q.HasReset && q.Reset > -resolution(q, slack) && (best == nil || better(q, best)) {
			best = q
		}
	}
	if best != nil {
		return max(0, best.Reset), resolution(best, slack), true
	}
	v, has := get("Retry-After")
	if !has {
		return 0, 0, false
	}
	ra, err := ParseRetryAfter(v)
	if err != nil || ra.Past(base) {
		return 0, 0, false
	}
	return ra.Wait(base), time.Second + slack, true
}

// answerClock returns the instant from which absolute announcements count, and how far off that may be.
func answerClock(date, received time.Time) (base time.Time, slack time.Duration) {
	if age := received.Sub(date); age >= -skewFrom && age < time.Second+skewFrom {
		return received, 0
	}
	// The Date is cut to the second. Its middle is off by at most half a second.
	return date.Add(time.Second / 2), time.Second / 2
}

// resolution is how far from the truth a reset may be: by its notation, and for an instant also by the
// clocks.
func resolution(q *Quota, slack time.Duration) time.Duration {
	if q.Form.Relative() {
		return q.Unit
	}
	return q.Unit + slack
}

// better tells whether a says more than b. b comes later in the order of the dialects.
func better(a, b *Quota) bool {
	if a.Unit != b.Unit {
		return a.Unit < b.Unit
	}
	if a.Dialect != b.Dialect || a.HasRemaining != b.HasRemaining {
		return false
	}
	return a.Remaining <= b.Remaining
}

// cacheFields are the fields that fromCache reads. Those from index `conventions` on are in no standard.
var cacheFields = []string{"Age", "Cache-Status", "X-Cache", "X-Cache-Status", "X-Proxy-Cache",
	"Cf-Cache-Status"}

const conventions = 2

// CacheFields returns the canonical names of the fields by which a cache says that it gave an answer.
func CacheFields() []string { return slices.Clone(cacheFields) }

// Caches counts the answers of a recording that caches gave. The zero value is ready for use.
type Caches struct {
	// Answers counts all answers. Hits counts those that a cache gave.
	Answers, Hits int
	// First names the first hit and the field that shows it; "" without a hit.
	First string
}

// Gave counts answer number n and tells whether a cache gave it. get returns the value of a field by its
// canonical name.
func (c *Caches) Gave(n int, get func(name string) (string, bool)) bool {
	c.Answers++
	field, value, ok := fromCache(get)
	if !ok {
		return false
	}
	if c.Hits++; c.Hits == 1 {
		c.First = fmt.Sprintf("#%d has %s: %.40q", n, field, value)
	}
	return true
}

// Text says how many answers caches gave, of how many, and which was the first. Empty: none.
func (c *Caches) Text() string {
	if c.Hits == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d (%s)", c.Hits, c.Answers, c.First)
}

// fromCache returns the field, with its value, by which an answer says that a cache gave it without asking
// the origin. ok is false if no field says so. Age: 0 says nothing, since some caches add it to every answer.
// Via says nothing either. get returns the value of a field by its canonical name.
//
// Sources: RFC 9111 section 5.1 (Age), RFC 9211 (Cache-Status); X-Cache and CF-Cache-Status are conventions.
func fromCache(get func(name string) (string, bool)) (field, value string, ok bool) {
	if v, has := get("Age"); has {
		if age, err := strconv.ParseUint(trim(v), 10, 64); err == nil && age > 0 {
			return "Age", v, true
		}
	}
	if v, has := get("Cache-Status"); has && hit(v) {
		return "Cache-Status", v, true
	}
	for _, name := range cacheFields[conventions:] {
		if v, has := get(name); has && saysHit(v) {
			return name, v, true
		}
	}
	return "", "", false
}

// hit tells whether one of the caches in a Cache-Status says that it had the answer.
func hit(value string) bool {
	list, err := httpsfv.UnmarshalList([]string{value})
	if err != nil {
		return false
	}
	return slices.ContainsFunc(list, func(m httpsfv.Member) bool {
		item, ok := m.(httpsfv.Item)
		had, _ := param[bool](item.Params, "hit")
		return ok && had
	})
}

// saysHit tells whether a word of a value says that a cache had the answer: HIT, TCP_MEM_HIT, Hit from
// cloudfront, STALE or UPDATING. The last two are given without waiting for the origin. A revalidated answer
// is not a hit.
func saysHit(value string) bool {
	words := strings.FieldsFunc(strings.ToLower(value),
		func(r rune) bool { return r == ' ' || r == ',' || r == ';' })
	return slices.ContainsFunc(words, func(w string) bool {
		whole := w == "stale" || w == "updating"
		return whole || (w == "hit" || strings.HasSuffix(w, "_hit")) && !strings.Contains(w, "refresh")
	})
}

// separators is built once: to build it took more time than all else of reading a body.
var separators = strings.NewReplacer("_", "", "-", "")
