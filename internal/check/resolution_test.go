package check

import (
	"testing"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// TestAPassThatIsWorthTooLittleSaysWhatIsDemanded: its words are true of an interval with two ends, one end
// or none.
func TestAPassThatIsWorthTooLittleSaysWhatIsDemanded(t *testing.T) {
	limit, err := spec.Parse("token-bucket,rate=10/s,burst=20")
	if err != nil {
		t.Fatal(err)
	}
	known := result.Interval{Lo: 20, Hi: 20, LoSet: true, HiSet: true}
	for _, x := range []struct {
		demanded Resolution
		measured result.Measured
		want     string
	}{
		{Resolution{BurstExact: true}, result.Measured{},
			"the burst is not known, and a PASS must measure it exactly"},
		{Resolution{Burst: 0.05}, result.Measured{Burst: result.Interval{Hi: 30, HiSet: true}},
			"the burst is known to be at most 30, and a PASS must measure it to within 5 %"},
		{Resolution{Rate: 0.02}, result.Measured{Burst: known},
			"the rate is not known, and a PASS must measure it to within 2 %"},
		{Resolution{Rate: 0.02},
			result.Measured{Rate: result.Interval{Lo: 9, Hi: 11, LoSet: true, HiSet: true}},
			"the rate is known to be 9..11/s, and a PASS must measure it to within 2 %"},
		{Resolution{BurstExact: true}, result.Measured{Burst: known}, ""},
	} {
		if got := x.demanded.short(limit[0], x.measured, ""); got != x.want {
			t.Errorf("got %q, want %q", got, x.want)
		}
	}
}

// TestAClockOfWholeSecondsIsNoReasonAgainstAPass: windows of 2 s by such a clock last 1 s to 2 s, so nobody
// can measure their length to a tenth. A finer clock, or one end that is not known, is no excuse.
func TestAClockOfWholeSecondsIsNoReasonAgainstAPass(t *testing.T) {
	rate := func(lo, hi float64) result.Interval {
		return result.Interval{Lo: lo, LoSet: lo > 0, Hi: hi, HiSet: hi > 0}
	}
	for _, x := range []struct {
		spec string
		rate result.Interval // of 5/2s: windows of 5/Hi to 5/Lo seconds
		pass bool
	}{
		{"fixed-window,rate=5/2s,align=first,tick=1s", rate(2.42, 5.99), true},
		{"fixed-window,rate=5/2s,align=first,tick=1s", rate(1.8, 24), false}, // 0.2 s to 2.8 s
		{"fixed-window,rate=5/2s,align=first,tick=1s", rate(2.42, 0), false},
		{"fixed-window,rate=5/2s,align=first,tick=10ms", rate(2.42, 5.99), false},
		{"fixed-window,rate=5/2s,align=first", rate(2.42, 5.99), false},
		{"token-bucket,rate=5/2s,burst=5,tick=1s", rate(2.42, 5.99), false},
	} {
		limit, err := spec.Parse(x.spec)
		if err != nil {
			t.Fatal(err)
		}
		short := Resolution{Rate: 0.1}.short(limit[0], result.Measured{Rate: x.rate}, "")
		if (short == "") != x.pass {
			t.Errorf("%s, rate %v: got %q, want a PASS: %v", x.spec, x.rate, short, x.pass)
		}
	}
}
