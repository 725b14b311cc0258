package headers

import (
	"slices"
	"strconv"
	"strings"

	"github.com/dunglas/httpsfv"
)

// FromCache returns the field, with its value, by which an answer says that a cache gave it without asking
// the origin; ok is false where none does. Age: 0 says nothing, since some caches add it to every answer,
// nor does Via. get returns the value of a field by its canonical name.
//
// Sources: RFC 9111 section 5.1 (Age), RFC 9211 (Cache-Status); X-Cache and CF-Cache-Status are conventions.
func FromCache(get func(name string) (string, bool)) (field, value string, ok bool) {
	if v, has := get("Age"); has {
		if age, err := strconv.ParseUint(trim(v), 10, 64); err == nil && age > 0 {
			return "Age", v, true
		}
	}
	if v, has := get("Cache-Status"); has && hit(v) {
		return "Cache-Status", v, true
	}
	for _, name := range []string{"X-Cache", "X-Cache-Status", "X-Proxy-Cache", "Cf-Cache-Status"} {
		if v, has := get(name); has && saysHit(v) {
			return name, v, true
		}
	}
	return "", "", false
}

// hit tells whether one of the caches of a Cache-Status says that it had the answer.
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
// cloudfront, or STALE and UPDATING, which are given without waiting for the origin. One that was
// revalidated is no hit.
func saysHit(value string) bool {
	words := strings.FieldsFunc(strings.ToLower(value),
		func(r rune) bool { return r == ' ' || r == ',' || r == ';' })
	return slices.ContainsFunc(words, func(w string) bool {
		whole := w == "stale" || w == "updating"
		return whole || (w == "hit" || strings.HasSuffix(w, "_hit")) && !strings.Contains(w, "refresh")
	})
}
