package result

import (
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestCoarseNamesWhatHelps: if nothing was denied, that is told first. A declared tick replaces the usual
// one.
func TestCoarseNamesWhatHelps(t *testing.T) {
	const fast = "token-bucket,rate=10000/s,burst=100"
	for name, c := range map[string]struct {
		limit     string
		answer    time.Duration
		last      timeline.Outcome
		why, mend string
	}{
		"no denial, a quick answer": {fast, 100 * time.Microsecond, timeline.Allowed,
			"nothing was denied, and a clock ticks every 1.00 ms", "whether this route is limited"},
		"no denial, a slow answer": {fast, 5 * time.Millisecond, timeline.Allowed,
			"nothing was denied, and an answer took 5.00 ms", "whether this route is limited"},
		"a denial": {fast, 100 * time.Microsecond, timeline.Denied,
			"a clock ticks every 1.00 ms", "tick=10us"},
		"a finer clock": {fast + ",tick=10us", 100 * time.Microsecond, timeline.Denied,
			"an answer took 100 µs, in which the limit gives back 1 unit", "run more scenarios"},
		"locked out": {fast + ",tick=10us,ban=1s", 10 * time.Microsecond, timeline.Denied,
			"a client that keeps asking stays locked out", "expect.resolution.rate"},
		"a time-out": {fast, 100 * time.Microsecond, timeline.Unknown,
			"1 of 3 requests got no answer in time", "few clients at a time"},
		"it is fine enough": {fast + ",tick=10us", 10 * time.Microsecond, timeline.Denied, "", ""},
	} {
		l, err := spec.Parse(c.limit)
		if err != nil {
			t.Fatal(err)
		}
		tl := &timeline.Timeline{Header: timeline.Header{Tick: time.Millisecond}}
		for i := range 3 {
			o := timeline.Observation{Answered: true, Outcome: timeline.Allowed}
			o.Sent = time.Duration(i) * time.Second
			o.FirstByte = o.Sent + c.answer
			tl.Observations = append(tl.Observations, o)
		}
		if tl.Observations[2].Outcome = c.last; c.last == timeline.Unknown {
			tl.Observations[2].Answered, tl.Observations[2].Error = false, "timeout"
		}
		s := &Scenario{Target: "http://127.0.0.1/", Limit: l, Timeline: tl}
		why, mend := s.Coarse()
		if !strings.HasPrefix(why, c.why) || !strings.Contains(mend, c.mend) || (why == "") != (c.why == "") {
			t.Errorf("%s: got %q, mend %q", name, why, mend)
		}
		if slow := s.Slow(); (slow != "") != (c.answer >= 100*time.Microsecond) {
			t.Errorf("%s: got %q of answers that took %s", name, slow, c.answer)
		}
	}
}

// TestAFarTargetIsNamed: under windows, which give nothing back in the meantime, the fastest answer decides.
func TestAFarTargetIsNamed(t *testing.T) {
	l, err := spec.Parse("fixed-window,rate=5/1m")
	if err != nil {
		t.Fatal(err)
	}
	for fastest, want := range map[time.Duration]string{25*time.Millisecond - 1: "",
		25 * time.Millisecond: "send from nearer to the target: no answer took less than 25.0 ms"} {
		tl := &timeline.Timeline{}
		for _, took := range []time.Duration{time.Second, fastest, 2 * fastest} {
			tl.Observations = append(tl.Observations, timeline.Observation{Answered: true, FirstByte: took})
		}
		tl.Observations = append(tl.Observations, timeline.Observation{})
		if got := (&Scenario{Target: "http://a/", Limit: l, Timeline: tl}).Slow(); got != want {
			t.Errorf("fastest %s: got %q, want %q", fastest, got, want)
		}
	}
}
