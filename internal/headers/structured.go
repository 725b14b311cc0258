package headers

import (
	"strconv"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
	"github.com/rlcheck/rlcheck/internal/text"
)

// maxSeconds is the first number of seconds that a time.Duration cannot hold.
const maxSeconds = int64(1) << 33

// structured reads RateLimit and RateLimit-Policy. They are lists of named items from draft 08 on. Draft 07
// has a dictionary, and drafts before it have policies by number.
func (r *reader) structured() {
	policy, hasPolicy := r.value("RateLimit-Policy")
	state, hasState := r.value("RateLimit")
	var policies []Quota
	if hasPolicy {
		policies = r.policies(policy)
	}
	if hasState && isDraft07(state) {
		r.dictionary(state, policies)
		return
	}
	first := len(r.quotas)
	if hasState {
		r.states(state)
	}
	r.join(r.quotas[first:], policies, state)
	for _, p := range policies {
		switch {
		case p.Dialect == Draft08 && !told(r.quotas[first:], p.Name):
			r.add(p)
		case p.Dialect != Draft08 && !r.windowOfLimit(p):
			r.add(p)
		}
	}
}

// windowOfLimit gives the window of p to the quota of drafts 04 to 06 with the same limit. It reports whether
// there is a quota of those drafts at all.
func (r *reader) windowOfLimit(p Quota) (found bool) {
	for i := range r.quotas {
		q := &r.quotas[i]
		if q.Dialect != Draft00 {
			continue
		}
		found = true
		if q.Window == 0 && q.HasLimit && q.Limit == p.Limit {
			q.Window = p.Window
		}
	}
	return found
}

func told(quotas []Quota, name string) bool {
	for i := range quotas {
		if quotas[i].Name == name {
			return true
		}
	}
	return false
}

// join completes each state with the limit and window of the policy of the same name, and checks the two
// against each other.
func (r *reader) join(states, policies []Quota, value string) {
	for i := range states {
		q := &states[i]
		for _, p := range policies {
			if p.Dialect != Draft08 || p.Name != q.Name {
				continue
			}
			q.Limit, q.HasLimit, q.Window, q.Units = p.Limit, p.HasLimit, p.Window, p.Units
			break
		}
		switch {
		case len(policies) > 0 && !told(policies, q.Name):
			r.bad(RLName, "RateLimit", value, "RateLimit-Policy has no policy "+text.Quote(q.Name), "")
		case q.HasLimit && q.HasRemaining && q.Remaining > q.Limit:
			r.bad(RLRLeQ, "RateLimit", value, "r is more than q="+strconv.FormatInt(q.Limit, 10), "")
		case q.HasReset && q.Window > 0 && q.Reset > q.Window:
			r.bad(RLTLeW, "RateLimit", value,
				"t is more than w="+strconv.FormatInt(int64(q.Window/time.Second), 10), "")
		}
	}
}

// list parses a field as a non-empty list of items.
func (r *reader) list(name, value string) []httpsfv.Item {
	members, err := httpsfv.UnmarshalList([]string{value})
	if err != nil {
		r.bad(SFParse, name, value, "it is not a structured field list: "+firstLine(err.Error()), "")
		return nil
	}
	if len(members) == 0 {
		r.bad(SFNonEmpty, name, value, "the list is empty", "leave the field out")
	}
	var items []httpsfv.Item
	for _, m := range members {
		item, ok := m.(httpsfv.Item)
		if !ok {
			r.bad(RPName, name, value, "an item is a name, not a list in parentheses", "")
			continue
		}
		items = append(items, item)
	}
	return items
}

// policies reads RateLimit-Policy: the named policies from draft 08 on, or the policies by number (100;w=60)
// before.
func (r *reader) policies(value string) []Quota {
	const name = "RateLimit-Policy"
	var out []Quota
	for _, item := range r.list(name, value) {
		q := Quota{Dialect: Draft08}
		if units, ok := item.Value.(int64); ok {
			q.Dialect, q.Limit, q.HasLimit = Draft07, units, units >= 0
			if units < 0 {
				r.bad(RPQ, name, value, "a quota is at least 0", "")
			}
		} else {
			q.Name = r.name(name, value, item)
			q.Limit, q.HasLimit = r.atLeast0(RPQ, name, value, item.Params, "q", true)
			q.Units = r.units(value, item.Params)
		}
		r.checkKey(name, value, item.Params)
		if w, ok := r.atLeast0(RPW, name, value, item.Params, "w", false); ok {
			switch {
			case w == 0:
				r.bad(RPW, name, value, "w is above 0", "")
			case w < maxSeconds:
				q.Window = time.Duration(w) * time.Second
			}
		}
		out = append(out, q)
	}
	return out
}

