package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// drawn returns all pictures of some scenarios, and why partitions are not drawn.
func drawn(scenarios ...result.Scenario) string {
	var b strings.Builder
	for i := range scenarios {
		s := &scenarios[i]
		id := fmt.Sprintf("s%d", i+1)
		b.WriteString(string(drawLatency(id+"-l", s)))
		if s.Timeline == nil || len(s.Timeline.Observations) == 0 {
			continue
		}
		p := drawRecording(id, s)
		for _, x := range slices.Concat(p.Time, p.Witness, p.Parts) {
			b.WriteString(string(x))
		}
		for why, n := range p.Left {
			fmt.Fprintf(&b, "%d × %s\n", n, why)
		}
	}
	return b.String()
}

func TestBinsCountEveryObservation(t *testing.T) {
	tl := Load(2_003)
	bins, width := binned(tl, newClock(tl))
	var got timeline.Counts
	for _, b := range bins {
		n := 0
		for i := range tl.Observations {
			if at := tl.Observations[i].Sent; at >= b.from && at < b.from+width {
				n++
			}
		}
		if b.total != n {
			t.Errorf("bin from %v: got %d requests, want %d", b.from, b.total, n)
		}
		got.Allowed += b.n[timeline.Allowed]
		got.Denied += b.n[timeline.Denied]
		got.Unknown += b.n[timeline.Unknown]
		got.Sent += b.total
	}
	got.Planned = got.Sent
	if want := tl.Counts(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if len(bins) > mostBins+1 {
		t.Errorf("got %d bins, want at most %d", len(bins), mostBins+1)
	}
}

func TestOverAdmissionIsDrawn(t *testing.T) {
	s := Failing(t)
	part := s.Timeline.ByPartition()[0]
	u := viewOf(&s, s.Limit, part, newClock(s.Timeline)).use
	if got := peak(u.points); got <= u.most || u.most != 20 {
		t.Errorf("in use: got at most %v of %v, want over 20: the page would not show the failure", got,
			u.most)
	}
}

func TestWitnessChartLeavesOutTheMiddle(t *testing.T) {
	tl := Load(6000)
	failing := Failing(t)
	f := failing.Findings()[0]
	f.Observations, f.From, f.To = nil, 0, time.Minute
	part := timeline.Part{Observations: tl.Observations}
	for i := range 1000 {
		f.Observations = append(f.Observations, i)
	}
	near, left := nearby(&f, part.Observations)
	if len(near) != mostRows || left != 1000+mostRows/4-mostRows {
		t.Errorf("got %d rows and %d left out, want %d and %d", len(near), left, mostRows,
			1000+mostRows/4-mostRows)
	}
	got := string(witness("w", newClock(tl), &f, part, windows{}))
	if !strings.Contains(got, "700 requests in the middle not drawn") {
		t.Error("the chart does not say what it leaves out")
	}
}

// TestTheLastPhaseHasAName: a phase that begins at the right edge, as a last burst does, has its name left of
// its line.
func TestTheLastPhaseHasAName(t *testing.T) {
	s := Passing(t)
	last := &s.Timeline.Observations[len(s.Timeline.Observations)-1]
	last.Phase = "full-again"
	if page := drawn(s); !strings.Contains(page,
		`text-anchor="end">full-again</text>`) {
		t.Error("the name of the last phase is left out")
	}
}
