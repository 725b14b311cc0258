package report

import (
	"bufio"
	"bytes"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

const micro, milli = time.Microsecond, time.Millisecond

// answered returns an observation of a request planned at `at`, sent `late` after it, and answered `service`
// after that.
func answered(o timeline.Outcome, at, late, service time.Duration) timeline.Observation {
	return timeline.Observation{Arrival: timeline.Arrival{At: at, Cost: 1}, Sent: at + late,
		FirstByte: at + late + service, Answered: true, Outcome: o}
}

// exactly compares two numbers.
func exactly(t *testing.T, name string, got, want int64) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %d, want %d", name, got, want)
	}
}

// logExample lasts 12.5 s. It has one request in each millisecond: allowed, and every fifth denied.
func logExample() *timeline.Timeline {
	tl := &timeline.Timeline{Header: timeline.Header{Ended: 12500 * milli}}
	for i := range 12_000 {
		o := answered(timeline.Allowed, time.Duration(i)*milli, 10*micro, time.Duration(100+i%50)*micro)
		if i%5 == 0 {
			o.Outcome = timeline.Denied
		}
		tl.Observations = append(tl.Observations, o)
	}
	return tl
}

var logStart = time.Date(2026, 11, 20, 10, 0, 0, 250_000_000, time.UTC)

// readLog sums a log by tag, and returns the lines that are not comments.
func readLog(t *testing.T, log []byte) (map[string]*hdr.Histogram, []string) {
	t.Helper()
	sums := make(map[string]*hdr.Histogram)
	r := hdr.NewHistogramLogReader(bytes.NewReader(log))
	for {
		h, err := r.NextIntervalHistogram()
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			break
		}
		if sums[h.Tag()] == nil {
			sums[h.Tag()] = hdr.New(1, int64(timeline.Highest), 3)
		}
		if dropped := sums[h.Tag()].Merge(h); dropped != 0 {
			t.Errorf("%d values dropped", dropped)
		}
	}
	var lines []string
	s := bufio.NewScanner(bytes.NewReader(log))
	for s.Scan() {
		if !strings.HasPrefix(s.Text(), "#") {
			lines = append(lines, s.Text())
		}
	}
	return sums, lines
}

func TestTheLogHasWhatTheSummaryHas(t *testing.T) {
	tl := logExample()
	var b bytes.Buffer
	if err := WriteHistogram(&b, tl, logStart); err != nil {
		t.Fatal(err)
	}
	sums, lines := readLog(t, b.Bytes())
	s := timeline.LatencyOf(tl)
	for tag, want := range map[string]timeline.Distribution{
		"allowed-corrected": s.Allowed.Corrected, "allowed-service": s.Allowed.Service,
		"denied-corrected": s.Denied.Corrected, "denied-service": s.Denied.Service,
	} {
		h := sums[tag]
		if h == nil {
			t.Fatalf("no lines with Tag=%s", tag)
		}
		exactly(t, tag+" count", h.TotalCount(), want.Count)
		for _, bar := range want.Buckets {
			if got := countIn(h, bar); got != bar.Count {
				t.Errorf("%s: %d values in %v..%v, want %d", tag, got, bar.From, bar.To, bar.Count)
			}
		}
	}
	if len(sums) != 4 {
		t.Errorf("%d series, want 4", len(sums))
	}
	exactly(t, "lines", int64(len(lines)), 1+12*4)
}

func countIn(h *hdr.Histogram, b timeline.LatencyBucket) int64 {
	for _, bar := range h.Distribution() {
		if bar.From == int64(b.From) {
			return bar.Count
		}
	}
	return 0
}

func TestTheLogHasTheLinesItsReadersExpect(t *testing.T) {
	tl := logExample()
	tl.Observations = append(tl.Observations, answered(timeline.Allowed, 12200*milli, 0, 20*milli))
	var b bytes.Buffer
	if err := WriteHistogram(&b, tl, logStart); err != nil {
		t.Fatal(err)
	}
	const head = `#[Logged with rlcheck]
#[Histogram log format version 1.3]
#[StartTime: 1795168800.250 (seconds since epoch), 2026-11-20T10:00:00.250Z]
#[BaseTime: 1795168800.250 (seconds since epoch)]
"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"
`
	if !strings.HasPrefix(b.String(), head) {
		t.Errorf("got %.400s, want %s", b.String(), head)
	}
	_, lines := readLog(t, b.Bytes())
	last := strings.Split(lines[len(lines)-1], ",") // the last interval ends with the recording
	want := []string{"Tag=allowed-service", "12.000000", "0.500000"}
	for i := range want {
		if last[i] != want[i] {
			t.Errorf("last line: got %q, want %q", last[:3], want)
			break
		}
	}
	if top, err := strconv.ParseFloat(last[3], 64); err != nil || top < 20 || top > 20.02 { // in milliseconds
		t.Errorf("the largest value of the last interval: got %s, want 20 ms", last[3])
	}
	if !strings.HasPrefix(last[4], "HISTFAAAA") { // the V2 compressed cookie in base64
		t.Errorf("payload %.12s, want V2 compressed", last[4])
	}
}

