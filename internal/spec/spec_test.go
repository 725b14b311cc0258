package spec

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestParse checks what SPECs mean: the defaults, every key, and every way to write a rate.
func TestParse(t *testing.T) {
	base := func(a Algorithm, rate Rate, change func(*Policy)) Policy {
		p := Policy{Algorithm: a, Rate: rate, Start: StartFull, Count: CountAdmitted,
			Refill:   RefillContinuous,
			Rounding: RoundNone, Boundary: HalfOpen}
		if p.Windowed() {
			p.Align = AlignClock
		}
		if a == FixedWindow {
			p.Refresh = RefreshNone
		}
		if a != LeakyBucketQueue && a != Concurrency {
			p.Charge = ChargeDecision
		}
		if change != nil {
			change(&p)
		}
		p.Burst = p.Full()
		return p
	}
	perSecond := Rate{10, time.Second}
	for _, c := range []struct {
		spec string
		want Limit
	}{
		{"token-bucket,rate=10/s,burst=20",
			Limit{base(TokenBucket, perSecond, func(p *Policy) { p.Burst = 20 })}},
		{" gcra , rate = 100/1m , burst = 5 ",
			Limit{base(GCRA, Rate{100, time.Minute}, func(p *Policy) { p.Burst = 5 })}},
		{"leaky-bucket,rate=10r/s,burst=1",
			Limit{base(LeakyBucket, perSecond, func(p *Policy) { p.Burst = 1 })}},
		{"leaky-bucket-queue,rate=10/s,queue=50",
			Limit{base(LeakyBucketQueue, perSecond, func(p *Policy) { p.Queue = 50 })}},
		{"leaky-bucket-queue,rate=10/s,queue=50,undelayed=8,start=empty",
			Limit{base(LeakyBucketQueue, perSecond,
				func(p *Policy) { p.Queue, p.Undelayed, p.Start = 50, 8, StartEmpty })}},
		{"fixed-window,rate=100/1m", Limit{base(FixedWindow, Rate{100, time.Minute}, nil)}},
		{"fixed-window,rate=7/d,align=first,count=all", Limit{base(FixedWindow, Rate{7, day},
			func(p *Policy) { p.Align, p.Count = AlignFirst, CountAll })}},
		{"fixed-window,rate=7/h,slots=60,phase=59s", Limit{base(SlidingWindowLog, Rate{7, time.Hour},
			func(p *Policy) { p.Tick, p.TickSet = time.Minute, true })}},
		{"fixed-window,rate=7/h,slots=60,tick=1s", Limit{base(SlidingWindowLog, Rate{7, time.Hour},
			func(p *Policy) { p.Tick, p.TickSet = time.Minute, true })}},
		{"fixed-window,rate=7/h,slots=1", Limit{base(FixedWindow, Rate{7, time.Hour}, nil)}},
		{"fixed-window,rate=7/h,align=first,refresh=admitted", Limit{base(FixedWindow, Rate{7, time.Hour},
			func(p *Policy) { p.Align, p.Refresh = AlignFirst, RefreshAdmitted })}},
		{"fixed-window,rate=7/h,align=first,refresh=none,count=all",
			Limit{base(FixedWindow, Rate{7, time.Hour},
				func(p *Policy) { p.Align, p.Count = AlignFirst, CountAll })}},
		{"fixed-window,rate=7/h,align=shared",
			Limit{base(FixedWindow, Rate{7, time.Hour}, func(p *Policy) { p.Align = AlignShared })}},
		{"fixed-window,rate=7/h,phase=59m", Limit{base(FixedWindow, Rate{7, time.Hour},
			func(p *Policy) {
				p.Align, p.PhaseFrom, p.PhaseTo = AlignPhase, 59*time.Minute,
					59*time.Minute
			})}},
		{"fixed-window,rate=7/h,phase=0s..59m", Limit{base(FixedWindow, Rate{7, time.Hour},
			func(p *Policy) { p.Align, p.PhaseTo = AlignPhase, 59*time.Minute })}},
		{"sliding-window-log,rate=3/1d12h,boundary=closed",
			Limit{base(SlidingWindowLog, Rate{3, 36 * time.Hour},
				func(p *Policy) { p.Boundary = Closed })}},
		{"sliding-window-counter,rate=3/ms,rounding=nearest,align=unknown", Limit{base(SlidingWindowCounter,
			Rate{3, time.Millisecond},
			func(p *Policy) { p.Rounding, p.Align = RoundNearest, AlignUnknown })}},
		{"token-bucket,rate=6/1m30s,burst=2,refill=interval,fill=6,tick=0s,ban=1h", Limit{base(TokenBucket,
			Rate{6, 90 * time.Second}, func(p *Policy) {
				p.Burst, p.Refill, p.Fill, p.TickSet, p.Ban = 2, RefillInterval, 6, true, time.Hour
			})}},
		{"concurrency,limit=7", Limit{base(Concurrency, Rate{7, time.Second}, nil)}},
		{"concurrency,limit=7,hold=50ms..,linger=0s", Limit{base(Concurrency, Rate{7, 50 * time.Millisecond},
			func(p *Policy) { p.HoldLeast, p.LingerSet = 50*time.Millisecond, true })}},
		{"fixed-window,rate=7/h,charge=completion,hold=0s..2s,linger=10ms",
			Limit{base(FixedWindow, Rate{7, time.Hour},
				func(p *Policy) {
					p.Charge, p.HoldMost, p.Linger, p.LingerSet = ChargeCompletion, 2*time.Second,
						10*time.Millisecond, true
				})}},
		{"concurrency,limit=7,hold=50ms..2s + gcra,rate=10/s,burst=1,charge=decision", Limit{
			base(Concurrency, Rate{7, 2 * time.Second},
				func(p *Policy) { p.HoldLeast, p.HoldMost = 50*time.Millisecond, 2*time.Second }),
			base(GCRA, perSecond, func(p *Policy) { p.Burst = 1 })}},
		{"gcra,rate=10/second,burst=1,tick=1ms+fixed-window,rate=1000/hour", Limit{
			base(GCRA, perSecond, func(p *Policy) { p.Burst, p.Tick, p.TickSet = 1, time.Millisecond, true }),
			base(FixedWindow, Rate{1000, time.Hour}, nil)}},
	} {
		got, err := Parse(c.spec)
		if err != nil {
			t.Errorf("Parse(%q): %v", c.spec, err)
		} else if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("Parse(%q): -want +got\n%s", c.spec, diff)
		}
	}
}

