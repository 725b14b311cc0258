package report

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// windowed is a scenario under a limit with windows, with the answers of a target that keeps it. It has a
// finding in its first 20 ms.
func windowed(t *testing.T, spec string) result.Scenario {
	t.Helper()
	d := Dice(4)
	_, tl := observed(t, spec, &d, time.Date(2026, 11, 20, 10, 0, 0, 420_000_000, time.UTC))
	s := SampleScenario(t, "windows", "A title", spec, tl)
	f := result.Finding{Kind: result.OverAdmission, Text: "too many"}
	f.From, f.To = 2*time.Second, 2*time.Second+20*time.Millisecond
	for i := range tl.Observations {
		if o := &tl.Observations[i]; o.FirstByte >= f.From && o.Sent <= f.To {
			f.Observations = append(f.Observations, o.Seq)
		}
	}
	s.Verdict = result.Fail
	s.Judgement = &result.Judgement{Verdict: result.Fail, Partitions: []result.PartitionVerdict{
		{Verdict: result.Fail, Findings: []result.Finding{f}}}}
	return s
}

func TestWhereWindowsBeginIsDrawn(t *testing.T) {
	for spec, want := range map[string]string{
		"fixed-window,rate=8/2s,align=clock":           "(by the target&#39;s clock)",
		"fixed-window,rate=8/700ms,phase=200ms":        "a window begins at 0.900000 s (declared)",
		"fixed-window,rate=8/700ms,phase=200ms..260ms": "begins at 1.600000 s .. 1.660000 s (declared)",
		"fixed-window,rate=8/700ms,align=first":        "(opened by requests)",
		"fixed-window,rate=8/10us,phase=2us":           "windows of 10 µs are too short to be drawn",
	} {
		s := windowed(t, spec)
		if strings.Contains(spec, "clock") {
			s.Header.WallError = 400 * time.Millisecond
			want = "a window begins at 1.180000 s .. 1.980000 s (by the target&#39;s clock)"
		}
		page := drawn(s)
		if !strings.Contains(page, want) {
			t.Errorf("%s: the page does not say %q", spec, want)
		}
	}
	s := windowed(t, "fixed-window,rate=8/700ms,align=unknown")
	s.Verdict = result.Pass
	s.Judgement = &result.Judgement{Verdict: result.Pass, Partitions: []result.PartitionVerdict{
		{Verdict: result.Pass, Measured: result.Measured{Phase: Between(100e6, 110e6)}}}}
	page := drawn(s)
	if !strings.Contains(page, "a window begins at 0.800000 s .. 0.810000 s (measured)") {
		t.Error("where windows begin was measured, and is not drawn")
	}
}

// TestTheLineOfTheBoundIsTheQuota: the line that nothing may cross is the quota, wherever windows begin.
func TestTheLineOfTheBoundIsTheQuota(t *testing.T) {
	for _, spec := range chartedSpecs {
		if l := Limit(t, spec); len(l) > 1 || !l[0].Windowed() {
			continue
		}
		s := windowed(t, spec)
		u := viewOf(&s, s.Limit, s.Timeline.ByPartition()[0], newClock(s.Timeline)).use
		if w, _ := windowsOf(&s, 0, s.Timeline.ByPartition()[0]); w.Begin.From < 0 ||
			w.Begin.From >= w.Every {
			t.Errorf("%s: windows begin at %v, want the first in the recording", spec, w.Begin)
		}
		if u.most != 8 {
			t.Errorf("%s: the bound is %v, want the quota of 8", spec, u.most)
		}
		page := drawn(s)
		if strings.Contains(spec, "unknown") {
			if !strings.Contains(page, "no chart of the units in use: where windows begin is not known") {
				t.Errorf("%s: it is not said why nothing is drawn", spec)
			}
			continue
		}
		if !strings.Contains(page, ">quota 8</text>") || strings.Contains(page, "two windows") {
			t.Errorf("%s: the quota does not stand at the line", spec)
		}
	}
}

// TestWhatIsLeftOutIsTold: the page names what is not drawn.
func TestWhatIsLeftOutIsTold(t *testing.T) {
	for spec, want := range map[string]string{
		"token-bucket,rate=10/s,burst=40,ttl=1s":            "when the limiter forgot a client (ttl)",
		"token-bucket,rate=10/s,burst=40,charge=completion": "when requests were complete",
		"concurrency,limit=10":                              "when requests were complete",
		"fixed-window,rate=8/600ms..700ms":                  "in use: the length of the windows is a range",
	} {
		s := SampleScenario(t, "x", "A title", spec, Record(1, 40, 100))
		if page := drawn(s); !strings.Contains(page, want) {
			t.Errorf("%s: the page does not say %q", spec, want)
		}
	}
	s := SampleScenario(t, "x", "A title", "token-bucket,rate=10/s,burst=40", Record(1, 40, 100))
	s.Limits = map[string]spec.Limit{"burst": nil}
	page := drawn(s)
	if !strings.Contains(page, "1 × no limit is declared for some of the requests") {
		t.Error("the page does not say why a partition is not drawn")
	}
	page = drawn(Unknown(t))
	told := strings.Contains(page, "1 × no request was allowed or denied")
	if !told || strings.Contains(page, "against its limit</title>") {
		t.Error("a partition without a decision is drawn, or it is not said that it is not")
	}
}

