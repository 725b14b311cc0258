package trial

import (
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// TestMeasuredPolicy: the scenarios of the limit that most declare are joined.
func TestMeasuredPolicy(t *testing.T) {
	of := func(id, text string, lo, hi float64) result.Scenario {
		l, err := spec.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		m := result.Measured{Burst: result.Interval{Lo: lo, Hi: hi, LoSet: true, HiSet: true},
			Rate: result.Interval{Lo: lo, LoSet: true}}
		return result.Scenario{ID: id, Limit: l, Judgement: &result.Judgement{Measured: m}}
	}
	const one, other = "token-bucket,rate=10/s,burst=20", "token-bucket,rate=10/s,burst=5"
	unmeasured := of("unmeasured", one, 0, 0)
	unmeasured.Judgement.Measured = result.Measured{}
	unjudged := of("unjudged", one, 0, 0)
	unjudged.Judgement = nil
	p := MeasuredPolicy([]result.Scenario{of("first", other, 5, 5), of("a", one, 18, 30),
		unmeasured, unjudged, of("b", one, 10, 21)})
	if p == nil || p.Limit.String() != one || strings.Join(p.From, " ") != "a b" {
		t.Fatalf("got %+v, want what a and b measured of %s", p, one)
	}
	if m := p.Measured; m.Burst.String() != "18..21" || m.Rate.String() != "18.." {
		t.Errorf("got burst %s and rate %s, want 18..21 and 18..", m.Burst, m.Rate)
	}
	p = MeasuredPolicy([]result.Scenario{of("a", one, 20, 20), of("b", one, 21, 21)})
	if !p.Measured.Burst.Empty() {
		t.Errorf("of contradictory scenarios: got burst %s, want no value", p.Measured.Burst)
	}
	never := of("never denied", one, 60, 70)
	never.Verdict = result.Fail
	p = MeasuredPolicy([]result.Scenario{never, of("a", one, 20, 20)})
	if got := p.Measured.Burst.String(); got != "20..20" || len(p.From) != 1 {
		t.Errorf("beside one that was never denied: got burst %s of %v, want 20..20 of a", got, p.From)
	}
	if p = MeasuredPolicy([]result.Scenario{never}); p == nil || p.Measured.Burst.String() != "60..70" {
		t.Errorf("never denied, alone: got %+v, want burst 60..70", p)
	}
	if p := MeasuredPolicy([]result.Scenario{unmeasured, unjudged}); p != nil {
		t.Errorf("where nothing was measured: got %+v, want nil", p)
	}
}
