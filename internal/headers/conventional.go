package headers

import (
	"strconv"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// family is three fields for one quota, as some products send it.
type family struct {
	prefix, suffix string
	// name tells the quota from the others of an answer, and may be empty. window is 0 if none is meant.
	name   string
	window time.Duration
}

// families are the families that are read, besides those of the drafts. A product with names of its own is
// one more row.
var families = [...]family{
	{prefix: "X-RateLimit-"},
	{prefix: "X-Rate-Limit-"},
	// Kong states one quota per window: X-RateLimit-Limit-Minute.
	{"X-RateLimit-", "-Second", "second", time.Second},
	{"X-RateLimit-", "-Minute", "minute", time.Minute},
	{"X-RateLimit-", "-Hour", "hour", time.Hour},
	{"X-RateLimit-", "-Day", "day", 24 * time.Hour},
	// Imgur states one quota for each of several parties: X-RateLimit-UserLimit.
	{prefix: "X-RateLimit-User", name: "user"},
	{prefix: "X-RateLimit-Client", name: "client"},
}

// field returns the name of the field for Limit, Remaining or Reset.
func (c *family) field(part string) string { return c.prefix + part + c.suffix }

// conventional reads a family. No standard defines these fields, so every problem is one of convention.
func (r *reader) conventional(c *family) {
	q := Quota{Dialect: XRateLimit, Name: c.name, Window: c.window}
	limit, remaining, resetName := c.field("Limit"), c.field("Remaining"), c.field("Reset")
	limits, hasLimit := r.limits(limit, XRSet)
	if len(limits) > 0 {
		q.Limit, q.HasLimit = limits[0].units, true
		q.Window = max(q.Window, windowOf(limits))
	}
	if v, ok := r.value(remaining); ok {
		q.Remaining, q.HasRemaining = r.count(remaining, v, XRRange)
		if q.HasRemaining && q.HasLimit && q.Remaining > q.Limit {
			r.bad(XRRange, remaining, v, "more remains than the limit of "+strconv.FormatInt(q.Limit, 10), "")
		}
		if c.suffix == "" && !hasLimit {
			r.bad(XRSet, remaining, v, "it comes without "+limit, "send all three")
		}
	}
	if v, ok := r.value(resetName); ok {
		x, why := parseReset(v)
		if why != "" {
			r.bad(XRReset, resetName, v, why, "")
		} else {
			r.setReset(&q, x)
		}
		switch {
		case x.fraction:
			r.bad(XRReset, resetName, v, "a reset is a whole number of seconds", "round up")
		case x.form == HTTPDate || x.form == OtherDate:
			mend := "write " + quote(strconv.FormatInt(x.at.Unix(), 10))
			r.bad(XRReset, resetName, v, "a reset is a number of seconds, not a date", mend)
		}
	}
	r.add(q)
}

// threeFields reads RateLimit-Limit, -Remaining and -Reset of drafts 00 to 06.
func (r *reader) threeFields() {
	q := Quota{Dialect: Draft00}
	limits, hasLimit := r.limits("RateLimit-Limit", R3Limit)
	if len(limits) > 0 {
		q.Limit, q.HasLimit, q.Window = limits[0].units, true, windowOf(limits)
	}
	if v, ok := r.value("RateLimit-Remaining"); ok {
		q.Remaining, q.HasRemaining = r.count("RateLimit-Remaining", v, R3Remaining)
		r.inRange("RateLimit-Remaining", v, &q)
	}
	v, hasReset := r.value("RateLimit-Reset")
	if hasReset {
		x, why := parseReset(v)
		switch {
		case why != "":
			r.bad(R3Delta, "RateLimit-Reset", v, why, "")
		case x.form != Delta:
			r.bad(R3Delta, "RateLimit-Reset", v, "a reset is in seconds from now, not an instant ("+
				string(x.form)+")", "")
		case x.fraction:
			r.bad(R3Delta, "RateLimit-Reset", v, "a reset is a whole number of seconds", "round up")
		}
		if why == "" {
			r.setReset(&q, x)
		}
	}
	switch {
	case hasLimit && !hasReset:
		r.bad(R3Required, "RateLimit-Reset", "", "it is missing beside RateLimit-Limit", "send both")
	case !hasLimit && hasReset:
		r.bad(R3Required, "RateLimit-Limit", "", "it is missing beside RateLimit-Reset", "send both")
	}
	r.add(q)
}

// inRange adds a problem if more remains than the limit, in a draft before 08.
func (r *reader) inRange(name, value string, q *Quota) {
	if q.HasRemaining && q.HasLimit && q.Remaining > q.Limit {
		r.bad(R3Range, name, value, "more remains than the limit of "+strconv.FormatInt(q.Limit, 10), "")
	}
}

// limitItem is one item of a limit field: units, and its window, 0 if none is stated.
type limitItem struct {
	units  int64
	window time.Duration
}

// limits reads a limit, alone or followed by the policies that it comes from (100, 100;w=60, 1000;w=3600).
func (r *reader) limits(name string, rule Rule) (items []limitItem, present bool) {
	v, ok := r.value(name)
	if !ok {
		return nil, false
	}
	list, err := httpsfv.UnmarshalList([]string{v})
	if err != nil || len(list) == 0 {
		r.bad(rule, name, v, "a limit is a number, or a list of numbers with a window (100;w=60)", "")
		return nil, true
	}
	for _, m := range list {
		item, ok := m.(httpsfv.Item)
		units, isInt := item.Value.(int64)
		if !ok || !isInt || units < 0 {
			r.bad(rule, name, v, "a limit is a whole number of at least 0", "")
			return items, true
		}
		x := limitItem{units: units}
		if w, ok := param[int64](item.Params, "w"); ok && w > 0 && w < maxSeconds {
			x.window = time.Duration(w) * time.Second
		}
		items = append(items, x)
	}
	return items, true
}

// windowOf returns the window of the first item, which is the limit in force. If that item has none, it
// returns the window of the first policy with the same number.
func windowOf(items []limitItem) time.Duration {
	for _, x := range items {
		if x.units == items[0].units && x.window > 0 {
			return x.window
		}
	}
	return 0
}

// count reads a number of remaining quota units.
func (r *reader) count(name, v string, rule Rule) (int64, bool) {
	if allDigits(v) {
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			return n, true
		}
		r.bad(rule, name, v, "the number overflows", "")
		return 0, false
	}
	if strings.HasPrefix(v, "-") && isNumber(v[1:]) {
		r.bad(rule, name, v, "the remaining quota may not be negative", "send \"0\"")
		return 0, false
	}
	r.bad(rule, name, v, "the remaining quota is one whole number", "")
	return 0, false
}