// TestParseErrors compares every refusal with testdata/errors.txt: a SPEC after ">", then its errors.
// REFERENCE_REWRITE=1 writes the file anew; read the difference.
func TestParseErrors(t *testing.T) {
	const file = "testdata/errors.txt"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for line := range strings.Lines(string(data)) {
		spec, isSpec := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "> ")
		if !isSpec {
			if strings.HasPrefix(line, "#") || line == "\n" {
				got.WriteString(line)
			}
			continue
		}
		limit, err := Parse(spec)
		var p *ParseError
		if !errors.As(err, &p) {
			t.Errorf("Parse(%q): got %v and error %v, want a *ParseError", spec, limit, err)
			continue
		}
		fmt.Fprintf(&got, "> %s\n%v\n", spec, err)
	}
	if os.Getenv("REFERENCE_REWRITE") == "1" {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(data), got.String()); diff != "" {
		t.Errorf("%s: -want +got\n%s", file, diff)
	}
}

// TestBuildPlacesErrors checks that each mistake in separate pairs is reported at its pair.
func TestBuildPlacesErrors(t *testing.T) {
	_, wrong := Build("gcra", []Pair{{"rate", "10"}, {"brust", "5"}, {"rounding", "up"}, {"tick", "1"},
		{"tick", "1s"}})
	type place struct {
		pair    int
		inValue bool
		what    string
	}
	var got []place
	for _, w := range wrong {
		got = append(got, place{w.Pair, w.InValue, w.What})
	}
	want := []place{
		{0, true, `rate "10"`}, {1, false, `key "brust"`}, {2, false, `key "rounding"`},
		{3, true, `tick "1"`},
		{4, false, `key "tick"`},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(place{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if _, wrong = Build("fixed-window", nil); len(wrong) != 1 || wrong[0].Pair != -1 {
		t.Errorf("a limit without a rate: got %+v, want one error at the algorithm", wrong)
	}
}

// TestParseDuration checks which durations are read and which are refused.
func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0s": 0, "1ns": 1, "1.5s": 1500 * time.Millisecond, "1m30s": 90 * time.Second, "7d": 7 * day,
		"1d2h":    26 * time.Hour,
		"106751d": 106751 * day, "100us": 100 * time.Microsecond, "100µs": 100 * time.Microsecond,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("ParseDuration(%q): got %v, %v, want %v", text, got, err, want)
		}
	}
	for text, mend := range map[string]string{
		"": "", "0": `write "0s"`, "10": `write "10s"`, "1.5": `write "1.5s"`, "-1s": `write "1s"`,
		"+1s":  `write "1s"`,
		"10 s": `write "10s"`, "10 seconds": `write "10s"`, "2 Minutes": `write "2m"`, "s": `write "1s"`,
		"d":     `write "1d"`,
		"1d-1h": "", "1d0": `write "1d0s"`, "1.5d": "", "106752d": "", "106751d23h59m": "",
		"99999999999999999999d": "", "1x": "",
		"1h1d": "", "ten": "", "1e3s": "",
	} {
		got, err := ParseDuration(text)
		var p *Problem
		if !errors.As(err, &p) {
			t.Errorf("ParseDuration(%q): got %v and error %v, want a *Problem", text, got, err)
		} else if p.Mend != mend {
			t.Errorf("ParseDuration(%q): got mend %q, want %q (%v)", text, p.Mend, mend, p)
		}
	}
}

