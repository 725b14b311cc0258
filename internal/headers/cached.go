package headers

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dunglas/httpsfv"
)

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
