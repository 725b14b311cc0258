package check

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// fuzzSpecs are the limits that hostile recordings are judged under.
var fuzzSpecs = []string{
	"token-bucket,rate=10/s,burst=20", "gcra,rate=3/25ns,burst=2", "leaky-bucket,rate=1/12ns,burst=1",
	"token-bucket,rate=2/20ns,burst=3,refill=interval,fill=2", "token-bucket,rate=1/12ns,burst=2,start=empty",
	"token-bucket,rate=1/12ns,burst=2,start=unknown,count=all", "gcra,rate=1/1s,burst=4611686018",
	"token-bucket,rate=1/12ns,burst=2,ban=17ns", "leaky-bucket,rate=4611686018427387904/1ns,burst=4",
	"leaky-bucket-queue,rate=1/12ns,queue=1", "leaky-bucket-queue,rate=10/s,queue=50",
	"sliding-window-log,rate=2/16ns", "sliding-window-log,rate=100/1m,boundary=closed,count=all",
	"sliding-window-log,rate=3/3650d", "fixed-window,rate=2/20ns,phase=7ns",
	"fixed-window,rate=2/20ns,align=unknown", "fixed-window,rate=2/20ns,align=first",
	"fixed-window,rate=2/20ns,align=first,refresh=all",
	"fixed-window,rate=2/20ns,align=first,refresh=admitted,count=all",
	"fixed-window,rate=2/20ns,align=shared", "fixed-window,rate=2/20ns,slots=4",
	"fixed-window,rate=9/1h,slots=60,count=all", "fixed-window,rate=100/1m",
	"fixed-window,rate=4611686018427387904/1h", "fixed-window,rate=1/1ns,align=unknown",
	"fixed-window,rate=5/3650d,phase=1d..9d,count=all",
	"sliding-window-counter,rate=2/20ns,phase=7ns,rounding=up",
	"sliding-window-counter,rate=2/20ns,align=unknown",
	"sliding-window-counter,rate=2/20ns,align=first,count=all",
	"sliding-window-counter,rate=100/1m,rounding=nearest,tick=1s",
	"token-bucket,rate=1/12ns,burst=2 + sliding-window-log,rate=2/16ns",
	"fixed-window,rate=2/20ns,align=first + fixed-window,rate=9/1h",
}

// fuzzTimes are instants and costs for fuzzed recordings, besides what the random bytes say.
var fuzzTimes = []int64{0, 1, 7, 12, 16, 20, 60, 1000, 1e9, 60e9, 1 << 40, 1<<59 - 1, 1 << 59, 1 << 60,
	1<<61 - 1, 1 << 61, 1<<62 - 1, 1 << 62, 1<<63 - 1, -1, -20, -1 << 40, -1 << 62, -1 << 63}

// fuzzReader reads numbers from random bytes.
type fuzzReader struct{ rest []byte }

func (r *fuzzReader) byte() byte {
	if len(r.rest) == 0 {
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

// number is mostly small, sometimes one of fuzzTimes, sometimes anything.
func (r *fuzzReader) number() int64 {
	switch b := r.byte(); {
	case b < 0xc0:
		return int64(b)
	case b < 0xf8:
		return fuzzTimes[int(b-0xc0)%len(fuzzTimes)]
	default:
		var x [8]byte
		r.rest = r.rest[copy(x[:], r.rest):]
		return int64(binary.LittleEndian.Uint64(x[:]))
	}
}

// timeline makes a recording out of the bytes. It may be unsorted, repeat request numbers and lack answers.
func (r *fuzzReader) timeline() *timeline.Timeline {
	tl := &timeline.Timeline{}
	flags := r.byte()
	if flags&1 != 0 {
		tl.Header.Started = time.Unix(0, r.number())
		tl.Header.WallError = time.Duration(r.number())
	}
	if flags&2 != 0 {
		tl.Header.ClockError, tl.Header.Tick = time.Duration(r.number()), time.Duration(r.number())
	}
	if flags&4 != 0 {
		tl.Header.Ended = time.Duration(r.number())
	}
	var at int64
	for i := 0; len(r.rest) > 0 && i < 48; i++ {
		kind := r.byte()
		if kind&0x10 != 0 { // at any instant, even before the last one
			at = 0
		}
		at += r.number()
		o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, At: time.Duration(at), Cost: 1},
			Sent: time.Duration(at), Outcome: timeline.Outcome(kind & 3)}
		if kind&3 == 3 {
			o.Outcome = timeline.Allowed
		}
		if o.Answered = kind&4 == 0; o.Answered {
			o.FirstByte = time.Duration(at + r.number())
		}
		if kind&8 != 0 {
			o.Cost = r.number()
		}
		if kind&0x20 != 0 {
			o.Seq = 0
		}
		if kind&0x40 != 0 {
			o.Partition = string(rune('a' + kind>>7))
		}
		tl.Observations = append(tl.Observations, o)
	}
	return tl
}

