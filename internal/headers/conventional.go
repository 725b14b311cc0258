package headers

import (
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
	"github.com/rlcheck/rlcheck/internal/text"
)

// family is three fields for one quota. A dialect of such fields is a few rows of families.
type family struct {
	prefix, suffix string
	// name tells the quota from the others of an answer, and may be empty. window is 0 if none is meant.
	name   string
	window time.Duration
	// units are what is counted, if it is not requests.
	units string
	*law
}

// law is how the fields of a family are written.
type law struct {
	dialect Dialect
	// limit, remaining, over and reset are the rules that a wrong field breaks.
	limit, remaining, over, reset Rule
	// wrong says what is wrong with a reset that can be read. Empty: nothing.
	wrong func(reset) (why, mend string)
}

// No standard defines the fields of the first two laws, so each of their problems is one of convention.
var (
	inSeconds = law{XRateLimit, XRSet, XRRange, XRRange, XRReset, notSecondsOrEpoch}
	spelled   = law{XRateLimit, XRSet, XRRange, XRRange, XRReset,
		func(reset) (string, string) { return "", "" }}
	drafts = law{Draft00, R3Limit, R3Remaining, R3Range, R3Delta, notDelta}
)

// families are the families that are read, in the order of the quotas. A product with names of its own is one
// more row.
var families = [...]family{
	{prefix: "X-RateLimit-", law: &inSeconds},
	{prefix: "X-Rate-Limit-", law: &inSeconds},
	// Kong states one quota per window: X-RateLimit-Limit-Minute.
	{"X-RateLimit-", "-Second", "second", time.Second, "", &inSeconds},
	{"X-RateLimit-", "-Minute", "minute", time.Minute, "", &inSeconds},
	{"X-RateLimit-", "-Hour", "hour", time.Hour, "", &inSeconds},
	{"X-RateLimit-", "-Day", "day", 24 * time.Hour, "", &inSeconds},
	// Imgur states one quota for each of several parties: X-RateLimit-UserLimit.
	{prefix: "X-RateLimit-User", name: "user", law: &inSeconds},
	{prefix: "X-RateLimit-Client", name: "client", law: &inSeconds},
	// OpenAI, Groq and Azure: requests and tokens, with resets as durations of Go (1m0s, 6ms).
	{"X-RateLimit-", "-Requests", "requests", 0, "", &spelled},
	{"X-RateLimit-", "-Tokens", "tokens", 0, "tokens", &spelled},
	// Mistral and Cerebras name the window, too.
	{"X-RateLimit-", "-Req-Minute", "req-minute", time.Minute, "", &spelled},
	{"X-RateLimit-", "-Requests-Day", "requests-day", 24 * time.Hour, "", &spelled},
	{"X-RateLimit-", "-Tokens-Minute", "tokens-minute", time.Minute, "tokens", &spelled},
	// Anthropic, with resets as times of RFC 3339.
	{prefix: "Anthropic-RateLimit-Requests-", name: "requests", law: &spelled},
	{prefix: "Anthropic-RateLimit-Tokens-", name: "tokens", units: "tokens", law: &spelled},
	{prefix: "Anthropic-RateLimit-Input-Tokens-", name: "input-tokens", units: "tokens", law: &spelled},
	{prefix: "Anthropic-RateLimit-Output-Tokens-", name: "output-tokens", units: "tokens", law: &spelled},
	// The drafts 00 to 06.
	{prefix: "RateLimit-", law: &drafts},
}

// familyFields are the names of the fields of each family, for its limit, its remaining units and its reset.
var familyFields = func() (out [len(families)][3]string) {
	for i, c := range families {
		for j, part := range [...]string{"Limit", "Remaining", "Reset"} {
			out[i][j] = c.prefix + part + c.suffix
		}
	}
	return out
}()

