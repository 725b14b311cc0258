package claim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// retryAfter finds waits through the proxy that the origin cannot have stated. The notation may change:
// seconds and a date that mean the same wait are the same.
func (j *comparison) retryAfter(c class) {
	if !j.expects("Retry-After") {
		return
	}
	at := Only(c.origin, tells)
	if len(at) == 0 || len(at) < len(c.origin) {
		return
	}
	j.unreadable(c, at)
	if through := Only(c.proxy, tells); c.outcome == timeline.Denied && len(through) > 0 {
		j.longer(at, through)
		j.apart(c.limit)
	}
}

// tells tells whether o has a Retry-After that states a wait.
func tells(o *timeline.Observation) bool { _, ok := Told(o); return ok }

// unreadable finds values that cannot be read, if all values of the origin can. A number in a wrong notation
// may come from the origin itself, which had no fraction or negative wait before. It counts only if all
// values through the proxy are such and the origin has at least two. A negative number never counts.
func (j *comparison) unreadable(c class, at []*timeline.Observation) {
	has := Only(c.proxy, func(o *timeline.Observation) bool {
		_, ok := o.Fields.Get("Retry-After")
		return ok
	})
	var bad []*timeline.Observation
	numbers, negative := 0, false
	for _, o := range has {
		v, _ := o.Fields.Get("Retry-After")
		if _, err := headers.ParseRetryAfter(v); err == nil {
			continue
		}
		bad = append(bad, o)
		if v = strings.TrimSpace(v); !strings.Contains(v, ",") && v != "" &&
			strings.ContainsAny(v[:1], "+-.0123456789") {
			numbers++
			negative = negative || v[0] == '-'
		}
	}
	switch {
	case len(bad) == 0:
		return
	case negative, numbers == len(bad) && (len(bad) < len(has) || len(at) < 2):
		j.note("Retry-After cannot be read in %d of %d answers through the proxy to %s requests, but "+
			"the origin itself may write it that way", len(bad), len(has), c.outcome)
		return
	}
	v, _ := bad[0].Fields.Get("Retry-After")
	j.find(result.FieldChanged, at[0], bad,
		fmt.Sprintf("Retry-After can be read in all %s of the origin to %s requests (#%d); through the "+
			"proxy %d of %d cannot be: #%d has %s",
			text.Plural(len(at), "answer"), c.outcome, at[0].Seq, len(bad), len(has), bad[0].Seq,
			text.Quote(v)))
}

// longer finds waits that are longer than the limit can need, if the origin never states such waits.
func (j *comparison) longer(at, through []*timeline.Observation) {
	tooLong := func(o *timeline.Observation) bool {
		t, _ := Told(o)
		need, ok := j.r.LongestNeed(o, t)
		return ok && t.For > need
	}
	known := func(o *timeline.Observation) bool {
		t, _ := Told(o)
		_, ok := j.r.LongestNeed(o, t)
		return ok
	}
	if !slices.ContainsFunc(at, known) || slices.ContainsFunc(at, tooLong) {
		return
	}
	changed := Only(through, tooLong)
	if len(changed) == 0 {
		return
	}
	a, _ := Told(at[0])
	b, _ := Told(changed[0])
	need, _ := j.r.LongestNeed(changed[0], b)
	j.find(result.FieldChanged, at[0], changed,
		fmt.Sprintf("no denial of the origin states more than its limit can need (#%d: %s); through "+
			"the proxy %d of %d do: #%d has %s, but at most %d s can be needed",
			at[0].Seq, a, len(changed), len(through), changed[0].Seq, b, need/time.Second))
}