// FuzzJudge: whatever is recorded, the judge ends with an error or a verdict, and passes nothing that it has
// not seen.
func FuzzJudge(f *testing.F) {
	f.Add(byte(0), byte(0), []byte{})
	f.Add(byte(11), byte(0), []byte{0, 1, 0, 0, 1, 1, 0, 1, 1, 2})
	f.Add(byte(15), byte(1), []byte{7, 200, 3, 0xd1, 0xd2, 0xd3, 0, 9, 9, 4, 9, 8, 2, 2, 0xcf})
	f.Add(byte(22), byte(2), []byte{3, 5, 5, 1, 1, 1, 0x10, 3, 0x21, 3, 3, 0x40, 4, 4, 8, 4, 4, 0xff, 1, 2, 3,
		4, 5, 6, 7, 8})
	f.Fuzz(func(t *testing.T, text, options byte, recording []byte) {
		limit, err := spec.Parse(fuzzSpecs[int(text)%len(fuzzSpecs)])
		if err != nil {
			t.Fatal(err)
		}
		o := Options{SkipMeasure: options&1 != 0, Shared: options&2 != 0, Hint: options&4 != 0,
			Conformance: []result.Conformance{"", result.Exact, result.UpperBound,
				result.LowerBound}[options>>3&3]}
		if options&32 != 0 {
			o.Resolution = Resolution{BurstExact: true, Rate: 0.02}
		}
		tl := (&fuzzReader{recording}).timeline()
		survives(t, tl, limit, o)
		if read, err := timeline.Read(bytes.NewReader(recording), "x", timeline.ReadOptions{}); err == nil {
			survives(t, read, limit, o)
		}
	})
}

// fuzzPatience is how long judging a few dozen requests may take on a busy machine.
const fuzzPatience = 2 * time.Minute

// survives judges tl and checks the form of the judgement.
func survives(t *testing.T, tl *timeline.Timeline, limit spec.Limit, o Options) {
	t.Helper()
	type answer struct {
		j   *result.Judgement
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		j, err := Judge(tl, limit, o)
		answers <- answer{j, err}
	}()
	var j *result.Judgement
	select {
	case a := <-answers:
		if j = a.j; a.err != nil {
			if j != nil || !errors.Is(a.err, ErrTooLarge) && !errors.Is(a.err, ErrUnsorted) &&
				!errors.Is(a.err, ErrUnknownCost) {
				t.Errorf("got %+v and the error %v", j, a.err)
			}
			return
		}
	case <-time.After(fuzzPatience):
		t.Fatalf("no verdict after %s: %s %+v\n%s", fuzzPatience, limit, o, draw(tl))
	}
	judged := 0
	for _, p := range j.Partitions {
		judged += p.Judged
		if (p.Verdict == result.Fail) != (len(p.Findings) > 0) || p.Verdict == result.Pass &&
			p.Judged == 0 || (p.Verdict == result.Inconclusive) != (p.Reason != "") {
			t.Errorf("partition out of shape: %+v", p)
		}
		for _, fd := range p.Findings {
			if len(fd.Observations) == 0 || fd.Text == "" || fd.From > fd.To {
				t.Errorf("finding out of shape: %+v", fd)
			}
		}
	}
	if j.Verdict == result.Pass && judged == 0 || (j.Verdict == result.Inconclusive) != (j.Reason != "") {
		t.Errorf("judgement out of shape: %+v", j)
	}
	for _, iv := range []result.Interval{j.Measured.Burst, j.Measured.Rate} {
		if j.Verdict == result.Pass && iv.LoSet && iv.HiSet && iv.Lo > iv.Hi {
			t.Errorf("measured %v", iv)
		}
	}
}

