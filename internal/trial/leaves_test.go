package trial_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
)

// slowly sends the head of each answer 20 ms before its body.
type slowly struct{ lab.PipeNetwork }

func (n *slowly) Listen(h http.Handler) (string, func() error, error) {
	return n.PipeNetwork.Listen(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(headFirst{w}, r)
	}))
}

type headFirst struct{ http.ResponseWriter }

func (w headFirst) WriteHeader(status int) {
	w.ResponseWriter.WriteHeader(status)
	_ = http.NewResponseController(w.ResponseWriter).Flush()
	time.Sleep(20 * time.Millisecond)
}

// TestClientsThatLeaveAreCounted: a right target is seen to count requests whose clients leave, if its
// answers take time. If they are whole at once, nobody can leave, and the row shows nothing.
func TestClientsThatLeaveAreCounted(t *testing.T) {
	for _, x := range []struct {
		network  lab.Network
		observed string
	}{{&slowly{}, "shared"}, {&lab.PipeNetwork{}, "not shown"}} {
		all, err := lab.Trials("token-bucket,rate=10/s,burst=20")
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range all {
			if one.Scenario.ID != "fresh-quota" || one.Fault != "" {
				continue
			}
			one.Try(func(s *scenario.Scenario) result.Scenario {
				out := provenVirtually(t, s, x.network, 1)
				if out.Verdict != result.Pass {
					t.Errorf("%s, want PASS", said(out))
				}
				for _, c := range out.Claims {
					for _, row := range c.Compared {
						if row.Attribute == "leaves" && row.Observed != x.observed {
							t.Errorf("%s: %s, want %s", row.Observed, row.Detail, x.observed)
						}
					}
				}
				return out
			})
		}
	}
}
