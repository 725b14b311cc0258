package scenario

import (
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// The ceilings of what a file may ask for, and the pattern of ids.
const (
	maxPartitions  = 1_000_000
	maxConnections = 60_000
	idPattern      = `^[a-z0-9]+(-[a-z0-9]+)*$`
)

// grammar is scenarioKind, made once, as its patterns and schemas are most of the work of reading a small
// file.
var grammar = sync.OnceValue(scenarioKind)

// scenarioKind is the kind of a whole file.
func scenarioKind() kind[*draft] {
	id := word("an id has lower case letters and digits, with single dashes between them", idPattern)
	promise := promiseKind()
	return object("a scenario", []field[*draft]{
		key("id", id, func(s *draft) *string { return &s.ID }).must(),
		key("title", word("a title is a sentence", `\S`), func(s *draft) *string { return &s.Title }).must(),
		key("kind", choice("a kind", Required, Recommended, Informative),
			func(s *draft) *Kind { return &s.Kind }).must(),
		key("source", word("a source is a link or FILE#ANCHOR", `\S`),
			func(s *draft) *string { return &s.Source }),
		key("tags", list("words", id), func(s *draft) *[]string { return &s.Tags }),
		key("catches", list("faults", id), func(s *draft) *[]string { return &s.Catches }),
		key("needs", list("ids", id), func(s *draft) *[]string { return &s.Needs }),
		key("target", targetKind(), func(s *draft) *Target { return &s.Target }),
		key("partition", partitionKind(), func(s *draft) *Partition { return &s.Partition }),
		key("limit", limitKind(), func(s *draft) *spec.Limit { return &s.Limit }).must(),
		key("allowed", allowedKind(), func(s *draft) *[]int { return &s.Allowed }),
		key("denied", deniedKind(), func(s *draft) *Denied { return &s.Denied }),
		key("cost", toldKind(), func(s *draft) *Told { return &s.Cost }),
		key("phases", list("phases", phaseKind()), func(s *draft) *[]phaseDraft { return &s.phases }).must(),
		key("about", promise, func(s *draft) *result.Promise { return &s.About }),
		key("suits", choice("a subject", Subjects()...), func(s *draft) *Subject { return &s.Suits }),
		key("promises", list("promises", promise),
			func(s *draft) *[]result.Promise { return &s.Expect.Promised }),
		key("expect", expectKind(), func(s *draft) *draft { return s }),
		key("example", boolean("example"), func(s *draft) *bool { return &s.Example }),
		key("safety", safetyKind(), func(s *draft) *Safety { return &s.Safety }),
	}, nil)
}

func allowedKind() kind[*[]int] {
	return object("allowed", []field[*[]int]{
		key("status", list("statuses", whole("a status", 100, 599)),
			func(v *[]int) *[]int { return v }).must(),
	}, nil)
}

func deniedKind() kind[*Denied] {
	status := list("statuses", whole("a status", 100, 599))
	k := object("denied", []field[*Denied]{
		key("status", status, func(v *Denied) *[]int { return &v.Status }),
		key("unanswered", boolean("unanswered"), func(v *Denied) *bool { return &v.Unanswered }),
		key("header", word("a mark is a field name, or NAME: VALUE", `^`+inner(tokenPattern)+`(: ?\S.*)?$`),
			func(v *Denied) *string { return &v.Header }),
		key("body", word("a word of a body is PATH=VALUE", `^[^=\s]+=\S.*$`),
			func(v *Denied) *string { return &v.Body }),
	}, func(d *decoder, n *Node, v *Denied) {
		if len(n.Keys) == 0 {
			d.add(n, "an empty mapping", "denied has status, unanswered, header or body", "leave the key out")
		}
		if v.Body != "" && n.Get("status") == nil {
			v.Status = nil
		}
	})
	one := 1
	k.schema.MinProperties = &one
	return k
}

// toldKind is the kind of the cost mapping.
func toldKind() kind[*Told] {
	path := word("a path is MEMBER.MEMBER", `^[^=\s]+$`)
	return object("cost", []field[*Told]{
		key("body", path, func(v *Told) *string { return &v.Body }),
		key("header", word("a header field has a name", tokenPattern),
			func(v *Told) *string { return &v.Header }),
		key("event", path, func(v *Told) *string { return &v.Event }),
		key("unit", word("a unit is a decimal number above 0", `^(0\.[0-9]*[1-9]|[1-9][0-9]*(\.[0-9]+)?)$`),
			func(v *Told) *string { return &v.Unit }),
		key("each", whole("a cost", 1, 1_000_000), func(v *Told) *int { return &v.Each }),
	}, func(d *decoder, n *Node, v *Told) {
		given := 0
		for _, where := range []string{"body", "header", "event", "each"} {
			if n.Get(where) != nil {
				given++
			}
		}
		if given != 1 {
			d.add(n, "a cost", "an answer tells it in one place: body, header or event; or each is the same",
				"")
		}
	})
}

func safetyKind() kind[*Safety] {
	return object("safety", []field[*Safety]{
		key("max_requests", whole("a ceiling of requests", 1, MaxRequests),
			func(s *Safety) *int { return &s.MaxRequests }),
		key("max_rate", textKind("a rate is such as 100/s or 5/1m", pattern(ratePattern), parseRate),
			func(s *Safety) *spec.Rate { return &s.MaxRate }),
		key("max_duration", duration(time.Millisecond, longest),
			func(s *Safety) *time.Duration { return &s.MaxDuration }),
		key("max_connections", whole("a ceiling of connections", 1, maxConnections),
			func(s *Safety) *int { return &s.MaxConnections }),
	}, nil)
}

func promiseKind() kind[*result.Promise] { return choice("a promise", result.Promises()...) }