// TestHostileTimelines: which recordings are refused with which error, and which pass nothing.
func TestHostileTimelines(t *testing.T) {
	at := func(sent, first int64, cost int64, o timeline.Outcome) timeline.Observation {
		return timeline.Observation{Arrival: timeline.Arrival{Cost: cost}, Sent: time.Duration(sent),
			FirstByte: time.Duration(first), Answered: o != timeline.Unknown, Outcome: o}
	}
	for _, c := range []struct {
		name string
		tl   timeline.Timeline
		err  error
		want result.Verdict
	}{
		{name: "nothing", want: result.Inconclusive},
		{name: "all unknown",
			tl: timeline.Timeline{Observations: []timeline.Observation{at(1, 0, 1, timeline.Unknown),
				at(2, 0, 1, timeline.Unknown)}}, want: result.Inconclusive},
		{name: "one instant",
			tl:   timeline.Timeline{Observations: []timeline.Observation{at(5, 5, 1, timeline.Allowed)}},
			want: result.Pass},
		{name: "the same twice",
			tl: timeline.Timeline{Observations: []timeline.Observation{at(5, 6, 1, timeline.Allowed),
				at(5, 6, 1, timeline.Allowed)}}, want: result.Pass},
		{name: "cost nothing",
			tl:   timeline.Timeline{Observations: []timeline.Observation{at(5, 6, 0, timeline.Allowed)}},
			want: result.Pass},
		{name: "out of order",
			tl: timeline.Timeline{Observations: []timeline.Observation{at(5, 6, 1, timeline.Allowed),
				at(4, 6, 1, timeline.Allowed)}}, err: ErrUnsorted},
		{name: "cost below nothing",
			tl:  timeline.Timeline{Observations: []timeline.Observation{at(5, 6, -2, timeline.Allowed)}},
			err: ErrTooLarge},
		{name: "costs over all",
			tl: timeline.Timeline{Observations: []timeline.Observation{at(5, 6, 1<<62, timeline.Allowed),
				at(5, 6, 1<<62, timeline.Allowed)}}, err: ErrTooLarge},
		{name: "the end of time",
			tl: timeline.Timeline{Observations: []timeline.Observation{at(1<<62, 1<<62, 1,
				timeline.Allowed)}}, err: ErrTooLarge},
		{name: "before all time",
			tl:  timeline.Timeline{Observations: []timeline.Observation{at(-1<<62, 0, 1, timeline.Allowed)}},
			err: ErrTooLarge},
		{name: "a clock nobody knows", tl: timeline.Timeline{Header: timeline.Header{ClockError: 1 << 62},
			Observations: []timeline.Observation{at(1, 2, 1, timeline.Allowed)}}, err: ErrTooLarge},
		{name: "an error below nothing", tl: timeline.Timeline{Header: timeline.Header{WallError: -1},
			Observations: []timeline.Observation{at(1, 2, 1, timeline.Allowed)}}, err: ErrTooLarge},
	} {
		for _, text := range []string{"token-bucket,rate=10/s,burst=20", "sliding-window-log,rate=10/s",
			"fixed-window,rate=10/s", "sliding-window-counter,rate=10/s"} {
			limit := spec.Limit{mustPolicy(t, text)}
			j, err := Judge(&c.tl, limit, Options{})
			if !errors.Is(err, c.err) || (err == nil) != (j != nil) || err == nil && j.Verdict != c.want {
				t.Errorf("%s, %s: got %+v, %v, want %s, %v", c.name, text, j, err, c.want, c.err)
			}
		}
	}
}
