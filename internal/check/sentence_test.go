package check

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/check/search"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// told is an observation with times in nanoseconds: when it was sent, its first byte and its last byte.
type told struct {
	sent, first, done time.Duration
	outcome           timeline.Outcome
	cost              int64
}

// says judges observations that break a limit, whole and as a stream, and returns the text of each first
// finding.
func says(t *testing.T, spec string, all ...told) (whole, stream string) {
	t.Helper()
	tl := &timeline.Timeline{}
	for i, x := range all {
		tl.Observations = append(tl.Observations,
			timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: max(x.cost, 1)}, Sent: x.sent,
				FirstByte: x.first,
				Done:      x.done, Answered: true, Outcome: x.outcome})
	}
	tl.Header.Ended = tl.End()
	limit, o := mustLimit(t, spec), Options{SkipMeasure: true}
	j, err := Judge(tl, limit, o)
	if err != nil {
		t.Fatal(err)
	}
	s := streamed(t, tl, limit, o, inTurnCaps)
	if j.Verdict != result.Fail || s.Verdict != result.Fail {
		t.Fatalf("%s: %v, as a stream %v, want fail", spec, j.Verdict, s.Verdict)
	}
	return j.Partitions[0].Findings[0].Text, s.Partitions[0].Findings[0].Text
}

const (
	yes = timeline.Allowed
	no  = timeline.Denied
)

// TestChargesAreNotAddedUp: two charges possible at different instants of long intervals are not counted as
// charged together.
func TestChargesAreNotAddedUp(t *testing.T) {
	want := "request #4 was allowed although less than one unit was left: " +
		"at least 2 of 2 units were charged before it"
	spec := "sliding-window-log,rate=2/10ns,charge=completion,hold=30ns..31ns + " +
		"fixed-window,rate=100/1us,phase=0s"
	whole, stream := says(t, spec, told{65, 65, 95, yes, 1}, told{66, 66, 96, yes, 1},
		told{72, 72, 102, yes, 1}, told{73, 73, 103, yes, 1}, told{100, 109, 139, yes, 1})
	if whole != want || stream != want {
		t.Errorf("%s\nas a stream: %s\nwant %s", whole, stream, want)
	}
}

// TestChargesInsideADenial: what may be charged while the denial was decided counts for a range of windows as
// for a single one.
func TestChargesInsideADenial(t *testing.T) {
	for _, per := range []string{"12ns", "10ns..12ns"} {
		want := "request #1 denied at 0.000000 s .. 0.000000 s; at most 1 of 2 units could have been charged"
		whole, stream := says(t, "sliding-window-log,rate=2/"+per+",charge=completion,hold=5ns..8ns",
			told{0, 0, 9, yes, 1}, told{1, 9, 9, no, 1})
		if whole != want || stream != want {
			t.Errorf("%s: %s\nas a stream: %s\nwant %s", per, whole, stream, want)
		}
	}
}

// TestWhatIsNotKnownWasNotAdmitted: where too many were admitted together, a request whose answer is not
// known is none of them.
func TestWhatIsNotKnownWasNotAdmitted(t *testing.T) {
	tl := &timeline.Timeline{}
	for i, outcome := range []timeline.Outcome{yes, timeline.Unknown, yes} {
		tl.Observations = append(tl.Observations,
			timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 3}, Answered: true,
				Outcome: outcome})
	}
	limit := mustLimit(t, "token-bucket,rate=1/s,burst=5,count=all")
	c := NewCase(history.RecordingOf(tl), limit, Options{})
	p := c.Parts[0]
	f := c.Describe(p, []*limiter.Breach{search.Together(p.Histories[0].All)}, p.Histories[0].All, c.Limit[0],
		history.Interval{}, 0)
	if want := "6 units allowed within 0.000 s; no order and no decision times admit more than 5 of " +
		"them"; f.Kind != result.OverAdmission || f.Seen != 6 || f.Text != want {
		t.Errorf("%s, %d units: %s\nwant %s", f.Kind, f.Seen, f.Text, want)
	}
}

