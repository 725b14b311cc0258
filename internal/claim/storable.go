package claim

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// readStorable tells whether a denial lets caches keep it. A cache must not keep a 429 (RFC 6585 section 4).
// It may if the answer names a lifetime above 0 or calls itself public, and does not say no-store (RFC 9111
// section 3). A denial that says nothing about caches is right.
func readStorable(o *timeline.Observation) (bool, []headers.Problem) {
	if o.Status != http.StatusTooManyRequests {
		return true, nil
	}
	v, _ := o.Fields.Get("Cache-Control")
	stores, aged := "", false
	for _, part := range strings.Split(v, ",") {
		name, arg, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch strings.ToLower(name) {
		case "no-store":
			return true, nil
		case "public":
			stores = part
		case "max-age", "s-maxage":
			aged = aged || strings.EqualFold(name, "max-age")
			if n, err := strconv.ParseUint(strings.Trim(arg, `" `), 10, 64); err == nil && n > 0 {
				stores = part
			}
		}
	}
	if stores != "" {
		return true, []headers.Problem{{Rule: headers.STNoStore, Field: "Cache-Control", Value: v,
			Why: "a cache must not store a 429", Mend: "send no-store"}}
	}
	if aged { // then Expires is ignored (RFC 9111 section 5.3)
		return true, nil
	}
	return true, expires(o)
}

// expires tells whether Expires makes a denial fresh. Cache-Control did not overrule it.
func expires(o *timeline.Observation) []headers.Problem {
	v, ok := o.Fields.Get("Expires")
	at, err := headers.ParseDate(v)
	now, dated := Date(o)
	if !ok || err != nil || !dated || !at.After(now) {
		return nil
	}
	return []headers.Problem{{Rule: headers.STNoStore, Field: "Expires", Value: v,
		Why: "a cache must not store a 429", Mend: "send Cache-Control: no-store"}}
}

// readExplanation tells whether a denial has a text that explains it (RFC 6585 section 4). Recordings without
// bodies have none, and HEAD requests never do.
func readExplanation(o *timeline.Observation) (bool, []headers.Problem) {
	return strings.TrimSpace(o.Body) != "", nil
}
