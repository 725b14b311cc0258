package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/rlcheck/rlcheck/internal/result"
)

// TestCTRFCountsEachClaimOnce: an INCONCLUSIVE claim is other, a FAIL fails only if it counts, and the
// summary adds up.
func TestCTRFCountsEachClaimOnce(t *testing.T) {
	one := func(id, kind string, v result.Verdict, why result.Reason) result.Scenario {
		return result.Scenario{ID: id, Kind: kind, Verdict: v, Reason: why,
			Claims: []result.Claim{{ID: result.ConformanceID, Verdict: v, Reason: why, Text: id}}}
	}
	r := &result.Run{Scenarios: []result.Scenario{
		one("right", result.Required, result.Pass, ""), one("wrong", result.Required, result.Fail, ""),
		one("advice", result.Recommended, result.Fail, ""),
		one("open", result.Required, result.Inconclusive, result.TooFew),
		one("unfit", result.Required, result.Inconclusive, result.NeedsFailed)}}
	var b bytes.Buffer
	if err := Write(&b, "ctrf", r, Options{}); err != nil {
		t.Fatal(err)
	}
	var got ctrfReport
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := ctrfSummary{Tests: 5, Passed: 1, Failed: 1, Skipped: 2, Other: 1}
	sum := got.Results.Summary
	if sum.Start, sum.Stop = 0, 0; sum != want {
		t.Errorf("got %+v, want %+v", sum, want)
	}
	for i, status := range []string{"passed", "failed", "skipped", "other", "skipped"} {
		if x := got.Results.Tests[i]; x.Status != status || x.Suite[0] != r.Scenarios[i].ID {
			t.Errorf("test %d: got %+v, want %s", i, x, status)
		}
	}
	var raw struct {
		Root    map[string]any             `json:"-"`
		Results map[string]json.RawMessage `json:"results"`
	}
	err := errors.Join(json.Unmarshal(b.Bytes(), &raw), json.Unmarshal(b.Bytes(), &raw.Root))
	// What schema/ctrf.schema.json of ctrf.io demands, and all that it allows at the top.
	members(t, raw.Root, "reportFormat", "results", "specVersion")
	members(t, raw.Results, "summary", "tests", "tool")
	var sums map[string]int64
	var tests []map[string]any
	err = errors.Join(err, json.Unmarshal(raw.Results["summary"], &sums),
		json.Unmarshal(raw.Results["tests"], &tests))
	members(t, sums, "failed", "other", "passed", "pending", "skipped", "start", "stop", "tests")
	for _, x := range tests {
		if x["name"] == "" || x["duration"].(float64) < 0 || err != nil {
			t.Errorf("%v: a test without a name or a duration: %v", err, x)
		}
	}
	if got.Format != "CTRF" || got.Results.Tool["name"] != "rlcheck" {
		t.Errorf("got %+v", got)
	}
}

// members demands exactly these members of an object.
func members[V any](t *testing.T, object map[string]V, want ...string) {
	t.Helper()
	if got := slices.Sorted(maps.Keys(object)); !slices.Equal(got, want) {
		t.Errorf("got the members %v, want %v", got, want)
	}
}