// TestWhoFoundNoRoom: the finding names the admission that found no room, not what came first. It does so for
// several policies too.
func TestWhoFoundNoRoom(t *testing.T) {
	for _, c := range []struct {
		spec, want string
		all        []told
	}{
		{"sliding-window-log,rate=2/10ns,count=all",
			"request #3 was allowed although at least 2 of 2 units were counted before it",
			[]told{{0, 0, 0, yes, 1}, {5, 5, 5, no, 2}, {8, 8, 8, no, 2}, {12, 12, 12, yes, 1}}},
		{"fixed-window,rate=2/100ns,phase=0s,count=all",
			"request #2 was allowed although at least 2 of 2 units were counted before it",
			[]told{{1, 1, 1, yes, 1}, {2, 2, 2, no, 2}, {3, 3, 3, yes, 1}}},
		{"fixed-window,rate=2/100ns,align=first,refresh=all,count=all",
			"request #2 was allowed although at least 2 of 2 units were counted before it",
			[]told{{1, 1, 1, yes, 1}, {2, 2, 2, no, 2}, {3, 3, 3, yes, 1}}},
		{"concurrency,limit=1,hold=10ns..",
			"request #1 was admitted although at least 1 of 1 places were taken at every instant when it " +
				"may have been",
			[]told{{0, 0, 20, yes, 1}, {1, 2, 11, yes, 1}}},
		{"fixed-window,rate=2/100ns,phase=0s,charge=completion,hold=0s..1ns",
			"request #2 was allowed although less than one unit was left: " +
				"at least 2 of 2 units were charged before it",
			[]told{{1, 1, 1, yes, 1}, {3, 3, 3, yes, 1}, {9, 9, 9, yes, 1}}},
	} {
		for _, spec := range []string{c.spec, c.spec + " + fixed-window,rate=100/1us,phase=0s"} {
			if whole, stream := says(t, spec, c.all...); whole != c.want || stream != c.want {
				t.Errorf("%s:\n%s\nas a stream: %s\nwant %s", spec, whole, stream, c.want)
			}
		}
	}
}

// TestFindingsKeepTheirOrder: a limit is broken on both sides. A stream reports the over-admission first,
// every time.
func TestFindingsKeepTheirOrder(t *testing.T) {
	want := "request #3 was allowed although at least 2 of 2 units were counted before it"
	for range 40 {
		_, stream := says(t, "sliding-window-log,rate=2/10ns,count=all", told{0, 0, 0, yes, 1},
			told{5, 5, 5, no, 1}, told{8, 8, 8, no, 1}, told{12, 12, 12, yes, 1})
		if stream != want {
			t.Fatalf("%s\nwant %s", stream, want)
		}
	}
}

// TestRequestsAreNotUnits: the finding counts requests that are explained together, not their units.
func TestRequestsAreNotUnits(t *testing.T) {
	tl := &timeline.Timeline{}
	for i, outcome := range []timeline.Outcome{yes, no, yes} {
		tl.Observations = append(tl.Observations,
			timeline.Observation{Arrival: timeline.Arrival{Seq: i, Cost: 3}, Answered: true,
				Outcome: outcome})
	}
	c := NewCase(history.RecordingOf(tl), mustLimit(t, "token-bucket,rate=1/s,burst=5"), Options{})
	p := c.Parts[0]
	f := c.Describe(p, []*limiter.Breach{search.Together(p.Histories[0].All)}, p.Histories[0].All, c.Limit[0],
		history.Interval{}, 0)
	if want := "no order and no decision times explain 3 requests within 0.000 s together: 2 allowed, 1 " +
		"denied"; f.Text != want {
		t.Errorf("%s\nwant %s", f.Text, want)
	}
}

// TestSinceABucketWasCreated: a span may begin with a request that was denied or whose answer is not known.
// The finding still tells the span, for one policy and for several. With several it may list more requests,
// since the units that it names still count.
func TestSinceABucketWasCreated(t *testing.T) {
	const want = "1 request allowed within 0.003 s; at most 0 + floor(1/4ms * 0.003 s) = 0 are possible"
	at := func(ms time.Duration, outcome timeline.Outcome) told {
		return told{ms * time.Millisecond, ms * time.Millisecond, ms * time.Millisecond, outcome, 1}
	}
	for _, spec := range []string{"token-bucket,rate=1/4ms,burst=5,start=empty",
		"token-bucket,rate=1/4ms,burst=5,start=empty + fixed-window,rate=100/1s,phase=0s"} {
		slow := at(1, yes)
		slow.first, slow.done = 9*time.Millisecond, 9*time.Millisecond
		if whole, stream := says(t, spec, at(0, no), slow, at(3, yes), at(4, yes)); whole != want ||
			stream != want {
			t.Errorf("%s:\n%s\nas a stream: %s\nwant %s", spec, whole, stream, want)
		}
	}
}

// TestWhoWasTooDear: the finding names the request that cost too much, though others of its witness were
// admitted after it.
func TestWhoWasTooDear(t *testing.T) {
	const want = "request #0 of cost 7 was allowed; a full start admits 5"
	for _, spec := range []string{"token-bucket,rate=1/4ms,burst=5,start=1",
		"token-bucket,rate=1/4ms,burst=5,refill=interval,fill=1 + fixed-window,rate=100/1s,phase=0s"} {
		if whole, stream := says(t, spec, told{0, 10, 10, yes, 7}, told{2, 3, 3, yes, 1}); whole != want ||
			stream != want {
			t.Errorf("%s:\n%s\nas a stream: %s\nwant %s", spec, whole, stream, want)
		}
	}
}