// TestMendsMend checks that every mend that says what to write instead is a SPEC that is accepted.
func TestMendsMend(t *testing.T) {
	mends := 0
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringMatching(`[0-9]{0,3}(\.[0-9]{1,3})?r?(/| per |..)?[0-9]{0,2}(s|sec|seconds|M|min| day|us|month|x|)`).
			Draw(rt, "rate")
		_, err := ParseRate(text)
		var p *Problem
		if errors.As(err, &p) && p.Mend != "" {
			mends++
			mended := strings.TrimSuffix(strings.TrimPrefix(p.Mend, `write "`), `"`)
			if _, err := ParseRate(mended); err != nil {
				rt.Fatalf("ParseRate(%q): mend %q: %v", text, p.Mend, err)
			}
		}
	})
	if mends == 0 {
		t.Error("no text had a mend")
	}
}

// drawPolicy draws any policy that can be built.
func drawPolicy(rt *rapid.T) Policy {
	p := Policy{
		Algorithm: rapid.SampledFrom(Algorithms()).Draw(rt, "algorithm"),
		Rate: Rate{rapid.Int64Range(1, 1000).Draw(rt, "n"),
			time.Duration(rapid.Int64Range(1, 1e15).Draw(rt, "per"))},
		Tick: rapid.SampledFrom([]time.Duration{0, 0, 1, 1500, time.Second}).Draw(rt, "tick"),
		Bans: Bans{Ban: rapid.SampledFrom([]time.Duration{0, 0, 7, 25 * time.Hour}).Draw(rt, "ban")},
	}
	p.TickSet = p.Tick > 0 || rapid.Bool().Draw(rt, "tick set")
	if p.Algorithm == Concurrency {
		p = Policy{Algorithm: Concurrency, Rate: Rate{p.Rate.N, 0}}
		drawHold(rt, &p)
		p.Rate.Per = servedIn(p)
		return p
	}
	switch {
	case p.Algorithm == LeakyBucketQueue:
		p.Queue = rapid.Int64Range(0, 1000).Draw(rt, "queue")
		p.Undelayed = rapid.Int64Range(0, p.Queue).Draw(rt, "undelayed")
	case p.Windowed():
		p.Align = rapid.SampledFrom([]Align{AlignClock, AlignFirst, AlignUnknown, AlignShared,
			AlignPhase}).Draw(rt, "align")
		if p.Algorithm == FixedWindow && p.Align == AlignFirst {
			p.Refresh = rapid.SampledFrom([]Refresh{"", RefreshNone, RefreshAdmitted, RefreshAll}).Draw(rt,
				"refresh")
		}
		if p.Align == AlignPhase {
			p.PhaseTo = time.Duration(rapid.Int64Range(0, int64(p.Rate.Per)-1).Draw(rt, "to"))
			p.PhaseFrom = time.Duration(rapid.Int64Range(0, int64(p.PhaseTo)).Draw(rt, "from"))
		}
	case p.Algorithm != SlidingWindowLog:
		p.Burst = rapid.Int64Range(1, 1000).Draw(rt, "burst")
		p.Start = rapid.SampledFrom([]Start{"", StartFull, StartEmpty, StartUnknown}).Draw(rt, "start")
		if p.Burst > 2 && rapid.Bool().Draw(rt, "level") {
			p.Start, p.Level = StartLevel, rapid.Int64Range(1, p.Burst-1).Draw(rt, "least")
			if to := rapid.Int64Range(p.Level, p.Burst).Draw(rt, "most"); to > p.Level {
				p.LevelTo = to
			}
		}
		if p.Algorithm != GCRA && rapid.Bool().Draw(rt, "interval") {
			p.Refill, p.Fill = RefillInterval, rapid.Int64Range(1, 100).Draw(rt, "fill")
		}
	}
	if p.Algorithm == SlidingWindowLog {
		p.Boundary = rapid.SampledFrom([]Boundary{"", HalfOpen, Closed}).Draw(rt, "boundary")
	}
	if p.Algorithm == SlidingWindowCounter {
		p.Rounding = rapid.SampledFrom([]Rounding{"", RoundDown, RoundUp, RoundNearest}).Draw(rt, "rounding")
	}
	if p.Algorithm != LeakyBucketQueue {
		p.Count = rapid.SampledFrom([]Count{"", CountAdmitted, CountAll}).Draw(rt, "count")
	}
	drawCharge(rt, &p)
	return p
}

