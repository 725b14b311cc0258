// Package accesslog turns the access logs of web servers and load balancers into timelines, so that
// production traffic can be judged. It knows log formats and what their times mean, and no algorithm.
//
// Every observation gets an interval that surely holds the decision about its request, as wide as the log
// leaves it. The type of each layout says what the format logs, where that is documented, and how far
// intervals are widened. All of it assumes that the clock of the logging machine was not set while the log
// was written.
package accesslog

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Format names the form of a log.
type Format string

// The formats. Each is a row of the table of servers, or two.
const (
	Nginx     Format = "nginx"
	NginxJSON Format = "nginx-json"
	HAProxy   Format = "haproxy"
	Envoy     Format = "envoy"
	EnvoyJSON Format = "envoy-json"
	Caddy     Format = "caddy"
	ALB       Format = "alb"
	Traefik   Format = "traefik"
	Apache    Format = "apache"
	// Cloudflare is the data set http_requests of Logpush.
	Cloudflare Format = "cloudflare"
	Kong       Format = "kong"
	APISIX     Format = "apisix"
	// JSON has the names of jsonNames, or those of Options.Columns.
	JSON   Format = "json"
	Vegeta Format = "vegeta"
	K6     Format = "k6"
	Oha    Format = "oha"
)

// Formats returns all formats, in the order in which they are guessed.
func Formats() []Format {
	var all []Format
	for i := range servers {
		all = append(all, servers[i].format)
	}
	return slices.Compact(all)
}

// Options say how a log is read. The zero value, with a Format, reads the default layout of a server and
// tells clients apart by their address. It assumes nothing about what happened before and after the log.
type Options struct {
	Format Format
	// Layout is the log_format of nginx, the format string of Envoy or the LogFormat of Apache. Empty: the
	// default layout.
	Layout string
	// Columns maps the names of values (request_time, status, ...) to other names that the log has for them.
	// It is for logs in JSON, and for the name=value pairs of nginx.
	Columns map[string]string
	// PartitionBy is the field whose value is the partition: address (the default), user, host, path, method,
	// none for one partition, the name of a header field in the log, or any name of the format's own.
	PartitionBy string
	// Match are conditions, all of which a request must meet. Other requests are counted as Unmatched and
	// left out.
	Match []Match
	// Denied and Allowed are the limiter's own words: a request that meets one of the conditions was denied,
	// or admitted, whatever its status. Those of Denied come first.
	Denied, Allowed []Match
	// Cost is the field that says what a request cost, named as in PartitionBy. CostUnit is how much one unit
	// is, a decimal number; empty: 1. A request without the field has timeline.CostUnknown. Empty: each
	// request costs 1.
	Cost, CostUnit string
	// Each is what each request costs if no field says so; 0: 1.
	Each int64
	// Outcome returns the outcome of a status, of requests without such a word. nil: StatusOutcome.
	Outcome func(status int) timeline.Outcome
	// Within is the longest from the beginning of a request to the decision, if WithinSet. 0: it is as long
	// as the request. Otherwise the time of the answer's header says it, if the log has that.
	Within    time.Duration
	WithinSet bool
	// MaxDuration is longer than any request took. A log without durations needs it. Otherwise it matters
	// only at the end of the log (Log.Header).
	MaxDuration time.Duration
	// Lag is how far outside the logged times a decision may lie. It replaces the assumption of the format if
	// LagSet.
	Lag    time.Duration
	LagSet bool
	// Zone is the time zone of times without one. nil: it is not known, and such times are read as UTC.
	Zone *time.Location
	// WallError goes into the header. It is how far the clock of the limiter may be from that of the log.
	WallError time.Duration
	// SkipBad counts lines that cannot be read, instead of refusing the log.
	SkipBad bool
	// Complete: the log has every request that the limiter saw, from a fresh start to the last one.
	Complete bool
	// WithoutCached leaves out the requests that a cache answered, which Log.Caches counts. Otherwise their
	// outcome is unknown.
	WithoutCached bool
	// Spill makes the files for a log that is long, over some 20,000 requests, with some 20 bytes for each of
	// them. nil, or where it fails: they are in memory.
	Spill func() (timeline.Spill, error)
}

