package scenario

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rlcheck/rlcheck/internal/claim"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// latencyDraft is the latency mapping: bounds by outcome and quantile, their lengths, and where each is
// written.
type latencyDraft struct {
	bounds []claim.LatencyBound
	spans  []span
	at     []*Node
}

func expectKind() kind[*draft] {
	groups := choice("a group of fields", claim.RetryAfter, claim.RateLimit, claim.DateField,
		claim.ProblemBody, claim.NoStore, claim.Explanation)
	return object("expect", []field[*draft]{
		key("conformance", choice("conformance", Exact, UpperBound, LowerBound, NoConformance),
			func(e *draft) *Conformance { return &e.Expect.Conformance }),
		key("resolution", resolutionKind(), func(e *draft) *Resolution { return &e.Expect.Resolution }),
		key("fields", list("groups", groups), func(e *draft) *[]claim.Group { return &e.Expect.Fields }),
		key("retry_after", retryAfterKind(),
			func(e *draft) *claim.RetryAfterExpect { return &e.Expect.RetryAfter }),
		key("retry_after_spread", shareKind(),
			func(e *draft) *float64 { return &e.Expect.RetryAfter.Spread }),
		key("denied_status", list("statuses", whole("a status", 100, 599)),
			func(e *draft) *[]int { return &e.Expect.DeniedStatus }),
		key("denials", list("bounds", denialKind()),
			func(e *draft) *[]claim.DenialBound { return &e.Expect.Denials }),
		key("latency", object("latency", latencyFields(false), nil),
			func(e *draft) *latencyDraft { return &e.latency }),
		key("slo", sloKind(), func(e *draft) *draft { return e }),
		key("schedule", scheduleKind(), func(e *draft) *time.Duration { return &e.Expect.LateP99 }),
		key("quota", quotaKind(), func(e *draft) *claim.QuotaExpect { return &e.Expect.Quota }),
		key("answers", list("bounds", answerKind()),
			func(e *draft) *[]claim.AnswerBound { return &e.Expect.Answers }),
		key("attributes", attributesKind(),
			func(e *draft) *map[timeline.Attribute]claim.Sharing { return &e.sharing }),
		key("parity", list("pairs", parityKind()),
			func(e *draft) *[]claim.ParityExpect { return &e.Expect.Parity }),
		key("storm", list("phases", stormKind()),
			func(e *draft) *[]claim.StormExpect { return &e.Expect.Storms }),
		key("intact", intactKind(), func(e *draft) **claim.IntactExpect { return &e.Expect.Intact }),
	}, nil)
}

func resolutionKind() kind[*Resolution] {
	return object("resolution", []field[*Resolution]{
		key("burst", toleranceKind(), func(r *Resolution) *Tolerance { return &r.Burst }),
		key("windowed", toleranceKind(), func(r *Resolution) *Tolerance { return &r.Windowed }),
		key("rate", toleranceKind(), func(r *Resolution) *Tolerance { return &r.Rate }),
	}, func(_ *decoder, n *Node, r *Resolution) {
		if n.Get("windowed") == nil {
			r.Windowed = r.Burst
		}
	})
}

// toleranceKind is the kind of a resolution: exact, none or a share such as 2%.
func toleranceKind() kind[*Tolerance] {
	const rule = "a resolution is exact, none or a share such as 2%"
	return textKind(rule, &jsonschema.Schema{Type: "string",
		Pattern: `^(exact|none|[0-9]{1,3}(\.[0-9]{1,3})?%)$`}, func(s string) (Tolerance, string, string) {
		switch s {
		case "none":
			return Tolerance{}, "", ""
		case "exact":
			return Tolerance{Demanded: true}, "", ""
		}
		share, fits := parseShare(s)
		_, isNumber := parseMultiple(strings.TrimSuffix(s, "%"))
		switch {
		case fits:
			return Tolerance{Demanded: true, Ratio: share}, "", ""
		case !isNumber:
			return Tolerance{}, rule, text.Suggest(s, []string{"exact", "none"})
		case !strings.HasSuffix(s, "%"):
			return Tolerance{}, rule, fmt.Sprintf("write %q", s+"%")
		}
		return Tolerance{}, rule + ", at most 999%", ""
	})
}

// parseShare reads a percentage below 1000, such as 50% or 0.25%.
func parseShare(s string) (share float64, ok bool) {
	number, percent := strings.CutSuffix(s, "%")
	x, isNumber := parseMultiple(number)
	if !percent || !isNumber || len(number) > 7 || x.num > 1000*x.den {
		return 0, false
	}
	return float64(x.num) / float64(x.den) / 100, true
}

func shareKind() kind[*float64] {
	const rule = "a share is a percentage such as 50%"
	return textKind(rule, &jsonschema.Schema{Type: "string", Pattern: `^[0-9]{1,3}(\.[0-9]{1,3})?%$`},
		func(s string) (float64, string, string) {
			if share, ok := parseShare(s); ok {
				return share, "", ""
			}
			return 0, rule, ""
		})
}

