package main

import (
	"os"
	"testing"

	"github.com/rlcheck/rlcheck/internal/claim"
	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// TestEveryWordOfAVerdictIsExplained: a reason, a finding or a claim that a report prints has an entry.
func TestEveryWordOfAVerdictIsExplained(t *testing.T) {
	e := &env{getenv: os.LookupEnv}
	entries, err := e.glossary()
	if err != nil {
		t.Fatal(err)
	}
	for word, kind := range map[string]string{
		string(verdict.ScheduleMissed): "reason", string(verdict.Unreachable): "reason",
		string(verdict.SetupFailed): "reason",
		string(verdict.NeedsFailed): "reason", string(verdict.TooFew): "reason",
		string(verdict.ForeignTraffic):     "reason",
		string(verdict.UnclassifiedStatus): "reason", string(verdict.SearchLimit): "reason",
		string(verdict.Interrupted):   "reason",
		string(verdict.OverAdmission): "finding", string(verdict.UnderAdmission): "finding",
		string(verdict.NoExplanation): "finding",
		string(claim.RetryAfterEarly): "finding", string(claim.RetryAfterLate): "finding",
		string(claim.FieldMissing): "finding",
		string(claim.FieldInvalid): "finding", string(claim.DeniedStatus): "claim",
		string(claim.DeniedInPhase): "finding",
		string(headers.R3Range):     "rule", string(headers.XRReset): "rule",
		string(headers.RASyntax): "rule",
		string(claim.Latency):    "claim", string(claim.FieldLost): "finding",
		string(claim.FieldChanged):  "finding",
		string(claim.StatusChanged): "finding", string(claim.BodyChanged): "finding",
		"conformance": "claim", "denials-below": "claim", "latency-denied-p99": "claim",
		"fields-" + string(claim.ProblemBody): "claim",
		verdict.Pass.String():                 "verdict", verdict.Fail.String(): "verdict",
		verdict.Inconclusive.String(): "verdict",
		"FAIL":                        "verdict", "not judged": "word", "not_judged": "word",
		"align=first":               "key",
		string(verdict.SharedQuota): "diagnosis", "ra-syntax": "rule",
	} {
		if i := find(entries, word); i < 0 || entries[i].kind != kind {
			t.Errorf("%s: got entry %d, want a %s", word, i, kind)
		}
	}
	seen, groups := map[string]bool{}, map[string]bool{}
	for _, en := range entries {
		if seen[en.kind+" "+en.id] {
			t.Errorf("%s is explained twice", en.id)
		}
		seen[en.kind+" "+en.id], groups[en.kind] = true, true
		if en.text == "" {
			t.Errorf("%s has no text", en.id)
		}
	}
	for _, word := range reportWords() {
		if !seen[word] {
			t.Errorf("%s is not explained", word)
		}
	}
	for _, g := range wordGroups {
		delete(groups, g.kind)
	}
	if len(groups) > 0 {
		t.Errorf("explain lists no group of %v", groups)
	}
}

// reportWords are the words that reports print or flags take, each with its kind before it.
func reportWords() (out []string) {
	add := func(kind string, words ...string) {
		for _, w := range words {
			out = append(out, kind+" "+w)
		}
	}
	add("word", "partition", "witness", "unit", "resolution", "worth", "measured", "phase", "plan", "send",
		"generator", "late", "fresh", "shared", "exact-burst", "drift", "note", "not-judged", "declared",
		"perhaps")
	add("kind", result.Required, result.Recommended, result.Informative)
	add("outcome", timeline.Allowed.String(), timeline.Denied.String(), timeline.Unknown.String())
	add("promise", wordsOf(verdict.Promises())...)
	add("key", spec.Keys("")...)
	for _, a := range spec.Algorithms() {
		add("algorithm", string(a))
	}
	return out
}
