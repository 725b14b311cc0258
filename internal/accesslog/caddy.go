package accesslog

import (
	"time"
)

// caddyNames are the members of an access log line of Caddy.
var caddyNames = map[string]slot{
	"logger": slotLogger, "ts": slotISO, "duration": slotDuration, "status": slotStatus,
	"request.method": slotMethod,
	"request.uri":    slotTarget, "request.host": slotHost, "request.client_ip": slotAddress,
	"request.remote_ip":   slotRemote,
	"request.remote_addr": slotRemote, "user_id": slotUser,
}

// caddyTimes are the times of Caddy's access log in JSON.
//
// ts is when the line was written, after the request was handled. Unless time_format says otherwise, it is
// seconds since the Unix epoch as a floating point number, with steps of a quarter of a microsecond. duration
// is how long handling took, in seconds (caddyserver.com, JSON config structure, logging;
// modules/caddyhttp/server.go).
//
// The duration ends before the line is written. It also ends before a route of handle_errors is run, which is
// how a rate limiter's denial is answered. So the request may have begun before ts - duration, by a lag. By
// default the lag is 10 ms, and 100 ms if the status is 400 or more. The interval is
//
//	[ ts - duration - 1/1000 of it - lag - 1 us, ts + one step + 1 us ]
//
// duration is of a monotonic clock, ts of the wall clock. With duration_format ms or ns, durations are read
// as seconds, and intervals are wider than necessary. A ts without a zone (time_format wall, time_local) is
// local time.
type caddyTimes struct {
	widths
	zone *time.Location
}

// errorRouteLag is the longest that a route of handle_errors usually takes.
const errorRouteLag = 100 * time.Millisecond

func (c caddyTimes) span(v values) (span, flaw) {
	if v[slotISO] == nil {
		return span{}, flaw{what: "no ts",
			why: "a line of an access log of Caddy has the time when it was written"}
	}
	end, local, ok := c.end(v[slotISO])
	if !ok {
		return span{}, flaw{what: "ts " + quote(v[slotISO]),
			why: "a number of seconds since 1970, or a time, is needed"}
	}
	lag := c.or(readingsApart)
	if s := v[slotStatus]; len(s) == 3 && s[0] >= '4' {
		lag = c.or(errorRouteLag)
	}
	duration, ok := longest(v[slotDuration])
	switch {
	case none(v[slotDuration]) && c.max > 0:
		duration = int64(c.max)
	case none(v[slotDuration]):
		return span{}, missingDuration("give --max-duration D, an upper bound of how long a request " +
			"took")
	case !ok:
		return span{}, flaw{what: "duration " + quote(v[slotDuration]),
			why: "a number of seconds is needed"}
	}
	return span{from: end.ns - duration - drift(duration) - lag - microsecond,
		to: end.ns + end.step + microsecond, end: end.ns - microsecond,
		local: local}, flaw{}
}

// end reads a ts: a time, or seconds, milliseconds or nanoseconds since the epoch, which it tells by their
// size.
func (c caddyTimes) end(b []byte) (m moment, local, ok bool) {
	const milliseconds, nanoseconds = 12, 18 // digits of the present
	if m, ok := iso(b, nil); ok {
		return m, false, true
	}
	if m, ok := commonLog(b, nil); ok {
		return m, false, true
	}
	zone := c.zone
	if zone == nil {
		zone = time.UTC
	}
	if m, ok := iso(b, zone); ok {
		return m, true, true
	}
	unit := second
	whole := 0
	for whole < len(b) && b[whole] >= '0' && b[whole] <= '9' {
		whole++
	}
	switch {
	case whole > nanoseconds:
		unit = 1
	case whole > milliseconds:
		unit = millisecond
	}
	m, ok = decimal(b, unit)
	return m, false, ok
}
