package plain

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// Run returns a copy of r in which every text has passed Text, and URLs have no credentials. Timelines are
// shared and not copied. Their texts are cleaned where they are used.
func Run(r *result.Run) *result.Run {
	c := *r
	c.ID, c.Version = Text(r.ID), Text(r.Version)
	c.Command = All(r.Command)
	c.Host.GoVersion, c.Host.OS, c.Host.Arch = Text(r.Host.GoVersion), Text(r.Host.OS), Text(r.Host.Arch)
	if r.Policy != nil {
		p := *r.Policy
		p.From = All(p.From)
		if k := p.Contradiction; k != nil {
			p.Contradiction = &result.Contradiction{Text: Text(k.Text)}
			p.Contradiction.Between = [2]string{Text(k.Between[0]), Text(k.Between[1])}
		}
		c.Policy = &p
	}
	c.Hint = hint(r.Hint)
	c.Scenarios = make([]result.Scenario, len(r.Scenarios))
	for i := range r.Scenarios {
		c.Scenarios[i] = scenario(r.Scenarios[i])
	}
	return &c
}

func scenario(s result.Scenario) result.Scenario {
	for _, p := range []*string{&s.ID, &s.Title, &s.Kind, &s.Source, &s.File, &s.Store, &s.Fault, &s.Detail,
		&s.TimelinePath, &s.Excerpt, &s.Unfit} {
		*p = Text(*p)
	}
	s.Target, s.Origin = Text(URL(s.Target)), Text(URL(s.Origin))
	s.ResolvedBy = All(s.ResolvedBy)
	s.Reason = verdict.Reason(Text(string(s.Reason)))
	s.Header.Notes = All(s.Header.Notes)
	s.Statuses = slices.Clone(s.Statuses)
	for i := range s.Statuses {
		s.Statuses[i].Location = Text(URL(s.Statuses[i].Location))
	}
	s.Claims = append([]verdict.Claim(nil), s.Claims...)
	for i := range s.Claims {
		c := &s.Claims[i]
		c.ID, c.Text, c.Reason = Text(c.ID), Text(c.Text), verdict.Reason(Text(string(c.Reason)))
		c.Findings = findings(c.Findings)
		c.Compared = slices.Clone(c.Compared)
		for k := range c.Compared {
			x := &c.Compared[k]
			for _, p := range []*string{&x.Attribute, &x.Plain, &x.Other, &x.Expected, &x.Observed,
				&x.Detail} {
				*p = Text(*p)
			}
		}
	}
	if s.Judgement != nil {
		j := *s.Judgement
		j.Detail = Text(j.Detail)
		j.Partitions = append([]verdict.PartitionVerdict(nil), j.Partitions...)
		for i := range j.Partitions {
			p := &j.Partitions[i]
			p.Partition, p.Detail, p.Findings = Text(p.Partition), Text(p.Detail), findings(p.Findings)
		}
		s.Judgement = &j
	}
	return s
}

func findings(fs []verdict.Finding) []verdict.Finding {
	fs = append([]verdict.Finding(nil), fs...)
	for i := range fs {
		fs[i].Kind, fs[i].Partition = verdict.Kind(Text(string(fs[i].Kind))), Text(fs[i].Partition)
		fs[i].Text = Text(fs[i].Text)
	}
	return fs
}

// hint returns h with texts that have passed Text.
func hint(h *result.Hint) *result.Hint {
	if h == nil {
		return nil
	}
	return &result.Hint{Text: Text(h.Text), From: All(h.From), Limits: h.Limits}
}
