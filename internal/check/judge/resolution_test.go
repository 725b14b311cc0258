package judge

import (
	"testing"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// TestAPassThatIsWorthTooLittleSaysWhatIsDemanded: its words are true of an interval with two ends, one end
// or none.
func TestAPassThatIsWorthTooLittleSaysWhatIsDemanded(t *testing.T) {
	limit, err := spec.Parse("token-bucket,rate=10/s,burst=20")
	if err != nil {
		t.Fatal(err)
	}
	known := verdict.Interval{Lo: 20, Hi: 20, LoSet: true, HiSet: true}
	for _, x := range []struct {
		demanded Resolution
		measured verdict.Measured
		want     string
	}{
		{Resolution{BurstExact: true}, verdict.Measured{},
			"the burst is not known, and a PASS must measure it exactly"},
		{Resolution{Burst: 0.05}, verdict.Measured{Burst: verdict.Interval{Hi: 30, HiSet: true}},
			"the burst is known to be at most 30, and a PASS must measure it to within 5 %"},
		{Resolution{Rate: 0.02}, verdict.Measured{Burst: known},
			"the rate is not known, and a PASS must measure it to within 2 %"},
		{Resolution{Rate: 0.02},
			verdict.Measured{Rate: verdict.Interval{Lo: 9, Hi: 11, LoSet: true, HiSet: true}},
			"the rate is known to be 9..11/s, and a PASS must measure it to within 2 %"},
		{Resolution{BurstExact: true}, verdict.Measured{Burst: known}, ""},
	} {
		if got := x.demanded.short(limit[0], x.measured, ""); got != x.want {
			t.Errorf("got %q, want %q", got, x.want)
		}
	}
}
