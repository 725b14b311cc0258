package claim

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestAnswersThatStop: a target fails if it stops answering, in any way, where answers are expected. It does
// not fail if it loses a few requests, if nothing is known of it, or if the recorder could not reach it.
func TestAnswersThatStop(t *testing.T) {
	type phase struct {
		name     string
		requests int
		lost     int
		err      string
	}
	up := phase{name: "up", requests: 10}
	for _, c := range []struct {
		name   string
		phases []phase
		unsent int
		want   result.Verdict
	}{
		{"time-outs", []phase{up, {"gone", 10, 10, "timeout"}}, 0, result.Fail},
		{"closed connections", []phase{up, {"gone", 10, 10, "eof"}}, 0, result.Fail},
		{"resets", []phase{up, {"gone", 10, 10, "reset"}}, 0, result.Fail},
		{"a process that has ended", []phase{up, {"gone", 10, 10, "refused"}}, 0, result.Fail},
		{"half of them", []phase{up, {"gone", 10, 5, "timeout"}}, 0, result.Fail},
		{"a few", []phase{up, {"gone", 10, 4, "timeout"}}, 0, result.Inconclusive},
		{"a stopped recording", []phase{up, {"gone", 10, 10, "interrupted"}}, 0, result.Inconclusive},
		{"a name that is not found", []phase{up, {"gone", 10, 10, "dns"}}, 0, result.Inconclusive},
		{"a recorder that lags", []phase{up, {"gone", 10, 10, "timeout"}}, 1, result.Inconclusive},
		{"losses before", []phase{{"up", 10, 1, "eof"}, {"gone", 10, 10, "eof"}}, 0, result.Inconclusive},
		{"nothing before", []phase{{"gone", 10, 10, "timeout"}, up}, 0, result.Inconclusive},
		{"answers", []phase{up, {"gone", 10, 0, ""}}, 0, result.Pass},
	} {
		tl := &timeline.Timeline{Header: timeline.Header{Unsent: c.unsent}}
		for _, p := range c.phases {
			for i := range p.requests {
				seq := len(tl.Observations)
				at := time.Duration(seq) * ms
				due := timeline.Arrival{Seq: seq, Phase: p.name, Cost: 1, At: at}
				o := timeline.Observation{Arrival: due, Sent: at}
				if o.Error = p.err; i >= p.lost {
					o.Answered, o.Status, o.Outcome = true, 200, timeline.Allowed
					o.FirstByte, o.Error = at+1, ""
				}
				tl.Observations = append(tl.Observations, o)
			}
		}
		got := Judge(tl, nil, Expect{Answers: []AnswerBound{{Phase: "gone", Status: []int{200}}}})[0]
		if got.Verdict != c.want {
			t.Errorf("%s: got %s, want %s: %s", c.name, got.Verdict, c.want, got.Text)
		}
		for _, f := range got.Findings {
			if f.Kind != result.Unanswered || f.Seen < 5 || f.From != 10*ms || f.To < f.From {
				t.Errorf("%s: got %+v, want the lost requests from 10 ms on", c.name, f)
			}
		}
	}
}
