package report

import (
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/result"
)

// TestAnswersStandForVerdicts: what identify answers is shown where other reports have a verdict, even in a
// report that was read back. A limit that was found always passes its own recording, so that this verdict
// would say nothing.
func TestAnswersStandForVerdicts(t *testing.T) {
	for answer, v := range map[string]result.Verdict{
		"identified": result.Pass, "open": result.Inconclusive, "none": result.Inconclusive,
	} {
		s := Passing(t)
		s.Answer, s.Verdict, s.Claims = answer, v, nil
		r := SampleRun(s)
		kept := string(render(t, "json", r, Options{}))
		back, err := ReadDocument(strings.NewReader(kept))
		if err != nil {
			t.Fatal(err)
		}
		older := strings.Replace(kept, `"answer": "`+answer+`",`, "", 1)
		old, err := ReadDocument(strings.NewReader(older))
		if err != nil || older == kept {
			t.Fatal(err)
		}
		if want := strings.Replace(answer, "none", "open", 1); old.Scenarios[0].Answer != want {
			t.Errorf("%s, by a version that did not keep it: got %q", answer, old.Scenarios[0].Answer)
		}
		word := strings.ToUpper(answer)
		for format, want := range map[string]string{"table": word + ": ", "markdown": "**" + word + "**",
			"html": ">" + word + "</span>", "github": word} {
			back.Scenarios[0].Timeline = s.Timeline
			got := string(render(t, format, back, Options{}))
			passed := strings.Contains(got, ">PASS<") || strings.Contains(got, "PASS:")
			if !strings.Contains(got, want) || passed {
				t.Errorf("%s: got no %q, or a PASS:\n%.900s", format, want, got)
			}
		}
		bad := strings.Replace(kept, `"answer": "`, `"answer": "x`, 1)
		_, err = ReadDocument(strings.NewReader(bad))
		if err == nil || !strings.Contains(err.Error(), "answer") {
			t.Errorf("an answer that nobody gives: got %v", err)
		}
	}
}