// TestAShortWitnessIsDrawnNear: a witness of 20 ms in a recording of seconds is also drawn enlarged, with the
// numbers of the recording.
func TestAShortWitnessIsDrawnNear(t *testing.T) {
	s := windowed(t, "fixed-window,rate=8/700ms,phase=200ms")
	s.Timeline.Header.Ended, s.Header.Ended = time.Minute, time.Minute
	page := drawn(s)
	for _, want := range []string{`id="s1-p0z-t"`, "the time of the witness", ">2.01 s</text>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has not %q", want)
		}
	}
	long := Record(1, 21, 100)
	f := result.Finding{From: 0, To: long.End()}
	v := witnessView{f: &f, in: map[int]bool{}}
	for i := range long.Observations {
		v.near, v.in[i] = append(v.near, &long.Observations[i]), true
	}
	zooms := v.zooms()
	if len(zooms) != 2 || zooms[0].To > 10*time.Millisecond || zooms[1].From < time.Second {
		t.Errorf("got the parts %v, want those of the burst and of the overload", zooms)
	}
}

// TestTextsOfPicturesStayApart: every text of a picture lies inside it, and no two overlap.
func TestTextsOfPicturesStayApart(t *testing.T) {
	runs := SampleRuns(t)
	for i, spec := range append(slices.Clone(chartedSpecs), "fixed-window,rate=8/2s,align=unknown") {
		runs[fmt.Sprint("windowed", i)] = SampleRun(windowed(t, spec))
	}
	tail := Load(300) // the median lies far to the left, the slowest to the right
	for i := range tail.Observations {
		tail.Observations[i].FirstByte = tail.Observations[i].Sent + 1200*time.Microsecond
		if i%100 == 0 {
			tail.Observations[i].FirstByte += 210 * time.Millisecond
		}
	}
	runs["tail"] = SampleRun(SampleScenario(t, "x", "A title", "token-bucket,rate=10/s,burst=40", tail))
	for name, r := range runs {
		for _, d := range drawingsOf(t, drawn(r.Scenarios...)) {
			for i, a := range d.texts {
				if a.from < -2 || a.to > d.width+2 {
					t.Errorf("%s: %q leaves its picture", name, a.text)
				}
				for _, b := range d.texts[:i] {
					if math.Abs(a.y-b.y) < 9 && a.from < b.to && b.from < a.to {
						t.Errorf("%s: %q runs into %q", name, a.text, b.text)
					}
				}
			}
		}
	}
}

// written is a text of a picture and about where it lies.
type written struct {
	text        string
	from, to, y float64
}

type pictured struct {
	width float64
	texts []written
}

// drawingsOf reads the pictures of a page. It takes a letter to be 5.3 units wide.
func drawingsOf(t *testing.T, page string) (out []pictured) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	d.AutoClose, d.Entity, d.Strict = xml.HTMLAutoClose, xml.HTMLEntity, false
	attr := func(x xml.StartElement, name string) string {
		for _, a := range x.Attr {
			if a.Name.Local == name {
				return a.Value
			}
		}
		return ""
	}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		x, ok := token.(xml.StartElement)
		switch {
		case ok && x.Name.Local == "svg":
			box := strings.Fields(attr(x, "viewBox") + " 0 0 0 0")
			w, _ := strconv.ParseFloat(box[2], 64)
			out = append(out, pictured{width: w})
		case ok && x.Name.Local == "text":
			var text string
			if err := d.DecodeElement(&text, &x); err != nil {
				t.Fatal(err)
			}
			at, _ := strconv.ParseFloat(attr(x, "x"), 64)
			y, _ := strconv.ParseFloat(attr(x, "y"), 64)
			wide := float64(len([]rune(text))) * 5.3
			from := at - wide*map[string]float64{"start": 0, "middle": 0.5, "end": 1}[attr(x, "text-anchor")]
			last := &out[len(out)-1]
			last.texts = append(last.texts, written{text, from, from + wide, y})
		}
	}
}
