package report

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

func TestVerdictJSONIsThatOfTheDesign(t *testing.T) {
	j := &result.Judgement{Verdict: result.Fail, Partitions: []result.PartitionVerdict{{
		Partition: "k1", Verdict: result.Fail, Judged: 2,
		Findings: []result.Finding{{Kind: result.OverAdmission, Partition: "k1", Seen: 110, Bound: 109,
			From: 12 * time.Millisecond,
			To:   942 * time.Millisecond, Observations: []int{4, 5}, Text: "110 <= x"}},
		Measured: result.Measured{Burst: Between(20, 20),
			Rate: result.Interval{Lo: 9.97, LoSet: true}},
	}}}
	got, err := VerdictDocument(j)
	if err != nil {
		t.Fatal(err)
	}
	var gotAny, wantAny any
	want := `{"schema":"rlcheck.verdict/v1","verdict":"fail","reason":"","measured":{"burst":[null,null],"rate_per_s":[null,null]},
	 "partitions":[{"partition":"k1","verdict":"fail","reason":"","judged":2,"asked":false,"tested":false,
	   "findings":[{"kind":"over-admission","seen":110,"bound":109,"from_ns":12000000,"to_ns":942000000,"observations":[4,5],"text":"110 <= x"}],
	   "measured":{"burst":[20,20],"rate_per_s":[9.97,null]}}]}`
	if err := json.Unmarshal(got, &gotAny); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &wantAny); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(wantAny, gotAny); d != "" {
		t.Errorf("verdict (-want +got):\n%s", d)
	}
	for _, line := range []string{`"observations": [4, 5],`, `"rate_per_s": [9.97, null]`,
		`"text": "110 <= x"`} {
		if !strings.Contains(string(got), line) {
			t.Errorf("no line %s in\n%s", line, got)
		}
	}
}

// TestAnEmptyIntervalHasNoEnds: an interval whose ends have passed each other holds no value. It is printed
// without ends, and read back as empty.
func TestAnEmptyIntervalHasNoEnds(t *testing.T) {
	got, err := VerdictDocument(&result.Judgement{Measured: result.Measured{Burst: Between(632, 348),
		Rate: Between(20, 20)}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(got), `"burst": []`) ||
		!strings.Contains(string(got), `"rate_per_s": [20, 20]`) {
		t.Errorf("got %s", got)
	}
	for text, want := range map[string]string{`[]`: "no value", `[1,2]`: "1..2", `[null,2]`: "..2",
		`[1]`: "nothing", `null`: "nothing"} {
		var in result.Interval
		if err := json.Unmarshal([]byte(text), &in); err != nil {
			t.Fatal(err)
		}
		if got := in.String(); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// TestAnInfiniteEndIsNull: an end that is not finite is written as unknown.
func TestAnInfiniteEndIsNull(t *testing.T) {
	j, err := json.Marshal(result.Interval{Lo: math.Inf(-1), LoSet: true})
	if string(j) != "[null,null]" || err != nil {
		t.Errorf("an infinite end: got %s, %v, want null", j, err)
	}
}

func TestVerdictJSONOfNothingHasEmptyLists(t *testing.T) {
	got, err := VerdictDocument(&result.Judgement{Partitions: []result.PartitionVerdict{{}}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(got), `"findings": []`) || strings.Contains(string(got), `"findings": null`) {
		t.Errorf("got %s", got)
	}
}

func TestJSONReadsBack(t *testing.T) {
	for name, r := range SampleRuns(t) {
		for i := range r.Scenarios {
			r.Scenarios[i].Clients = chartedClients(&r.Scenarios[i])
		}
		first := jsonText(t, r)
		back, err := ReadDocument(bytes.NewReader(first))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if name == "hostile" { // invalid UTF-8 does not come back, nor does a password
			continue
		}
		d := cmp.Diff(r, back, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(result.Scenario{}, "Timeline"),
			cmpopts.IgnoreFields(timeline.Distribution{}, "Buckets"))
		if d != "" {
			t.Errorf("%s read back (-want +got):\n%s", name, d)
		}
		if d := cmp.Diff(string(first), string(jsonText(t, back))); d != "" {
			t.Errorf("%s written again (-first +second):\n%s", name, d)
		}
	}
}

func TestJSONKeepsTheDrift(t *testing.T) {
	r := &result.Run{Scenarios: []result.Scenario{{Header: timeline.Header{DriftPPM: 200}}}}
	back, err := ReadDocument(bytes.NewReader(jsonText(t, r)))
	if err != nil || back.Scenarios[0].Header.DriftPPM != 200 {
		t.Errorf("got %v, %v, want a drift of 200", back, err)
	}
}

func TestJSONCountsAddUp(t *testing.T) {
	var got struct {
		Counts    map[string]int
		Scenarios []struct{ Counts map[string]int }
	}
	if err := json.Unmarshal(jsonText(t, SampleRuns(t)["mixed"]), &got); err != nil {
		t.Fatal(err)
	}
	sum := map[string]int{}
	for _, s := range got.Scenarios {
		for k, n := range s.Counts {
			sum[k] += n
		}
	}
	if d := cmp.Diff(sum, got.Counts); d != "" {
		t.Errorf("the scenarios' counts do not add up to the run's (-sum +run):\n%s", d)
	}
	if c := got.Counts; c["planned"] != c["sent"]+c["unsent"] ||
		c["sent"] != c["allowed"]+c["denied"]+c["unknown"] || c["planned"] != 1470 {
		t.Errorf("got %v, want counts that add up to 1470 planned", c)
	}
}

func TestReadJSONRefuses(t *testing.T) {
	for _, x := range []struct{ in, want string }{
		{"", "byte 0"},
		{"{", "byte 1"},
		{`{"schema":"rlcheck.report/v2"}`,
			`schema "rlcheck.report/v2": this version reads rlcheck.report/v1`},
		{`{"schema":"rlcheck.report/v1","scenarios":[{"verdict":"maybe"}]}`,
			`report: verdict "maybe": a verdict must be pass`},
		{`{"schema":"rlcheck.report/v1","scenarios":[{"verdict":"pass","limit":"tokenbucket"}]}`,
			`report: limit "tokenbucket": `},
		{`{"schema":"rlcheck.report/v1","started":"today"}`, `report: parsing time "today"`},
		{`{"schema":"rlcheck.report/v1","scenarios":[{"verdict":"pass","answer":"yes"}]}`,
			`scenarios[0].answer "yes": an answer must be identified`},
		{`{"schema":"rlcheck.report/v1","duration_ns":"1s"}`, "duration_ns"},
	} {
		_, err := ReadDocument(strings.NewReader(x.in))
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("ReadJSON(%q): got %v, want an error with %q", x.in, err, x.want)
		}
	}
}
