package report

import (
	"cmp"
	"fmt"
	"io"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// maxIntervals is the most intervals of a log.
const maxIntervals = 600

// tagged is one series of a log.
type tagged struct {
	outcome timeline.Outcome
	tag     string
	value   func(o *timeline.Observation) time.Duration
	h       *hdr.Histogram
	// used tells that h has values of the current interval. left counts the values that fit no interval.
	used bool
	left int64
}

func corrected(o *timeline.Observation) time.Duration { return o.FirstByte - o.At }
func service(o *timeline.Observation) time.Duration   { return o.FirstByte - o.Sent }

type logWriter struct {
	log    *hdr.HistogramLogWriter
	start  time.Time
	end    time.Duration
	length time.Duration
	// now is the number of the current interval.
	now    int64
	series []*tagged
	err    error
}

// WriteHistogram writes an HdrHistogram log of tl to w (format 1.3, V2 compressed). HistogramLogAnalyzer and
// the tools of wrk2 read it. Values are nanoseconds. start is the wall time of zero; the zero time stands for
// the Unix epoch.
//
// Tags distinguish the series: allowed-corrected, allowed-service, the same for denied and, if there are any,
// for unknown. An interval is one second, or longer so that there are at most 600. An observation belongs to
// the interval of its Sent. An interval without values has no line. A histogram cannot hold negative values
// or values over Highest: a comment at the end counts them.
//
// It returns the errors of w.
func WriteHistogram(w io.Writer, tl *timeline.Timeline, start time.Time) error {
	return writeLog(w, tl, start, maxIntervals)
}

func writeLog(w io.Writer, tl *timeline.Timeline, start time.Time, most time.Duration) error {
	if start.IsZero() {
		start = time.Unix(0, 0)
	}
	l := &logWriter{log: hdr.NewHistogramLogWriter(w), start: start.UTC(), end: tl.End(), length: time.Second}
	for l.end/l.length >= most {
		l.length *= 2
	}
	for _, o := range []timeline.Outcome{timeline.Allowed, timeline.Denied, timeline.Unknown} {
		l.series = append(l.series, &tagged{outcome: o, tag: o.String() + "-corrected", value: corrected},
			&tagged{outcome: o, tag: o.String() + "-service", value: service})
	}
	l.head()
	for o := range tl.All() {
		if l.err != nil {
			break
		}
		l.add(o)
	}
	l.flush()
	l.foot()
	return l.err
}

// keep keeps the first error of writing.
func (l *logWriter) keep(err error) { l.err = cmp.Or(l.err, err) }

// head writes the header. The library would cut the start to whole seconds.
func (l *logWriter) head() {
	l.log.SetBaseTime(l.start.UnixMilli())
	seconds := fmt.Sprintf("%.3f", float64(l.start.UnixMilli())/1000)
	for _, line := range []string{
		"[Logged with rlcheck]",
		"[Histogram log format version " + hdr.HISTOGRAM_LOG_FORMAT_VERSION + "]",
		"[StartTime: " + seconds + " (seconds since epoch), " +
			l.start.Format("2006-01-02T15:04:05.000Z07:00") + "]",
		"[BaseTime: " + seconds + " (seconds since epoch)]",
	} {
		l.keep(l.log.OutputComment(line))
	}
	l.keep(l.log.OutputLegend())
}

func (l *logWriter) add(o *timeline.Observation) {
	if !o.Answered {
		return
	}
	if now := int64(o.Sent / l.length); now > l.now {
		l.flush()
		l.now = now
	}
	for _, s := range l.series {
		if s.outcome == o.Outcome {
			s.record(s.value(o))
		}
	}
}

func (s *tagged) record(v time.Duration) {
	if v < 0 || v > timeline.Highest {
		s.left++
		return
	}
	if s.h == nil {
		s.h = hdr.New(1, int64(timeline.Highest), 3) // nanoseconds with three digits
		s.h.SetTag(s.tag)
	}
	s.used = true
	if err := s.h.RecordValue(int64(v)); err != nil {
		panic("report: " + err.Error()) // v is in range
	}
}

// flush writes the lines of the current interval.
func (l *logWriter) flush() {
	from := time.Duration(l.now) * l.length
	to := max(min(from+l.length, l.end), from+time.Millisecond)
	for _, s := range l.series {
		if !s.used {
			continue
		}
		s.h.SetStartTimeMs(l.start.Add(from).UnixMilli())
		s.h.SetEndTimeMs(l.start.Add(to).UnixMilli())
		l.keep(l.log.OutputIntervalHistogram(s.h))
		s.h.Reset()
		s.h.SetTag(s.tag)
		s.used = false
	}
}

// foot writes how many values are in no interval.
func (l *logWriter) foot() {
	for _, s := range l.series {
		if s.left > 0 {
			l.keep(l.log.OutputComment(fmt.Sprintf("[%s: %d values are negative or over %v and in no "+
				"interval]", s.tag, s.left, timeline.Highest)))
		}
	}
}
