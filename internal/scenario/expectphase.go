package scenario

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/claim"
	"github.com/rlcheck/rlcheck/internal/scenario/tree"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// quotaKind is the kind of the expectations on what answers say of the quota.
func quotaKind() kind[*claim.QuotaExpect] {
	return object("quota", []field[*claim.QuotaExpect]{
		key("conventions", boolean("conventions"),
			"No rule about the fields is broken, not even a rule that is only a convention.",
			func(q *claim.QuotaExpect) *bool { return &q.Conventions }),
		key("agree", boolean("agree"), "The dialects of one answer state the same.",
			func(q *claim.QuotaExpect) *bool { return &q.Agree }),
		key("stable", boolean("stable"), "All answers state the same limit to a partition.",
			func(q *claim.QuotaExpect) *bool { return &q.Stable }),
		key("counts", boolean("counts"),
			"The remaining quota falls by the cost of each request, and rises no faster than the limit "+
				"gives back.",
			func(q *claim.QuotaExpect) *bool { return &q.Counts }),
		key("limit", boolean("limit"), "The stated limit is the declared one.",
			func(q *claim.QuotaExpect) *bool { return &q.Limit }),
		key("denials", boolean("denials"), "A denial states the limit that denied.",
			func(q *claim.QuotaExpect) *bool { return &q.Denials }),
		key("reset", boolean("reset"), "Quota comes back when an answer says: one more unit, or all of "+
			"it.",
			func(q *claim.QuotaExpect) *bool { return &q.Reset }),
		key("body", boolean("body"), "The body of a denial states what its header fields state.",
			func(q *claim.QuotaExpect) *bool { return &q.Body }),
	}, nil)
}

// aPhase is the kind of the name of a phase.
func aPhase() kind[*string] { return word("a phase must be named", `\S`) }

func answerKind() kind[*claim.AnswerBound] {
	return object("a bound of answers", []field[*claim.AnswerBound]{
		key("phase", aPhase(), "The phase.", func(b *claim.AnswerBound) *string { return &b.Phase }).must(),
		key("status", list("statuses", whole("a status", 100, 599)),
			"The statuses that its answers may have.",
			func(b *claim.AnswerBound) *[]int { return &b.Status }).must(),
	}, nil)
}

func parityKind() kind[*claim.ParityExpect] {
	return object("a pair of phases", []field[*claim.ParityExpect]{
		key("phase", aPhase(), "The phase that is judged.",
			func(p *claim.ParityExpect) *string { return &p.Phase }).must(),
		key("like", aPhase(), "The phase that it is compared with.",
			func(p *claim.ParityExpect) *string { return &p.Like }).must(),
	}, nil)
}

func stormKind() kind[*claim.StormExpect] {
	return object("a storm", []field[*claim.StormExpect]{
		key("phase", aPhase(), "The phase of shape backoff.",
			func(s *claim.StormExpect) *string { return &s.Phase }).must(),
		key("drained", boolean("drained"),
			"Every client is admitted in the end, if the limit has room for all of them in half of the "+
				"time.", func(s *claim.StormExpect) *bool { return &s.Drained }),
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
func (s *draft) checkExpected(d *decoder, expect *tree.Node) {
	names := phaseNames(s.Phases)
	known := func(list string, i int, key, name string) *Phase {
		p := s.phase(name)
		if p == nil {
			at := expect.Get(list).Items[i].Get(key)
			d.unknown(at.At, at.Path, "phase ", name, "the phases are "+oneOf(names), names)
		}
		return p
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
			d.add(expect.Get("storm").Items[i], "phase "+tree.Quote(p.Name),
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
