// Package accesslog turns the access logs of web servers and load balancers into timelines, so that
// production traffic can be judged. It knows log formats and what their times mean, and no algorithm.
//
// Every observation gets an interval that surely holds the decision about its request, as wide as the log
// leaves it. The type of each layout says what the format logs, where that is documented, and how far
// intervals are widened. All of it assumes that the clock of the logging machine was not set while the log
// was written.
package accesslog

import (
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/ndjson"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Format names the form of a log.
type Format string

// The formats. Each is documented at its layout.
const (
	Nginx     Format = "nginx"
	NginxJSON Format = "nginx-json"
	HAProxy   Format = "haproxy"
	Envoy     Format = "envoy"
	EnvoyJSON Format = "envoy-json"
	Caddy     Format = "caddy"
	ALB       Format = "alb"
)

// Formats returns all formats.
func Formats() []Format { return []Format{Nginx, NginxJSON, HAProxy, Envoy, EnvoyJSON, Caddy, ALB} }

// maxRequests is the most requests of one log that Read keeps. It holds them in memory, in 32 bytes each, to
// sort them by their beginning.
const maxRequests = 100_000_000

// Options say how a log is read. The zero value, with a Format, reads the default layout of a server and
// tells clients apart by their address. It assumes nothing about what happened before and after the log.
type Options struct {
	Format Format
	// Layout is the log_format of nginx or the format string of Envoy. Empty: the default layout.
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
	// Outcome returns the outcome of a status. nil: StatusOutcome.
	Outcome func(status int) timeline.Outcome
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
}

// Log is a log that was read: its header, and one observation for each request.
type Log struct {
	// Header has the wall time of zero as Started. Unless the log is complete, CompleteFrom is the end of the
	// request that ended first. CompleteUntil is the end of the request that ended last, less a longest
	// duration and a second. That duration is the largest of MaxDuration, the longest one in the log, and a
	// minute. If lines are not in the order of their ends, as when workers buffer them, both instants are
	// nearer by twice the observed disorder.
	Header timeline.Header
	// Lines is the number of lines that are not blank. Each is an observation, or counted by one of the
	// others. Foreign lines are no requests. Skipped lines cannot be read. Unmatched ones do not match.
	// Keyless ones have no partition.
	Lines, Foreign, Skipped, Unmatched, Keyless int
	// FirstSkipped is the problem of the first line that was skipped.
	FirstSkipped *ndjson.ParseError
	// Lossy: requests may be missing in the middle of the log, so a denial proves nothing. Lines were
	// skipped, or the server does not promise a line for each request. It is false if the log is complete.
	Lossy bool
	// ZoneUnknown: times had no zone and were read as UTC.
	ZoneUnknown bool
	// Whole is how many answers were surely sent to their last byte. These have a Done.
	Whole int
	// Unnamed counts, by status, the answers that are neither admissions nor denials. May be nil.
	Unnamed map[int]int

	// Caches counts the answers that a cache gave, according to the fields in the log. Their Outcome is
	// Unknown. Its numbers are numbers of lines.
	Caches headers.Caches
	// Doubtful counts the requests that meet all conditions only as their path and host are written, or only
	// in plain form. It is not known whether they were limited, so their Outcome is Unknown. Those of a
	// partition without any other request are left out, as Unmatched.
	Doubtful int
	// Absent names the fields of conditions (Options.Match) that no request of the log has. May be nil.
	Absent []string

	// records ascend by their beginning, and names has the name of each partition. Both are empty if the log
	// can be read again. zero is the Unix time of zero.
	records []record
	names   []string
	zero    int64
	order   survey
	again   *again
	// lone are the partitions all of whose requests are left out. left is the number of these requests.
	lone []bool
	left int
}

// record is what is kept of one request.
type record struct {
	from, to  int64
	line      uint32
	partition uint32
	status    uint16
	outcome   timeline.Outcome
	// whole: the answer ended before to.
	whole bool
}

// Len returns the number of requests.
func (l *Log) Len() int { return l.order.n - l.left }

// without tells whether a request is left out.
func (l *Log) without(rec record) bool {
	return int(rec.partition) < len(l.lone) && l.lone[rec.partition]
}

// All returns the observations of a log that Read returned, ascending by Sent, and by line if they began at
// the same instant. Seq is the number of the line. Each observation is overwritten by the next.
func (l *Log) All() iter.Seq[*timeline.Observation] {
	return func(yield func(*timeline.Observation) bool) {
		var o timeline.Observation
		for i := range l.records {
			if l.observation(i, &o); !yield(&o) {
				return
			}
		}
	}
}

func (l *Log) observation(i int, o *timeline.Observation) {
	rec := &l.records[i]
	l.fill(o, rec, partitionOf(l.names, rec.partition))
}

// StatusOutcome returns what a status in a log says by itself: 2xx and 304 are Allowed, 429 is Denied, all
// else is Unknown. Other redirections are not Allowed, as many are answered without asking the limiter.
func StatusOutcome(status int) timeline.Outcome {
	switch {
	case status >= 200 && status < 300, status == 304:
		return timeline.Allowed
	case status == 429:
		return timeline.Denied
	default:
		return timeline.Unknown
	}
}

// Read reads a log, plain, gzip or zstd. Error messages call it name. An error about its lines is of type
// ndjson.Errors, with up to ten problems in their order. An error about the options is an *OptionError.
func Read(r io.Reader, name string, o Options) (*Log, error) {
	rd, err := newReader(name, o)
	if err != nil {
		return nil, err
	}
	if err := rd.readAll(r); err != nil {
		return nil, err
	}
	return rd.log(), nil
}

// OptionError is an option that does not fit the format.
type OptionError struct {
	// Option is the name of the member of Options.
	Option string
	// What quotes its value, Why states the rule, and Mend is an edit that helps. Mend may be empty.
	What, Why, Mend string
}

// Error returns what: why (mend).
func (e *OptionError) Error() string {
	s := fmt.Sprintf("%s: %s", e.What, e.Why)
	if e.Mend != "" {
		s += " (" + e.Mend + ")"
	}
	return s
}
