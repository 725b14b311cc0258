package lab

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The limits that faults of budgets are shown with.
const (
	settled  = "fixed-window,rate=10/10s,charge=completion"
	reserved = "fixed-window,rate=10/10s,reserve=5"
)

// streamed asks for a stream.
var streamed = as(func(r *request) { r.body = `{"stream": true}` })

// budgetSights show the faults of gateways that learn what a request costs from its answer.
var budgetSights = []sight{
	{fault: "tokens-one-each", spec: settled, steps: do(costing(4), burst(5)), right: "3", wrong: "5"},
	{fault: "budget-off-by-one", spec: settled, steps: do(costing(10), burst(2)), right: "1", wrong: "2"},
	{fault: "estimate-never-settled", spec: reserved, steps: do(costing(9), burst(3)), right: "1",
		wrong: "2"},
	{fault: "reserve-never-released", spec: reserved, steps: do(costing(1), burst(5)), right: "5",
		wrong: "2"},
	{fault: "stream-uncharged", spec: settled, steps: do(streamed, costing(12), burst(2)), right: "1",
		wrong: "2"},
	{fault: "last-chunk-charged", spec: settled, steps: do(streamed, costing(12), burst(2)), right: "1",
		wrong: "2"},
	{fault: "free-answers-charged", spec: settled, steps: do(with("X-Usage", "0"), costing(12), burst(2)),
		right: "2", wrong: "1"},
	{fault: "huge-answer-free", spec: settled, steps: do(costing(12), burst(2)), right: "1", wrong: "2"},
	{fault: "reserve-unchecked", spec: reserved, steps: do(costing(5), together(4)), right: "2", wrong: "4"},
	{fault: "denied-tokens-charged", spec: "token-bucket,rate=1/s,burst=10,charge=completion",
		steps: do(costing(11), burst(2), wait(3*time.Second), burst(1)), right: "1, 1", wrong: "1, 0"},
	{fault: "other-budget-stated", spec: "fixed-window,rate=60/10s,unit=request + " + settled,
		steps: do(costing(12), burst(2), says("X-RateLimit-Remaining-Tokens")), right: "1, 0",
		wrong: "1, 59"},
}

func tokenFaultNames() (names []string) {
	for _, f := range tokenFaults {
		names = append(names, f.Name)
	}
	return names
}

// TestAnswersTellWhatTheyCost: they cost what max_tokens or the field says, and tell it in a body, a field or
// the last event. A stream lasts as long as it should.
func TestAnswersTellWhatTheyCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Options{Limit: parse(t, settled), Tokens: 2 * time.Second, Dialect: []Dialect{RetryAfterMS},
			DenyBody: DenyRetryInfo}
		h := open(t, o)
		for _, c := range []struct {
			of    request
			cost  string
			lasts time.Duration
		}{
			{request{key: "a", body: `{"max_tokens": 7}`}, "7", answerTime},
			{request{key: "b", body: `{"max_completion_tokens": 8}`}, "8", answerTime},
			{request{key: "c", body: `{"max_tokens": 7}`, cost: 12}, "12", answerTime},
			{request{key: "d", cost: 12, fields: map[string]string{"X-Usage": "0"}}, "0", answerTime},
			{request{key: "e", body: `{"max_tokens": 11, "stream": true}`}, "11", 2 * time.Second},
			{request{key: "f", body: "no JSON"}, "1", answerTime},
		} {
			begun := time.Now()
			r := ask(h, c.of)
			text, err := io.ReadAll(r.Body)
			if err != nil || !strings.Contains(string(text), `"total_tokens":`+c.cost+"}") ||
				time.Since(begun) != c.lasts {
				t.Errorf("%+v: got %q after %s, %v, want %s tokens after %s", c.of, text,
					time.Since(begun), err, c.cost, c.lasts)
			}
			stream := strings.Contains(c.of.body, "stream")
			if !stream && r.Header.Get("X-Tokens") != c.cost ||
				stream && !strings.HasSuffix(string(text), "data: [DONE]\n\n") {
				t.Errorf("%+v: got X-Tokens %q of %q, want %s", c.of, r.Header.Get("X-Tokens"), text,
					c.cost)
			}
		}
		time.Sleep(500 * time.Millisecond)
		r := ask(h, request{key: "c"})
		if text, err := io.ReadAll(r.Body); err != nil || r.StatusCode != 429 ||
			r.Header.Get("Retry-After-Ms") != "7250" || !strings.Contains(string(text), `"retryDelay":"8s"`) {
			t.Errorf("got %d after %q ms, %q, want a denial of 7250 ms", r.StatusCode,
				r.Header.Get("Retry-After-Ms"), text)
		}
	})
}