// states reads RateLimit in the form of draft 08 and later.
func (r *reader) states(value string) {
	const name = "RateLimit"
	for _, item := range r.list(name, value) {
		q := Quota{Dialect: Draft08, Name: r.name(name, value, item)}
		q.Remaining, q.HasRemaining = r.atLeast0(RLR, name, value, item.Params, "r", true)
		r.checkKey(name, value, item.Params)
		if t, ok := r.atLeast0(RLT, name, value, item.Params, "t", false); ok {
			if x, why := numericReset(strconv.FormatInt(t, 10)); why == "" {
				r.setReset(&q, x)
			}
			if q.Form != Delta {
				r.bad(RLT, name, value, "t is in seconds from now, not an instant", "")
			}
		}
		r.add(q)
	}
}

// name returns the name of an item. A Token instead of a String is a problem, but it can be read.
func (r *reader) name(field, value string, item httpsfv.Item) string {
	switch v := item.Value.(type) {
	case string:
		return v
	case httpsfv.Token:
		r.bad(RPName, field, value, "the name "+text.Quote(string(v))+" is a token, it must be a string",
			"write it in double quotes")
		return string(v)
	default:
		r.bad(RPName, field, value, "an item begins with a name in double quotes", "")
		return ""
	}
}

// atLeast0 reads the parameter key as an Integer of at least 0.
func (r *reader) atLeast0(rule Rule, field, value string, p *httpsfv.Params, key string,
	required bool) (int64, bool) {
	v, ok := get(p, key)
	if !ok {
		if required {
			r.bad(rule, field, value, key+" is missing", "")
		}
		return 0, false
	}
	n, isInt := v.(int64)
	switch {
	case !isInt:
		r.bad(rule, field, value, key+" is an integer", "write digits only")
		return 0, false
	case n < 0:
		r.bad(rule, field, value, key+" is not negative", "")
		return 0, false
	default:
		return n, true
	}
}

// units returns qu, which is a String. It is empty for requests.
func (r *reader) units(value string, p *httpsfv.Params) string {
	v, ok := get(p, "qu")
	units, isString := v.(string)
	if ok && !isString {
		r.bad(RPQU, "RateLimit-Policy", value, "qu is a string", "write it in double quotes")
	}
	if units == "requests" || units == "request" { // the registry and the text of the draft differ
		return ""
	}
	return units
}

// checkKey checks the form of the partition key, if there is one.
func (r *reader) checkKey(field, value string, p *httpsfv.Params) {
	if v, ok := get(p, "pk"); ok {
		if _, isBytes := v.([]byte); !isBytes {
			r.bad(RPPK, field, value, "pk is a byte sequence", "write base64 between colons")
		}
	}
}

// isDraft07 tells whether a RateLimit value is the dictionary of draft 07.
func isDraft07(value string) bool {
	if _, err := httpsfv.UnmarshalList([]string{value}); err == nil {
		return false
	}
	d, err := httpsfv.UnmarshalDictionary([]string{value})
	if err != nil {
		return false
	}
	for _, name := range d.Names() {
		if name == "limit" || name == "remaining" || name == "reset" {
			return true
		}
	}
	return false
}

// dictionary reads RateLimit in the form of draft 07. The window is that of the first policy with the same
// limit.
func (r *reader) dictionary(value string, policies []Quota) {
	d, err := httpsfv.UnmarshalDictionary([]string{value})
	if err != nil {
		return
	}
	p := httpsfv.NewParams()
	for _, name := range d.Names() {
		m, _ := d.Get(name)
		if item, ok := m.(httpsfv.Item); ok {
			p.Add(name, item.Value)
		}
	}
	q := Quota{Dialect: Draft07}
	q.Limit, q.HasLimit = r.atLeast0(R307, "RateLimit", value, p, "limit", true)
	q.Remaining, q.HasRemaining = r.atLeast0(R307, "RateLimit", value, p, "remaining", false)
	r.inRange("RateLimit", value, R3Range, &q)
	if t, ok := r.atLeast0(R307, "RateLimit", value, p, "reset", true); ok {
		if x, why := numericReset(strconv.FormatInt(t, 10)); why == "" {
			r.setReset(&q, x)
		}
		if q.Form != Delta {
			r.bad(R307, "RateLimit", value, "reset is in seconds from now, not an instant", "")
		}
	}
	for _, x := range policies {
		if x.HasLimit && q.HasLimit && x.Limit == q.Limit {
			q.Window = x.Window
			break
		}
	}
	r.add(q)
}

// get returns the parameter key of p, which may be nil.
func get(p *httpsfv.Params, key string) (any, bool) {
	if p == nil {
		return nil, false
	}
	return p.Get(key)
}

// param returns the parameter key of p, which may be nil, if it has the type T.
func param[T any](p *httpsfv.Params, key string) (T, bool) {
	v, _ := get(p, key)
	t, ok := v.(T)
	return t, ok
}

// firstLine returns the first line of a message of another package.
func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}