// drawCharge makes some of the policies that allow it charge at completion.
func drawCharge(rt *rapid.T, p *Policy) {
	if p.Algorithm == LeakyBucketQueue || p.Count == CountAll || p.Ban > 0 || p.Align == AlignFirst ||
		p.Refill == RefillInterval ||
		p.Start != "" && p.Start != StartFull || rapid.Bool().Draw(rt, "charged at the decision") {
		return
	}
	p.Charge = ChargeCompletion
	drawHold(rt, p)
}

func drawHold(rt *rapid.T, p *Policy) {
	p.HoldLeast = rapid.SampledFrom([]time.Duration{0, 7, 25 * time.Millisecond}).Draw(rt, "least")
	p.HoldMost = rapid.SampledFrom([]time.Duration{0, 25 * time.Millisecond, time.Hour}).Draw(rt, "most")
	p.Linger = rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(rt, "linger")
	p.LingerSet = p.Linger > 0 || rapid.Bool().Draw(rt, "linger set")
}

// TestPrintAndParse checks that a printed policy is read back as it was, has no default, and is printed the
// same again. New must accept every policy that can be written.
func TestPrintAndParse(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var limit Limit
		for range rapid.IntRange(1, 3).Draw(rt, "policies") {
			limit = append(limit, drawPolicy(rt))
		}
		text := limit.String()
		first, err := Parse(text)
		if err != nil {
			rt.Fatalf("Parse(%q): %v", text, err)
		}
		if got := first.String(); got != text {
			rt.Fatalf("printed %q, then %q", text, got)
		}
		for i, p := range first {
			want := limit[i]
			if p.Algorithm != want.Algorithm || p.Rate != want.Rate || p.Full() != want.Full() ||
				p.Queue != want.Queue ||
				p.Undelayed != want.Undelayed || p.PhaseFrom != want.PhaseFrom || p.PhaseTo != want.PhaseTo ||
				p.Align != want.Align || p.Refreshes() != want.Refreshes() ||
				p.Fill != want.Fill || p.Tick != want.Tick || p.TickSet != want.TickSet ||
				p.Ban != want.Ban || p.Completes() != want.Completes() || p.HoldLeast != want.HoldLeast ||
				p.HoldMost != want.HoldMost ||
				p.Linger != want.Linger || p.LingerSet != want.LingerSet {
				rt.Fatalf("%q: got %+v, want %+v", text, p, want)
			}
			for _, zero := range []string{"start=full", "count=admitted", "refresh=none", "refill=continuous",
				"rounding=none", "half-open", "charge=decision"} {
				if strings.Contains(text, zero) {
					rt.Fatalf("%q prints the default %s", text, zero)
				}
			}
		}
		second, err := Parse(first.String())
		if err != nil || cmp.Diff(first, second) != "" {
			rt.Fatalf("%q, read twice: %v\n%s", text, err, cmp.Diff(first, second))
		}
	})
}

// FuzzParse reads any text without a panic. Every error has a column inside the SPEC and says why. What is
// read is printed and read back as it was.
func FuzzParse(f *testing.F) {
	for _, a := range Algorithms() {
		f.Add(string(a) + ",rate=10/s,burst=20")
		f.Add(string(a) + ",rate=10/s & " + string(a) + ",rate=1000/1h,ban=1m")
	}
	if data, err := os.ReadFile("testdata/errors.txt"); err == nil {
		for line := range strings.Lines(string(data)) {
			if spec, found := strings.CutPrefix(line, "> "); found {
				f.Add(strings.TrimSuffix(spec, "\n"))
			}
		}
	}
	f.Fuzz(func(t *testing.T, spec string) {
		limit, err := Parse(spec)
		if err != nil {
			var p *ParseError
			if !errors.As(err, &p) || len(p.Problems) == 0 || p.Error() == "" || limit != nil {
				t.Fatalf("Parse(%q): got %v, %#v, want only a *ParseError", spec, limit, err)
			}
			for i, e := range p.Problems {
				if e.Column < 1 || e.Column > len(spec)+1 || e.Why == "" || e.What == "" {
					t.Fatalf("Parse(%q): problem %+v has no place or no reason", spec, e)
				}
				if i > 0 && e.Column < p.Problems[i-1].Column {
					t.Fatalf("Parse(%q): problems are not in order: %v", spec, err)
				}
			}
			return
		}
		again, err := Parse(limit.String())
		if err != nil || cmp.Diff(limit, again) != "" {
			t.Fatalf("Parse(%q) printed %q: %v\n%s", spec, limit, err, cmp.Diff(limit, again))
		}
	})
}
