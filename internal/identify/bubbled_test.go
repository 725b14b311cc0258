package identify

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// bubbled is a Sender in front of a target, one request after the other, in the virtual time of a bubble.
type bubbled struct {
	target  *lab.Target
	started time.Time
	// way is the time to the target and back. jitter is added to it at random.
	way, jitter time.Duration
	random      *rand.Rand
}

func (s *bubbled) Now() time.Duration { return time.Since(s.started) }

func (s *bubbled) Wait() time.Duration { return 0 }

func (s *bubbled) Header() timeline.Header {
	return timeline.Header{Started: s.started, Ended: s.Now()}
}

// ask lets the target answer. If it drops the connection, there is no answer.
func (s *bubbled) ask(w *httptest.ResponseRecorder, r *http.Request) {
	defer func() {
		if recover() != nil {
			w.Code = 0
		}
	}()
	s.target.ServeHTTP(w, r)
}

func (s *bubbled) Send(ctx context.Context, p Phase) ([]timeline.Observation, error) {
	way := func() { time.Sleep(s.way + time.Duration(s.random.Int64N(int64(s.jitter)+1))) }
	var out []timeline.Observation
	time.Sleep(p.Rest)
	begin := s.Now()
	for admitted, denied := 0, 0; !p.Over(admitted, denied); {
		time.Sleep(begin + time.Duration(len(out))*p.Every - s.Now())
		o := timeline.Observation{Sent: s.Now(), Answered: true, Outcome: timeline.Allowed}
		way()
		answer := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody)
		r.Header.Set("X-Api-Key", "k")
		s.ask(answer, r)
		way()
		for name := range answer.Header() {
			o.Fields = append(o.Fields, timeline.Field{Name: name, Value: answer.Header().Get(name)})
		}
		o.At, o.FirstByte, o.Done, o.Status = o.Sent, s.Now(), s.Now(), answer.Code
		switch answer.Code {
		case http.StatusOK:
			admitted++
		case http.StatusTooManyRequests:
			o.Outcome = timeline.Denied
			denied++
		default:
			o.Outcome, o.Answered = timeline.Unknown, answer.Code > 0
			denied++
		}
		out = append(out, o)
	}
	return out, nil
}
