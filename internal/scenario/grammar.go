package scenario

import (
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario/tree"
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
		key("id", id, "Stable for ever: reports and CI jobs refer to it.",
			func(s *draft) *string { return &s.ID }).must(),
		key("title", word("a title is a sentence", `\S`), "A sentence that is true of a correct limiter.",
			func(s *draft) *string { return &s.Title }).must(),
		key("kind", choice("a kind", Required, Recommended, Informative), "Whether a FAIL counts.",
			func(s *draft) *Kind { return &s.Kind }).must(),
		key("source", word("a source is a link or FILE#ANCHOR", `\S`), "Where the rule comes from.",
			func(s *draft) *string { return &s.Source }),
		key("tags", list("words", id), "Words to select scenarios by.",
			func(s *draft) *[]string { return &s.Tags }),
		key("catches", list("faults", id), "Faults of the embedded target that this scenario catches.",
			func(s *draft) *[]string { return &s.Catches }),
		key("needs", list("ids", id), "Scenarios that must succeed; otherwise this one says nothing.",
			func(s *draft) *[]string { return &s.Needs }),
		key("target", targetKind(), "Where requests go, and what they contain.",
			func(s *draft) *Target { return &s.Target }),
		key("partition", partitionKind(), "What the limiter tells clients apart by.",
			func(s *draft) *Partition { return &s.Partition }),
		key("limit", limitKind(), "The declared limit, which the target must keep.",
			func(s *draft) *spec.Limit { return &s.Limit }).must(),
		key("allowed", allowedKind(), "Which answers are admissions; by default those with a status below "+
			"400 that are not denials.", func(s *draft) *[]int { return &s.Allowed }),
		key("denied", deniedKind(), "Which answers are denials.",
			func(s *draft) *Denied { return &s.Denied }),
		key("cost", toldKind(), "Where an answer tells what its request cost.",
			func(s *draft) *Told { return &s.Cost }),
		key("phases", list("phases", phaseKind()), "What is sent, one phase after the other.",
			func(s *draft) *[]phaseDraft { return &s.phases }).must(),
		key("about", promise, "What this scenario is about. If the target neither has nor promises it, "+
			"the scenario is not judged.", func(s *draft) *result.Promise { return &s.About }),
		key("suits", choice("a subject", Subjects()...), "What the limit must have; at another limit the "+
			"scenario is not run.", func(s *draft) *Subject { return &s.Suits }),
		key("promises", list("promises", promise), "What the target promises. Something that it did not "+
			"promise, and never shows, is a note and no failure. The embedded target promises everything.",
			func(s *draft) *[]result.Promise { return &s.Expect.Promised }),
		key("expect", expectKind(), "What the answers must show.", func(s *draft) *draft { return s }),
		key("example", boolean("example"), "The limits of phases, and their paths, methods and fields, "+
			"are those of the embedded target. For another target write its own, and example: false.",
			func(s *draft) *bool { return &s.Example }),
		key("safety", safetyKind(), "Ceilings of the run.", func(s *draft) *Safety { return &s.Safety }),
	}, nil)
}

// allowedKind is the kind of the allowed mapping.
func allowedKind() kind[*[]int] {
	return object("allowed", []field[*[]int]{
		key("status", list("statuses", whole("a status", 100, 599)), "Statuses that are admissions.",
			func(v *[]int) *[]int { return v }).must(),
	}, nil)
}

// deniedKind is the kind of the denied mapping.
func deniedKind() kind[*Denied] {
	status := list("statuses", whole("a status", 100, 599))
	k := object("denied", []field[*Denied]{
		key("status", status, "Statuses that are denials; 429 by default.",
			func(v *Denied) *[]int { return &v.Status }),
		key("unanswered", boolean("unanswered"), "A request that gets no answer is denied: the connection "+
			"is closed, or nothing comes in time (nginx 444, HAProxy silent-drop).",
			func(v *Denied) *bool { return &v.Unanswered }),
		key("header", word("a mark is a field name, or NAME: VALUE", `^`+inner(tokenPattern)+`(: ?\S.*)?$`),
			"A field that turns an admission into a denial, as for a degraded answer: X-Degraded, or with "+
				"its value.", func(v *Denied) *string { return &v.Header }),
		key("body", word("a word of a body is PATH=VALUE", `^[^=\s]+=\S.*$`),
			"What the JSON body of a denial has, whatever the status is: "+
				"errors.0.extensions.code=THROTTLED. An index may be *, and the value a pattern with *. "+
				"Then no status is a denial, unless status names it.",
			func(v *Denied) *string { return &v.Body }),
	}, func(d *decoder, n *tree.Node, v *Denied) {
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
		key("body", path, "A number in the JSON body: usage.total_tokens.",
			func(v *Told) *string { return &v.Body }),
		key("header", word("a header field has a name", tokenPattern), "A header field with a number.",
			func(v *Told) *string { return &v.Header }),
		key("event", path, "A number in the last server-sent event that has it: usage.total_tokens.",
			func(v *Told) *string { return &v.Event }),
		key("unit", word("a unit is a decimal number above 0", `^(0\.[0-9]*[1-9]|[1-9][0-9]*(\.[0-9]+)?)$`),
			"How much one unit of the limit is: 0.00001 for costs in dollars; 1 by default.",
			func(v *Told) *string { return &v.Unit }),
		key("each", whole("a cost", 1, 1_000_000), "How many units every request costs, though it says "+
			"nothing of it.", func(v *Told) *int { return &v.Each }),
	}, func(d *decoder, n *tree.Node, v *Told) {
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

// safetyKind is the kind of the ceilings.
func safetyKind() kind[*Safety] {
	return object("safety", []field[*Safety]{
		key("max_requests", whole("a ceiling of requests", 1, MaxRequests), "The most requests of a run; "+
			"1_000_000 by default.", func(s *Safety) *int { return &s.MaxRequests }),
		key("max_rate", textKind("a rate is such as 100/s or 5/1m", pattern(ratePattern), parseRate),
			"The highest planned rate of all partitions together; 20000/s by "+
				"default.", func(s *Safety) *spec.Rate { return &s.MaxRate }),
		key("max_duration", duration(time.Millisecond, longest), "The longest planned run; 1h by default.",
			func(s *Safety) *time.Duration { return &s.MaxDuration }),
		key("max_connections", whole("a ceiling of connections", 1, maxConnections),
			"The most connections that are open at once; 1000 by default.",
			func(s *Safety) *int { return &s.MaxConnections }),
	}, nil)
}

// promiseKind is the kind of a promise.
func promiseKind() kind[*result.Promise] { return choice("a promise", result.Promises()...) }
