package claim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// facts are the constant parts of what an answer says of a quota, by what they are about.
type facts map[string]string

// factsOf reads the constant parts of all quotas: limit, window, the form of the reset, and the broken rules.
func (j *comparison) factsOf(o *timeline.Observation, limit spec.Limit) facts {
	base, _ := Date(o)
	get := func(name string) (string, bool) {
		if !j.expects(name) {
			return "", false
		}
		return o.Fields.Get(name)
	}
	f, onePolicy := facts{}, len(limit) < 2
	quotas, problems := headers.Quotas(get, base)
	for _, q := range quotas {
		about := string(q.Dialect)
		if q.Name != "" {
			about += " " + text.Quote(q.Name)
		}
		// Without a name, the policy in force may differ from answer to answer.
		sure := q.Name != "" || onePolicy
		if q.HasLimit && sure {
			f["limit of "+about] = fmt.Sprint(q.Limit)
		}
		if q.Window > 0 && sure {
			f["window of "+about] = q.Window.String()
		}
		if q.Form != "" {
			f["form of the reset of "+about] = string(q.Form)
		}
	}
	for _, p := range problems {
		if structural(p) {
			f["rule "+string(p.Rule)+" of "+p.Field] = "broken"
		}
	}
	return f
}

// structural tells whether p is about how a field is built, whatever its numbers are. A server that keeps
// such a rule once keeps it always. presence judges rules about missing fields.
func structural(p headers.Problem) bool {
	switch p.Rule {
	case headers.SFParse, headers.SFNonEmpty, headers.RPName, headers.R3Limit:
		return true
	case headers.XRSet:
		return !strings.Contains(p.Field, "Remaining")
	default:
		return false
	}
}

// quotas finds parts of a quota that all answers of the origin state alike (limit, window, form of the reset,
// a kept rule) and answers through the proxy do not.
func (j *comparison) quotas(c class) {
	constant := j.factsOf(c.origin[0], c.limit)
	broken := map[string]bool{}
	for _, o := range c.origin {
		f := j.factsOf(o, c.limit)
		for about, v := range f {
			broken[about] = broken[about] || v == "broken"
		}
		for about := range constant {
			if f[about] != constant[about] {
				delete(constant, about)
			}
		}
	}
	changed := map[string][]*timeline.Observation{}
	for _, o := range c.proxy {
		for about, v := range j.factsOf(o, c.limit) {
			want, isConstant := constant[about]
			if v == "broken" && !broken[about] || isConstant && v != want {
				changed[about] = append(changed[about], o)
			}
		}
	}
	for _, about := range slices.Sorted(maps.Keys(changed)) {
		obs := changed[about]
		was, is := constant[about], j.factsOf(obs[0], c.limit)[about]
		if was == "" {
			was = "kept"
		}
		j.find(result.FieldChanged, c.origin[0], obs,
			fmt.Sprintf("the %s is %s in all %s of the origin to %s requests (#%d), and %s in %d of %d "+
				"through the proxy: %s",
				about, was, text.Plural(len(c.origin), "answer"), c.outcome, c.origin[0].Seq, is,
				len(obs),
				len(c.proxy), Seqs(obs)))
	}
}
