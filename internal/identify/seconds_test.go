package identify

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestACounterOfOneSecondOpensWithASecond: full windows one after the other were thought to be a counter by a
// clock of whole seconds whose windows begin anywhere in a second. By such a clock they begin with one.
func TestACounterOfOneSecondOpensWithASecond(t *testing.T) {
	tl := &timeline.Timeline{Header: timeline.Header{WallError: 500 * time.Millisecond}}
	for second := range 6 {
		for i := range 493 {
			at := time.Duration(second)*1050*time.Millisecond + time.Duration(i)*100*time.Microsecond
			o := timeline.Observation{Sent: at, FirstByte: at + 120*time.Microsecond, Answered: true,
				Outcome: timeline.Allowed}
			if o.Seq, o.Cost, o.At = len(tl.Observations), 1, at; i >= 490 {
				o.Outcome = timeline.Denied
			}
			o.Done = o.FirstByte
			tl.Observations = append(tl.Observations, o)
		}
	}
	tl.Header.Ended = tl.End()
	for _, rounding := range []string{"down", "up"} {
		l, err := spec.Parse("sliding-window-counter,rate=490/s,align=first,count=all,tick=1s,rounding=" +
			rounding)
		if err != nil {
			t.Fatal(err)
		}
		var a Asker
		if a.BySeconds(tl, l, func() bool { return false }) {
			t.Errorf("got that %s explains full windows one after the other, want that it does not", l)
		}
	}
}

// TestOddWindowsByAClockAreConfirmedMore: two limiters that count no windows were named 100/1.7s and
// 100/995ms after three answers to a silence. Windows that begin anywhere explain much.
func TestOddWindowsByAClockAreConfirmedMore(t *testing.T) {
	for _, tt := range []struct {
		from, to time.Duration
		want     int
	}{
		{16500 * time.Millisecond, 17500 * time.Millisecond, len(usualRests)},
		{14 * time.Second, 16 * time.Second, confirming},
	} {
		x := begun(&replay{tl: &timeline.Timeline{}}, Options{Fresh: true}, nil)
		x.regions = []*Region{{Kind: Kinds()[1], Live: []Box{{Q1: 100, Q2: 100, T1: tt.from, T2: tt.to}}}}
		if got := x.doubts(); got != tt.want {
			t.Errorf("%s..%s: got %d silences to confirm it, want %d", tt.from, tt.to, got, tt.want)
		}
	}
}