// Log is a log that was read: its header, and one observation for each request.
type Log struct {
	// Header has the wall time of zero as Started. Unless the log is complete, CompleteFrom is the end of the
	// request that ended first. CompleteUntil is the end of the request that ended last, less a longest
	// duration and a second. That duration is the largest of MaxDuration, the longest one in the log, and a
	// minute. If lines are not in the order of their ends, as when workers buffer them, both instants are
	// nearer by twice the observed disorder.
	Header timeline.Header
	Counts
	// Ends has, for each file, the number of its last line.
	Ends []int
	// FirstSkipped is the problem of the first line that was skipped.
	FirstSkipped *timeline.ParseError
	// Lossy: requests may be missing in the middle of the log, so a denial proves nothing. Lines were
	// skipped, or the server does not promise a line for each request. It is false if the log is complete.
	Lossy bool
	// ZoneUnknown: times had no zone and were read as UTC.
	ZoneUnknown bool
	// Widest is the longest interval.
	Widest time.Duration
	// Flaws say what is wrong with the log, each with its line and count.
	Flaws []string
	// Unnamed counts, by status, the answers that are neither admissions nor denials. May be nil.
	Unnamed map[int]int
	// Caches counts the answers that a cache gave, according to the fields in the log. Their Outcome is
	// Unknown. Its numbers are numbers of lines.
	Caches headers.Caches
	// Absent names the fields of conditions (Options.Match) that no request of the log has. May be nil.
	Absent []string

	// spool has the requests in their order. Their times count from the Unix epoch, and zero is that of zero.
	// See reader.record.
	spool  *timeline.Spool
	zero   time.Duration
	copies copies
	eras   []era
	// lone are the partitions all of whose requests are left out. left is the number of these requests.
	lone map[string]bool
	left int
}

// Counts are numbers of lines and of requests.
type Counts struct {
	// Lines is the number of lines that are not blank. Each is an observation, or counted by one of the
	// others. Foreign lines are no requests. Skipped lines cannot be read. Unmatched ones do not match.
	// Keyless ones have no partition.
	Lines, Foreign, Skipped, Unmatched, Keyless int
	// Edges is how many of the skipped lines are the first or last ones of a file.
	Edges int
	// Copies counts requests whose lines are equal to an earlier one, FirstCopy is the first.
	Copies, FirstCopy int
	// Whole is how many answers were surely sent to their last byte. These have a Done.
	Whole int
	// Headed is how many intervals the time of the answer's header narrowed. Shadow is how many requests were
	// denied by the limiter's word and answered all the same, as in a dry run.
	Headed, Shadow int
	// Costs is how many requests say what they cost.
	Costs int
	// Respelled is how many addresses are other spellings of a client.
	Respelled int
	// Doubtful counts the requests that meet all conditions only as their path and host are written, or only
	// in plain form. It is not known whether they were limited, so their Outcome is Unknown. Those of a
	// partition without any other request are left out, as Unmatched.
	Doubtful int
}

// Len returns the number of requests.
func (l *Log) Len() int { return l.spool.N - l.left }

// Close removes the files of a long log. Nothing can be read any more.
func (l *Log) Close() { l.spool.Close() }

// Each calls take for every observation, ascending by Sent, and by line if they began at the same instant,
// until take returns false. Seq is the number of the line. Each observation is overwritten by the next. The
// error is that of the files of a long log.
func (l *Log) Each(take func(o *timeline.Observation) bool) error {
	marks := l.copies
	l.spool.Each(func(o *timeline.Observation) bool {
		if l.lone[o.Partition] {
			return true
		}
		if marks.copy(o.Sent, o.At-o.Sent) {
			o.Outcome, o.Origin = timeline.Unknown, false
		}
		if o.Sent, o.FirstByte = o.Sent-l.zero, o.FirstByte-l.zero; o.Origin {
			o.Done -= l.zero
		} else {
			o.Done = 0
		}
		if o.At, o.Origin = o.Sent, false; !o.Answered {
			o.Error = "unanswered"
		}
		o.Partition = l.named(o.Partition, o.Seq)
		return take(o)
	})
	return l.spool.Err()
}

// spilled makes a file for what does not stay in memory, if there is a way to.
func (o *Options) spilled() (timeline.Spill, error) {
	if o.Spill != nil {
		if s, err := o.Spill(); err == nil {
			return s, nil
		}
	}
	return &memory{}, nil
}

// memory takes the place of a file.
type memory struct{ bytes.Buffer }

func (m *memory) ReadAt(b []byte, at int64) (int, error) {
	return bytes.NewReader(m.Bytes()).ReadAt(b, at)
}

