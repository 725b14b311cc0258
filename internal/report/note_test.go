package report

import (
	"encoding/xml"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlcheck/rlcheck/internal/result"
)

// unpromising is a run at a target without Retry-After. One scenario is not judged, one is judged in part,
// and one needs a proxy.
func unpromising(t testing.TB) *result.Run {
	const none = result.NeedsFailed
	claims := []result.Claim{{ID: "conformance", Kind: result.ClaimConformance,
		Verdict: result.Pass, Text: "burst 20"},
		{ID: "fields-retry-after", Kind: result.ClaimFieldsRetryAfter,
			Reason: none, Text: "none has it", Unpromised: result.PromiseRetryAfter}}
	whole := result.Scenario{ID: "retry-after", Kind: result.Required, Reason: none, Detail: "sends none",
		Claims: claims}
	part := result.Scenario{ID: "denial-response", Kind: result.Recommended, Verdict: result.Pass,
		Claims: claims}
	proxy := result.Scenario{ID: "proxy-repeats", Kind: result.Required, Reason: none,
		Detail: "there is no origin"}
	return SampleRun(Passing(t), whole, part, proxy)
}

func TestNotesSayWhatWasNotJudged(t *testing.T) {
	var got []string
	for _, n := range unpromising(t).Notes() {
		got = append(got, n.String())
	}
	want := []string{"sends no Retry-After: recommended (not judged: retry-after; in part denial-response)",
		"lacks what they need (other limits or clients, a proxy, a command) (not judged: proxy-repeats)"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("notes (-want +got):\n%s", d)
	}
	if n := SampleRun(Passing(t), Failing(t)).Notes(); len(n) > 0 {
		t.Errorf("a run that judged all: got %v, want no notes", n)
	}
}

// TestAQuotaThatIsStatedInPart: where limit and remaining are stated, only what is missing is named.
func TestAQuotaThatIsStatedInPart(t *testing.T) {
	lacks := func(id string) result.Claim {
		return result.Claim{ID: id, Reason: result.NeedsFailed, Unpromised: result.PromiseRateLimit}
	}
	s := result.Scenario{ID: "header-contract", Verdict: result.Pass, Claims: []result.Claim{
		lacks("fields-ratelimit"), lacks("quota-counts"), lacks("quota-reset")}}
	const all = "states no quota in RateLimit or X-RateLimit fields: recommended " +
		"(not judged: in part header-contract)"
	if got := SampleRun(s).Notes()[0].String(); got != all {
		t.Errorf("nothing is stated: got %q", got)
	}
	s.Claims[0] = result.Claim{Verdict: result.Pass, Kind: result.ClaimFieldsRateLimit}
	const part = "states its quota in part, without what quota-counts, quota-reset judges: recommended " +
		"(not judged: in part header-contract)"
	if got := SampleRun(s).Notes()[0].String(); got != part {
		t.Errorf("a part is stated: got %q", got)
	}
}

// TestWhatWasNeverPromisedIsNamedInEveryFormat: every format names it, and as neither a failure nor an error.
func TestWhatWasNeverPromisedIsNamedInEveryFormat(t *testing.T) {
	r := unpromising(t)
	for _, format := range []string{"table", "json", "markdown", "github"} {
		text := strings.Join(strings.Fields(string(render(t, format, r, Options{}))), " ")
		if !strings.Contains(text, "sends no Retry-After: recommended") {
			t.Errorf("%s does not name what is not promised:\n%s", format, text)
		}
		if format != "json" && !strings.Contains(text, "4 scenarios: 2 PASS, 2 not judged") {
			t.Errorf("%s: got other totals:\n%s", format, text)
		}
	}
	var got parsedSuites
	if err := xml.Unmarshal(render(t, "junit", r, Options{InconclusiveIsError: true}), &got); err != nil {
		t.Fatal(err)
	}
	if got.Failures+got.Errors > 0 {
		t.Errorf("junit: got %d failures and %d errors, want none", got.Failures, got.Errors)
	}
	for _, s := range got.Suites {
		want := map[string]int{"burst": 0, "retry-after": 2, "denial-response": 1, "proxy-repeats": 1}[s.Name]
		if s.Skipped != want {
			t.Errorf("junit, %s: got %d skipped of %d, want %d", s.Name, s.Skipped, s.Tests, want)
		}
	}
}

// TestWhatWasNotJudgedIsNoDoubt: it is listed after what was judged, in other words, and unfolds nothing. A
// scenario that sent nothing is named only in a note.
func TestWhatWasNotJudgedIsNoDoubt(t *testing.T) {
	r := unpromising(t)
	r.Scenarios[1].Counts = r.Scenarios[0].Counts
	table, page := string(render(t, "table", r, Options{})), string(render(t, "html", r, Options{}))
	row := strings.Index(table, "\n not judged  retry-after ")
	if row < strings.Index(table, " PASS ") || strings.Contains(table, "  proxy-repeats ") ||
		strings.Contains(table, "INCONCLUSIVE") {
		t.Errorf("got the table\n%s\nwant retry-after last, not judged, and no row of proxy-repeats", table)
	}
	const folded = `<details class="card none"`
	if !strings.Contains(page, ">NOT JUDGED<") || strings.Count(page, folded) != 1 ||
		strings.Contains(page, "> proxy-repeats<") {
		t.Errorf("got a page with %d folded scenarios, want retry-after, NOT JUDGED",
			strings.Count(page, folded))
	}
	md := string(render(t, "markdown", r, Options{}))
	last := strings.Index(md, "\n| not judged | `retry-after`")
	if last < strings.LastIndex(md, "| ✅ PASS | ") || strings.Contains(md, "`proxy-repeats`") {
		t.Errorf("got\n%s\nwant retry-after last, not judged, and no row of proxy-repeats", md)
	}
	alone := SampleRun(r.Scenarios[1])
	text := string(render(t, "table", alone, Options{}))
	if !strings.Contains(text, "\n INCONCLUSIVE  retry-after ") {
		t.Errorf("where nothing was judged: got\n%s\nwant INCONCLUSIVE", text)
	}
}

func TestNotesComeBackFromJSON(t *testing.T) {
	r := unpromising(t)
	back, err := ReadDocument(strings.NewReader(string(render(t, "json", r, Options{}))))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r.Notes(), back.Notes()); d != "" {
		t.Errorf("notes read back (-want +got):\n%s", d)
	}
}
