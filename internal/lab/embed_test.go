package lab

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlcheck/rlcheck/internal/scenario"
)

func TestRulesOfAScenario(t *testing.T) {
	s, err := scenario.Parse([]byte(`id: x
title: x
kind: required
limit: {algorithm: token-bucket, rate: 10/s, burst: 5}
phases:
  - {name: a, shape: at-once, requests: 1, path: /a}
  - {name: b, shape: at-once, requests: 1, path: /b, limit: 2x, partition: b}
  - {name: c, shape: at-once, requests: 1, path: /b, limit: 2x, partition: b}
  - {name: d, shape: at-once, requests: 1, limit: 2x, partition: d}
  - {name: e, shape: at-once, requests: 1, method: PUT, header: {X-Tier: gold}, limit: none, partition: e}
  - {name: f, shape: hook, action: reload, limit: 2x}
  - {name: g, shape: at-once, requests: 1, header: {X-Tier: barred}, limit: zero, partition: g}
`), "x.yaml", scenario.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []Rule{{Path: "/b", Limit: s.Phases[1].Limit},
		{Method: "PUT", Header: map[string]string{"X-Tier": "gold"}},
		{Header: map[string]string{"X-Tier": "barred"}, Barred: true}}
	if d := cmp.Diff(want, rulesOf(s)); d != "" {
		t.Error(d)
	}
}
