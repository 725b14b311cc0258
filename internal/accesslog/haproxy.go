package accesslog

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// haproxy reads lines of `option httplog` and `option httpslog` of HAProxy, with or without the prefix of a
// syslog:
//
//	10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0
//	0/0 {key} {} "GET / HTTP/1.1"
//
// The date is when the first byte of the request was received (%tr; up to version 1.6 the accept date), in
// milliseconds, in local time without a zone. The last timer is the time from there to the last byte of the
// answer in milliseconds (%Ta; up to 1.6 Tt). With a + in front (option logasap) it is the time to the log
// line. The decision is before either (configuration manual, sections 8.2.3 and 8.4).
//
// Both are sums of numbers that were cut off, so the end may be 2 ms later. The date is of a wall clock, the
// timer of a monotonic one. The interval is
//
//	[ date, date + 1 ms + Ta + 2 ms + 1/1000 of Ta + lag ]
//
// The lag, by default 100 ms, is for busy threads, as for nginx. The other timers are -1 if a request did not
// get so far, which does not matter here.
//
// If the termination state begins with --, neither side gave up and the answer was sent to its last byte.
//
// `capture request header` fields are called capture1, capture2, ... Captured values and the request are
// escaped as #XX.
type haproxy struct {
	widths
	zone *time.Location
	// captures has the slot of each captured field that is needed.
	captures []slot
}

// haproxyCapture begins the names of captured request header fields.
const haproxyCapture = "capture"

func newHAProxy(o Options, w widths) (layout, *table, error) {
	if len(o.Columns) > 0 {
		return nil, nil, &OptionError{"Columns", "columns", "a log of HAProxy has none", ""}
	}
	t, err := newTable(nil, nil)
	zone := o.Zone
	if zone == nil {
		zone = time.UTC
	}
	return &haproxy{widths: w, zone: zone}, t, err
}

func (h *haproxy) own(name string) (string, bool) {
	n, err := strconv.Atoi(strings.TrimPrefix(name, haproxyCapture))
	return name, strings.HasPrefix(name, haproxyCapture) && err == nil && n >= 1 && n <= 100
}

func (h *haproxy) ready(fields []field) error {
	for _, f := range fields {
		switch f.slot {
		case slotUser, slotHost:
			return &OptionError{"PartitionBy", "field " + quote(f.name), "a log of HAProxy does not have it",
				"capture request header Host len 64, and write capture1"}
		}
		if n, err := strconv.Atoi(strings.TrimPrefix(f.name, haproxyCapture)); err == nil {
			for len(h.captures) < n {
				h.captures = append(h.captures, unwanted)
			}
			h.captures[n-1] = f.slot
		}
	}
	return nil
}

// dateLength is the length of "[06/Feb/2009:12:14:14.655] ".
const dateLength = 27

func (h *haproxy) split(line []byte, v values) flaw {
	at := dateAt(line)
	if at < 0 {
		return flaw{what: "line " + quote(line), why: "it is not a line of option httplog"}
	}
	client := bytes.TrimRight(line[:at], " ")
	if _, last, ok := cutLast(client, ' '); ok {
		client = last
	}
	v[slotAddress] = cutPort(client)
	v[slotCLF] = line[at+1 : at+dateLength-2]
	rest := line[at+dateLength:]
	var f [9][]byte // frontend, backend/server, timers, status, bytes, two cookies, state, connections
	ok := true
	for i := range f {
		if f[i], rest, ok = bytes.Cut(rest, []byte(" ")); !ok {
			return flaw{what: "line " + quote(line),
				why: "it ends before the request: it is cut, or not a line of option httplog"}
		}
	}
	_, rest, _ = bytes.Cut(rest, []byte(" ")) // the queues
	v[slotStatus] = f[3]
	if string(f[3]) == "-1" {
		v[slotStatus] = nil
	}
	timers := bytes.Split(f[2], []byte("/"))
	if len(timers) != 5 {
		return flaw{what: "timers " + quote(f[2]), why: "there are five of them"}
	}
	var early bool // it is logged before the end of the answer
	if v[slotDuration], early = bytes.CutPrefix(timers[4], []byte("+")); !early {
		v[slotCompletion] = f[7]
	}
	if rest, ok = h.capture(rest, v); !ok {
		return flaw{what: "line " + quote(line), why: "a brace of its captures is not closed: the line " +
			"is cut"}
	}
	if len(rest) < 2 || rest[0] != '"' {
		return flaw{what: "line " + quote(line),
			why: "the request in quotes is missing: the line is cut, or not a line of option httplog"}
	}
	request, _, ok := bytes.Cut(rest[1:], []byte(`"`))
	if !ok {
		return flaw{what: "request " + quote(request), why: "its quote is not closed: the line is cut",
			mend: "let the log take longer lines: log ... len 8192"}
	}
	if string(request) != "<BADREQ>" {
		v[slotRequest] = unescape(request, "#")
	}
	return flaw{}
}

// dateAt returns where " [06/Feb/2009:12:14:14.655] " begins, behind its first space.
func dateAt(line []byte) int {
	for from := 0; ; {
		i := bytes.Index(line[from:], []byte(" ["))
		if i < 0 {
			return -1
		}
		at := from + i + 1
		if end := at + dateLength; end <= len(line) && line[at+3] == '/' && line[at+7] == '/' &&
			line[at+12] == ':' &&
			line[at+21] == '.' && string(line[end-2:end]) == "] " {
			return at
		}
		from = at
	}
}

// capture reads the captures of request and response header fields, {a|b} {c}, if there are any, and returns
// the rest of the line.
func (h *haproxy) capture(rest []byte, v values) ([]byte, bool) {
	for k := 0; len(rest) > 0 && rest[0] == '{'; k++ {
		inner, after, ok := bytes.Cut(rest[1:], []byte("}"))
		if !ok {
			return rest, false
		}
		rest = bytes.TrimPrefix(after, []byte(" "))
		if k > 0 {
			continue // captures of the response
		}
		for i, value := range bytes.Split(inner, []byte("|")) {
			if i < len(h.captures) && h.captures[i] >= 0 && len(value) > 0 {
				v[h.captures[i]] = unescape(value, "#")
			}
		}
	}
	return rest, true
}

func (h *haproxy) span(v values) (span, flaw) {
	start, ok := commonLog(v[slotCLF], h.zone)
	if !ok {
		return span{}, flaw{what: "date " + quote(v[slotCLF]),
			why: "a date such as 20/Nov/2026:10:00:00.000 is needed"}
	}
	duration, ok := decimal(v[slotDuration], millisecond)
	switch {
	case ok:
	case string(v[slotDuration]) == "-1" && h.max > 0:
		duration = moment{int64(h.max), 0}
	default:
		return span{}, flaw{what: "last timer " + quote(v[slotDuration]),
			why:  "a number of milliseconds is needed",
			mend: "for -1 give --max-duration D, an upper bound of how long a request took"}
	}
	end := start.ns + duration.ns
	const cutOff = 2 * millisecond
	return span{from: start.ns, to: end + start.step + cutOff + drift(duration.ns) + h.or(usualLag), end: end,
		local: true,
		whole: ok && bytes.HasPrefix(v[slotCompletion], []byte("--"))}, flaw{}
}