func (m *memory) Close() error { return nil }

// StatusOutcome returns what a status in a log says by itself: 2xx, 304 and 101 are Allowed, 429 is Denied,
// all else is Unknown. Other redirections are not Allowed, as many are answered without asking the limiter.
func StatusOutcome(status int) timeline.Outcome {
	switch {
	case status >= 200 && status < 300, status == 304, status == 101:
		return timeline.Allowed
	case status == 429:
		return timeline.Denied
	default:
		return timeline.Unknown
	}
}

// Read reads a log, plain, gzip or zstd. Error messages call it name. An error about its lines is of type
// timeline.Errors, with up to ten problems in their order. An error about the options is a *text.Problem.
func Read(r io.Reader, name string, o Options) (*Log, error) {
	return ReadAll([]File{{name, r}}, o)
}

// File is one file of a log. Error messages call it Name.
type File struct {
	Name string
	In   io.Reader
}

// ReadAll reads a log that is in several files, in their order. The first line of a file has the number after
// that of the last line of the file before.
func ReadAll(files []File, o Options) (*Log, error) {
	rd, err := newReader(o)
	if err != nil {
		return nil, err
	}
	if err := rd.files(files); err != nil {
		rd.sorter.Finish().Close()
		return nil, err
	}
	return rd.log()
}

// Began returns when the first request of a file began, in nanoseconds since the Unix epoch. ok=false: none
// can be read in its first million bytes.
func Began(in io.Reader, o Options) (ns int64, ok bool) {
	r, err := newReader(o)
	if err != nil {
		return 0, false
	}
	_ = r.files([]File{{"", io.LimitReader(in, 1e6)}}) // what is wrong shows when it is read whole
	return r.begun, r.n > 0
}

// files reads the files of a log.
func (r *reader) files(files []File) error {
	lines := 0
	for _, f := range files {
		r.problems.file, r.problems.before = f.Name, lines
		if r.row != nil && r.row.lossy { // the parts of such logs overlap
			r.lastLine = 0
		}
		n, err := r.readAll(f.In, lines)
		if r.out.Ends = append(r.out.Ends, lines+n); err != nil {
			return err
		}
		lines += n
	}
	return r.finish(lines)
}

// Guess returns the format whose default layout reads the beginning of a log. Empty: no format reads it, or
// the log has another layout.
func Guess(begin []byte) Format {
	lines := begin[:bytes.LastIndexByte(begin, '\n')+1]
	for _, f := range Formats() {
		l, err := Read(bytes.NewReader(lines), "", Options{Format: f, PartitionBy: "none",
			MaxDuration: time.Minute})
		if err == nil && l.Len() > 0 && l.Skipped == 0 {
			return f
		}
	}
	return ""
}

// ParseStatuses reads statuses and classes of them: 200, 304, 4xx. They ascend, and none comes twice.
func ParseStatuses(list []string) ([]int, error) {
	var out []int
	for _, word := range list {
		class, isClass := strings.CutSuffix(strings.ToLower(word), "xx")
		n, err := strconv.Atoi(class)
		switch {
		case err == nil && isClass && n >= 1 && n <= 9:
			for i := range 100 {
				out = append(out, n*100+i)
			}
		case err == nil && !isClass && n >= 100 && n <= 999:
			out = append(out, n)
		default:
			return nil, text.NewProblem("status "+quote(word),
				"a status has three digits, and a class of statuses is written 2xx", "")
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// problems collects what is wrong with one log.
type problems struct {
	// file is the name of the file that is being read, and before is how many lines are before it.
	file   string
	before int
	list   timeline.Errors
	count  int
	// final: nothing more can be read.
	final bool
}

// mostProblems is how many kinds of problems of a log are reported. The others are counted.
const mostProblems = 10

// add adds a problem. Those of one kind are counted with the first.
func (p *problems) add(e timeline.ParseError) {
	p.count++
	for i := range p.list {
		if p.list[i].Why == e.Why {
			p.list[i].More++
			return
		}
	}
	if len(p.list) == mostProblems {
		p.list[mostProblems-1].More++
		return
	}
	e.File, e.Line = p.file, max(e.Line-p.before, 1)
	p.list = append(p.list, e)
}

func (p *problems) err() error {
	if p.count > 0 {
		return p.list
	}
	return nil
}