// threeFields reads the quota of a family. Most answers have no field of most families.
func (r *reader) threeFields(c *family, names [3]string) {
	has := func(name string) bool { _, ok := r.get(keys[name]); return ok }
	if !slices.ContainsFunc(names[:], has) {
		return
	}
	q := Quota{Dialect: c.dialect, Name: c.name, Window: c.window, Units: c.units}
	limit, remaining, resetName := names[0], names[1], names[2]
	if r.unlimited(limit, remaining) {
		q.Unlimited = true
		r.add(q)
		return
	}
	limits, hasLimit := r.limits(limit, c.limit)
	if len(limits) > 0 {
		q.Limit, q.HasLimit = limits[0].units, true
		q.Window = max(q.Window, windowOf(limits))
	}
	if v, ok := r.value(remaining); ok {
		q.Remaining, q.HasRemaining = r.count(remaining, v, c.remaining)
		r.inRange(remaining, v, c.over, &q)
		if c.law == &inSeconds && c.suffix == "" && !hasLimit {
			r.bad(XRSet, remaining, v, "it comes without "+limit, "send all three")
		}
	}
	v, hasReset := r.value(resetName)
	if hasReset {
		x, why := parseReset(v)
		mend := once(v)
		if why == "" {
			r.setReset(&q, x)
			why, mend = c.wrong(x)
		}
		if why != "" {
			r.bad(c.reset, resetName, v, why, mend)
		}
	}
	switch {
	case c.law != &drafts:
	case hasLimit && !hasReset:
		r.bad(R3Required, resetName, "", "it is missing beside "+limit, "send both")
	case !hasLimit && hasReset:
		r.bad(R3Required, limit, "", "it is missing beside "+resetName, "send both")
	}
	r.add(q)
}

// unlimited tells whether a limit of -1, and no other number of remaining units, say that nothing limits the
// client here.
func (r *reader) unlimited(limit, remaining string) bool {
	v, has := r.value(limit)
	left, tells := r.value(remaining)
	return has && v == "-1" && (!tells || left == "-1")
}

// notSecondsOrEpoch says what is wrong with a reset that should be seconds from now or since 1970.
func notSecondsOrEpoch(x reset) (why, mend string) {
	switch {
	case x.form == Spelled:
		return "a reset is a number of seconds, without a unit", ""
	case x.fraction:
		return "a reset is a whole number of seconds", "round up"
	case x.form == HTTPDate || x.form == OtherDate:
		return "a reset is a number of seconds, not a date",
			"write " + text.Quote(strconv.FormatInt(x.at.Unix(), 10))
	default:
		return "", ""
	}
}

// notDelta says what is wrong with a reset that should be seconds from now.
func notDelta(x reset) (why, mend string) {
	switch {
	case x.form == Spelled:
		return "a reset is a number of seconds, without a unit", ""
	case x.form != Delta:
		return "a reset is in seconds from now, not an instant (" + string(x.form) + ")", ""
	case x.fraction:
		return "a reset is a whole number of seconds", "round up"
	default:
		return "", ""
	}
}

// inRange adds a problem if more remains than the limit.
func (r *reader) inRange(name, value string, rule Rule, q *Quota) {
	if q.HasRemaining && q.HasLimit && q.Remaining > q.Limit {
		r.bad(rule, name, value, "more remains than the limit of "+strconv.FormatInt(q.Limit, 10), "")
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
	r.bad(rule, name, v, "the remaining quota is one whole number", once(v))
	return 0, false
}

// once is the mend of a value that was sent several times. Empty: it was not.
func once(v string) string {
	if first, _, many := strings.Cut(v, ","); many && isNumber(first) {
		return "send the field once"
	}
	return ""
}

// hints are parts of the canonical names of fields that tell a quota or a wait.
var hints = []string{"Ratelimit", "Rate-Limit", "Retry-After", "Quota", "Throttl"}

// Suggests tells whether the canonical name of a field suggests that it tells a quota or a wait.
func Suggests(name string) bool {
	return strings.HasSuffix(name, "-Reset") ||
		slices.ContainsFunc(hints, func(part string) bool { return strings.Contains(name, part) })
}

// Unread tells whether the name of a field suggests a quota or a wait, but nothing here reads the field.
// Nothing says what such a field means.
func Unread(name string) bool {
	name, asked := textproto.CanonicalMIMEHeaderKey(name), name == "Retry-After"
	get := func(of string) (string, bool) {
		asked = asked || of == name
		return "", false
	}
	Quotas(get, time.Time{})
	NumericPolicies(get)
	MillisecondWait(get)
	return Suggests(name) && !asked
}