func retryAfterKind() kind[*claim.RetryAfterExpect] {
	return object("retry_after", []field[*claim.RetryAfterExpect]{
		key("honored", boolean("honored"), func(r *claim.RetryAfterExpect) *bool { return &r.Honored }),
		key("waits", whole("a number of waits", 1, MaxRequests),
			func(r *claim.RetryAfterExpect) *int { return &r.Waits }),
		key("not_longer", boolean("not_longer"),
			func(r *claim.RetryAfterExpect) *bool { return &r.NotLonger }),
	}, nil)
}

func denialKind() kind[*claim.DenialBound] {
	return object("a bound of denials", []field[*claim.DenialBound]{
		key("phase", aPhase(), func(b *claim.DenialBound) *string { return &b.Phase }).must(),
		key("max", whole("a number of denials", 0, MaxRequests),
			func(b *claim.DenialBound) *int { return &b.Max }).must(),
	}, nil)
}

// sloKind is the kind of the slo mapping: that of latency, and errors.
func sloKind() kind[*draft] {
	fields := []field[*draft]{key("errors", errorsKind(), func(e *draft) *[]int { return &e.Expect.Errors })}
	for _, f := range latencyFields(true) {
		fields = append(fields, field[*draft]{name: f.name, schema: f.schema,
			read: func(d *decoder, n *Node, e *draft) { f.read(d, n, &e.latency) }})
	}
	k := object("slo", fields, nil)
	all := k.schema.Properties
	k.schema.PatternProperties = map[string]*jsonschema.Schema{ // one for all, as the schema is large
		"^(allowed|denied)_(p50|p90|p95|p99|p999|max)$": all[fields[1].name]}
	k.schema.Properties = map[string]*jsonschema.Schema{"errors": all["errors"]}
	k.schema.PropertyOrder = nil
	return k
}

func errorsKind() kind[*[]int] {
	number := whole("a number of errors", 0, MaxRequests)
	return kind[*[]int]{schema: number.schema, read: func(d *decoder, n *Node, most *[]int) {
		*most = []int{0}
		number.read(d, n, &(*most)[0])
	}}
}

// latencyFields are the keys of bounds of service times.
func latencyFields(slo bool) (fields []field[*latencyDraft]) {
	for _, outcome := range []timeline.Outcome{timeline.Allowed, timeline.Denied} {
		for _, q := range []string{"p50", "p90", "p95", "p99", "p999", "max"} {
			bound := spanKind()
			k := kind[*latencyDraft]{schema: bound.schema, read: func(d *decoder, n *Node,
				l *latencyDraft) {
				var length span
				bound.read(d, n, &length)
				l.bounds = append(l.bounds, claim.LatencyBound{Outcome: outcome, Quantile: quantile(q),
					SLO: slo})
				l.spans, l.at = append(l.spans, length), append(l.at, n)
			}}
			fields = append(fields, key(outcome.String()+"_"+q, k,
				func(l *latencyDraft) *latencyDraft { return l }))
		}
	}
	return fields
}

// resolveLatency completes the bounds of service times. They hold for the answers of all phases, so a
// multiple counts the slowest limit of any of them. A limit without a queue delays nothing: a multiple with a
// min is then that min.
func (s *draft) resolveLatency(d *decoder) {
	slowest := boundsOf(s.Limit, 1)
	delays := slices.ContainsFunc(s.Limit, spec.Policy.Queued)
	for i := range s.Phases {
		if p := &s.Phases[i]; p.Counted() {
			slowest.recovery = max(slowest.recovery, boundsOf(p.Limit, 1).recovery)
			delays = delays || slices.ContainsFunc(p.Limit, spec.Policy.Queued)
		}
	}
	for i, b := range s.latency.bounds {
		length := s.latency.spans[i]
		if length.min > 0 && !delays {
			length = span{fixed: length.min}
		}
		b.Max = length.resolve(d, s.latency.at[i], slowest)
		s.Expect.Latency = append(s.Expect.Latency, b)
	}
}

// quantile reads the digits of p50, p99 or p999 after the point. max is 1.
func quantile(name string) float64 {
	q, err := strconv.ParseFloat("0."+strings.TrimPrefix(name, "p"), 64)
	if err != nil {
		return 1
	}
	return q
}

func scheduleKind() kind[*time.Duration] {
	return object("schedule", []field[*time.Duration]{
		key("late_p99", duration(time.Microsecond, time.Hour),
			func(d *time.Duration) *time.Duration { return d }).must(),
	}, nil)
}

// intactKind is the kind of what a proxy must not change.
func intactKind() kind[**claim.IntactExpect] {
	name := word("a field name is an HTTP token, with * at its end for all fields that begin so",
		`^[!#$%&'+.^_`+"`"+`|~0-9A-Za-z-]+\*?$`)
	all := object("intact", []field[*claim.IntactExpect]{
		key("fields", list("field names", name), func(i *claim.IntactExpect) *[]string { return &i.Fields }),
		key("status", boolean("status"), func(i *claim.IntactExpect) *bool { return &i.Status }),
		key("body", boolean("body"), func(i *claim.IntactExpect) *bool { return &i.Body }),
	}, nil)
	return kind[**claim.IntactExpect]{schema: all.schema,
		read: func(d *decoder, n *Node, v **claim.IntactExpect) {
			var i claim.IntactExpect
			all.read(d, n, &i)
			for j, f := range i.Fields {
				i.Fields[j] = http.CanonicalHeaderKey(f)
			}
			*v = &i
		}}
}

