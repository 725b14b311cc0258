package check

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// fuzzAxes are limits with the axes that FuzzJudge lacks: completions, times to live, ranges, several
// policies that charge apart, and one timer for all partitions.
var fuzzAxes = []string{
	"concurrency,limit=2,hold=9ns..30ns", "concurrency,limit=1,hold=5ns..",
	"concurrency,limit=2,hold=9ns..30ns,linger=4ns", "concurrency,limit=4611686018427387904,hold=1ns..3650d",
	"concurrency,limit=1..3,hold=9ns..30ns",
	"token-bucket,rate=1/12ns,burst=2,charge=completion,hold=2ns..9ns",
	"fixed-window,rate=2/20ns,charge=completion,hold=2ns..9ns,linger=1ns",
	"sliding-window-log,rate=2/16ns,charge=completion,hold=2ns..9ns",
	"sliding-window-counter,rate=2/20ns,phase=7ns,charge=completion,hold=2ns..",
	"token-bucket,rate=1/12ns,burst=3,ttl=14ns", "sliding-window-log,rate=2/16ns,ttl=9ns",
	"fixed-window,rate=2/20ns,align=first,ttl=9ns", "token-bucket,rate=1..2/12ns,burst=2..3",
	"fixed-window,rate=2..3/20ns..30ns,align=unknown", "fixed-window,rate=2/20ns..30ns,align=first",
	"sliding-window-counter,rate=2..3/20ns..30ns,align=unknown", "sliding-window-log,rate=2..3/16ns..20ns",
	"token-bucket,rate=1/12ns,burst=2,ban=17ns,count=all", "fixed-window,rate=2/20ns,align=first,ban=30ns",
	"leaky-bucket-queue,rate=1/12ns,queue=3,undelayed=1,tick=5ns",
	"leaky-bucket-queue,rate=1/12ns,queue=1..4", "fixed-window,rate=2/20ns,align=shared",
	"sliding-window-counter,rate=2/20ns,align=shared,count=all", "token-bucket,rate=1/12ns,burst=3,start=1",
	"token-bucket,rate=1/12ns,burst=3,start=1..2,refill=interval,fill=2",
	"token-bucket,rate=1/12ns,burst=2,count=own + fixed-window,rate=2/20ns,count=own",
	"sliding-window-counter,rate=2/20ns,align=first,rounding=nearest,tick=5ns + " +
		"gcra,rate=1/12ns,burst=2,ban=5ns",
	"concurrency,limit=2,hold=9ns..30ns + token-bucket,rate=1/12ns,burst=2",
	"sliding-window-counter,rate=100/1m,tick=1s,align=first", "fixed-window,rate=1/3650d,align=clock,tick=1d",
	"sliding-window-log,rate=1000000/1s", "fixed-window,rate=2/20ns,refresh=all,align=first",
}

// FuzzJudgeAxes is FuzzJudge for these limits. Its recordings also tell when answers ended, how far clocks
// drift, and between which times no request is missing.
func FuzzJudgeAxes(f *testing.F) {
	for i := range fuzzAxes {
		f.Add(byte(i), byte(0), []byte{4, 1, 2, 3, 9, 30},
			[]byte{0, 5, 5, 0, 1, 1, 1, 9, 1, 2, 3, 3, 0x40, 4, 4, 0x41, 4, 4, 0xc1, 20, 1, 4, 3})
		f.Add(byte(i), byte(1), []byte{7, 200, 3, 90},
			[]byte{7, 200, 3, 0xd1, 0xd2, 0xd3, 0, 9, 9, 4, 9, 8, 2, 2, 0xcf})
	}
	f.Fuzz(func(t *testing.T, text, options byte, extras, recording []byte) {
		limit, err := spec.Parse(fuzzAxes[int(text)%len(fuzzAxes)])
		if err != nil {
			t.Fatal(err)
		}
		o := Options{SkipMeasure: options&1 != 0, Shared: options&2 != 0, Hint: options&4 != 0,
			Conformance: []result.Conformance{"", result.Exact, result.UpperBound,
				result.LowerBound}[options>>3&3]}
		tl := (&fuzzReader{recording}).timeline()
		(&fuzzReader{extras}).tell(tl)
		survives(t, tl, limit, o)
	})
}

// tell adds what the bytes say of clocks, of the edges and of the ends of answers to a recording.
func (r *fuzzReader) tell(tl *timeline.Timeline) {
	flags := r.byte()
	if flags&1 != 0 {
		tl.Header.DriftPPM = r.number()
	}
	if flags&2 != 0 {
		tl.Header.CompleteFrom, tl.Header.CompleteUntil = time.Duration(r.number()), time.Duration(r.number())
	}
	if flags&4 == 0 {
		return
	}
	for i := range tl.Observations {
		if o := &tl.Observations[i]; o.Answered {
			o.Done = o.FirstByte + time.Duration(r.number())
		}
	}
}