func TestTheLogCountsWhatItCannotHold(t *testing.T) {
	tl := &timeline.Timeline{Observations: []timeline.Observation{
		answered(timeline.Allowed, 0, 0, timeline.Highest),
		answered(timeline.Allowed, 0, 0, timeline.Highest+1),
		answered(timeline.Allowed, 1000, -900, 500), // sent and answered before it was due
		answered(timeline.Unknown, 1000, 0, 500),
		{Outcome: timeline.Allowed, Sent: 1000},
	}}
	var b bytes.Buffer
	if err := WriteHistogram(&b, tl, time.Time{}); err != nil {
		t.Fatal(err)
	}
	sums, _ := readLog(t, b.Bytes())
	exactly(t, "corrected", sums["allowed-corrected"].TotalCount(), 1)
	exactly(t, "service", sums["allowed-service"].TotalCount(), 2)
	exactly(t, "unknown", sums["unknown-service"].TotalCount(), 1)
	for _, want := range []string{
		"#[allowed-corrected: 2 values are negative or over 1h0m0s and in no interval]\n",
		"#[allowed-service: 1 values are negative or over 1h0m0s and in no interval]\n",
		"#[StartTime: 0.000 (seconds since epoch), 1970-01-01T00:00:00.000Z]\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no line %q in\n%s", want, b.String())
		}
	}
}

func TestTheLogOfALongRecordingIsShort(t *testing.T) {
	const most = 20 // maxIntervals takes long
	for _, hours := range []time.Duration{1, 24 * 365} {
		tl := &timeline.Timeline{}
		for i := range 500 {
			tl.Observations = append(tl.Observations,
				answered(timeline.Denied, hours*time.Hour/500*time.Duration(i), 0, milli))
		}
		tl.Header.Ended = hours * time.Hour
		var b bytes.Buffer
		if err := writeLog(&b, tl, logStart, most); err != nil {
			t.Fatal(err)
		}
		sums, lines := readLog(t, b.Bytes())
		exactly(t, "count", sums["denied-service"].TotalCount(), 500)
		if n := len(lines) / 2; n > most || n < most/2 {
			t.Errorf("%d intervals for %d h, want %d at most", n, hours, most)
		}
	}
	edge := &timeline.Timeline{}
	for i := range most + 1 { // the last one at the very end
		edge.Observations = append(edge.Observations,
			answered(timeline.Denied, time.Duration(i)*time.Second, 0, 0))
	}
	var b bytes.Buffer
	if err := writeLog(&b, edge, logStart, most); err != nil {
		t.Fatal(err)
	}
	if _, lines := readLog(t, b.Bytes()); len(lines)/2 != most/2+1 {
		t.Errorf("%d intervals of a second, want %d of 2 s", len(lines)/2, most/2+1)
	}
	far := &timeline.Timeline{Observations: []timeline.Observation{answered(timeline.Denied, math.MaxInt64-10,
		0, 5)}}
	if err := WriteHistogram(&bytes.Buffer{}, far, logStart); err != nil {
		t.Error(err)
	}
}

// failing is a writer that fails at the n-th write.
type failing struct{ n int }

var errWrite = errors.New("no room")

func (f *failing) Write(p []byte) (int, error) {
	if f.n--; f.n < 0 {
		return 0, errWrite
	}
	return len(p), nil
}

func TestTheLogReportsErrorsOfItsWriter(t *testing.T) {
	tl := &timeline.Timeline{Observations: []timeline.Observation{
		answered(timeline.Allowed, 0, 0, timeline.Highest+1), answered(timeline.Allowed, 0, 0, milli),
		answered(timeline.Allowed, 9*time.Second, 0, milli)}}
	const writes = 5 + 2*2 + 2 // header, two intervals of 8 s, footer
	for n := range writes {
		if err := WriteHistogram(&failing{n}, tl, logStart); !errors.Is(err, errWrite) {
			t.Errorf("write %d fails: got %v, want %v", n, err, errWrite)
		}
	}
	if err := WriteHistogram(&failing{writes}, tl, logStart); err != nil {
		t.Error(err)
	}
}