// quotaKind is the kind of the expectations on what answers say of the quota.
func quotaKind() kind[*claim.QuotaExpect] {
	return object("quota", []field[*claim.QuotaExpect]{
		key("conventions", boolean("conventions"),
			func(q *claim.QuotaExpect) *bool { return &q.Conventions }),
		key("agree", boolean("agree"), func(q *claim.QuotaExpect) *bool { return &q.Agree }),
		key("stable", boolean("stable"), func(q *claim.QuotaExpect) *bool { return &q.Stable }),
		key("counts", boolean("counts"), func(q *claim.QuotaExpect) *bool { return &q.Counts }),
		key("limit", boolean("limit"), func(q *claim.QuotaExpect) *bool { return &q.Limit }),
		key("denials", boolean("denials"), func(q *claim.QuotaExpect) *bool { return &q.Denials }),
		key("reset", boolean("reset"), func(q *claim.QuotaExpect) *bool { return &q.Reset }),
		key("body", boolean("body"), func(q *claim.QuotaExpect) *bool { return &q.Body }),
	}, nil)
}

func aPhase() kind[*string] { return word("a phase must be named", `\S`) }

func answerKind() kind[*claim.AnswerBound] {
	return object("a bound of answers", []field[*claim.AnswerBound]{
		key("phase", aPhase(), func(b *claim.AnswerBound) *string { return &b.Phase }).must(),
		key("status", list("statuses", whole("a status", 100, 599)),
			func(b *claim.AnswerBound) *[]int { return &b.Status }).must(),
	}, nil)
}

func parityKind() kind[*claim.ParityExpect] {
	return object("a pair of phases", []field[*claim.ParityExpect]{
		key("phase", aPhase(), func(p *claim.ParityExpect) *string { return &p.Phase }).must(),
		key("like", aPhase(), func(p *claim.ParityExpect) *string { return &p.Like }).must(),
	}, nil)
}

func stormKind() kind[*claim.StormExpect] {
	return object("a storm", []field[*claim.StormExpect]{
		key("phase", aPhase(), func(s *claim.StormExpect) *string { return &s.Phase }).must(),
		key("drained", boolean("drained"), func(s *claim.StormExpect) *bool { return &s.Drained }),
	}, nil)
}

// drains tells whether the limit has room for all clients of the phase in half of its time. Slower clients
// need not be done. If denied requests take units too, or keep a window open, clients that keep asking may
// never be done.
func drains(p *Phase) bool {
	if slices.ContainsFunc(p.Limit, func(p spec.Policy) bool {
		return p.Count == spec.CountAll || p.Refresh == spec.RefreshAll
	}) {
		return false
	}
	b := boundsOf(p.Limit, p.Cost)
	room := float64(b.full) + b.rate.PerSecond()*p.Duration.Seconds()/2
	return float64(p.Clients)*float64(p.Cost) <= room
}

// checkExpected reports expectations on phases that do not exist or have another shape, and completes the
// others.
func (s *draft) checkExpected(d *decoder, expect *Node) {
	var names []string
	for i := range s.Phases {
		names = append(names, s.Phases[i].Name)
	}
	known := func(list string, i int, key, name string) *Phase {
		if at := named(s.Phases, name); at >= 0 {
			return &s.Phases[at]
		}
		at := expect.Get(list).Items[i].Get(key)
		d.unknown(at.At, at.Path, "phase ", name, "the phases are "+strings.Join(names, ", "), names)
		return nil
	}
	for i, b := range s.Expect.Denials {
		if p := known("denials", i, "phase", b.Phase); p != nil {
			s.Expect.Denials[i].Unlimited = p.Unlimited
		}
	}
	for i, b := range s.Expect.Answers {
		known("answers", i, "phase", b.Phase)
	}
	for i, p := range s.Expect.Parity {
		known("parity", i, "phase", p.Phase)
		known("parity", i, "like", p.Like)
	}
	for i := range s.Expect.Storms {
		storm := &s.Expect.Storms[i]
		p := known("storm", i, "phase", storm.Phase)
		if p == nil {
			continue
		}
		if storm.Clients = p.Clients; p.Shape != timeline.Backoff {
			d.add(expect.Get("storm").Items[i], "phase "+Quote(p.Name),
				"clients retry in a phase of shape backoff, and this one has shape "+string(p.Shape), "")
		}
		storm.Drained = storm.Drained && drains(p)
	}
	s.expectSharing(d, expect)
	s.Expect.Shared = s.Shared()
	s.Expect.Used = !s.Partition.Fresh ||
		slices.ContainsFunc(s.Phases, func(p Phase) bool { return p.Client != "" })
	if s.Expect.Quota != (claim.QuotaExpect{}) {
		s.Expect.Quota.Fresh = !s.Expect.Used
	}
}
