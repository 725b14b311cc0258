package accesslog

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// envoy reads text logs of Envoy in its default format, in that of Istio, or in any format string.
//
// %START_TIME% is the start of the request, cut to milliseconds unless its format says otherwise. %DURATION%
// is the time from there to the last byte out, cut to milliseconds (envoyproxy.io, access logging, command
// operators). The start is a reading of the wall clock. The duration is of a monotonic clock that is read
// right after it (StreamInfoImpl). So the interval is
//
//	[ start, start + its step + %DURATION% + 1 ms + 1/1000 of it + lag ]
//
// The lag, by default 10 ms, is the time that a thread may lose between the two readings. Without %DURATION%
// a longest duration must be given. A request without an end (%DURATION% is -) needs that too.
//
// Envoy escapes nothing in text. A value that contains the text which ends it makes its line unreadable. It
// never yields another value.
type envoy struct {
	patterns
	envoyTimes
	// format is the format string. Empty: a known format.
	format string
	t      *table
	// lengths is to how many bytes the first use of each operator in the format cuts its value, 0: to none.
	// most is the same for the needed values that are cut.
	lengths map[string]int
	most    map[slot]int
}

const (
	envoyDefault = `[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS% ` +
		`%BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%" ` +
		`"%REQ(USER-AGENT)%" "%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%"`
	envoyIstio = `[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS% ` +
		`%RESPONSE_CODE_DETAILS% %CONNECTION_TERMINATION_DETAILS% "%UPSTREAM_TRANSPORT_FAILURE_REASON%" %BYTES_RECEIVED% ` +
		`%BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" ` +
		`"%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%" %UPSTREAM_CLUSTER% %UPSTREAM_LOCAL_ADDRESS% ` +
		`%DOWNSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_REMOTE_ADDRESS% %REQUESTED_SERVER_NAME% %ROUTE_NAME%`
)

// envoyOperators are the known operators, without arguments other than those of REQ and RESP.
var envoyOperators = map[string]slot{
	"START_TIME": slotISO, "DURATION": slotDuration, "RESPONSE_CODE": slotStatus, "REQ(:METHOD)": slotMethod,
	"REQ(:PATH)": slotTarget, "REQ(:AUTHORITY)": slotHost, "DOWNSTREAM_REMOTE_ADDRESS": slotAddress,
	"DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT": slotAddress,
}

// envoyNames are the keys of a log in JSON, as Istio has them.
var envoyNames = map[string]slot{
	"start_time": slotISO, "duration": slotDuration, "response_code": slotStatus, "method": slotMethod,
	"path":      slotTarget,
	"authority": slotHost, "downstream_remote_address": slotAddress,
}

func newEnvoy(o Options, w widths) (layout, *table, error) {
	if len(o.Columns) > 0 {
		return nil, nil, &OptionError{"Columns", "columns", "text has none",
			"give the format string as --log-format"}
	}
	t, err := newTable(envoyOperators, nil)
	return &envoy{envoyTimes: envoyTimes{w}, format: o.Layout, t: t, lengths: map[string]int{},
		most: map[slot]int{}}, t, err
}

func (e *envoy) ready(fields []field) error {
	formats := []string{envoyDefault, envoyIstio}
	if e.format != "" {
		formats = []string{strings.TrimSuffix(e.format, `\n`)}
	}
	for _, format := range formats {
		if err := e.add(format, e.variable, e.t); err != nil {
			return err
		}
	}
	for name, most := range e.lengths {
		if s, ok := e.t.slots[name]; ok && most > 0 {
			e.most[s] = most
		}
	}
	if !e.has[slotISO] {
		return &OptionError{"Layout", "format string", "it has no %START_TIME%", ""}
	}
	return e.lacks("format string", append(fields, sharedNames["status"]))
}

// operator drops arguments and lengths that do not matter: START_TIME(%s.%3f),
// REQ(X-ENVOY-ORIGINAL-PATH?:PATH):99, RESP(AGE):9.
func operator(name string) string {
	if inner, ok := strings.CutPrefix(name, "RESP("); ok {
		inner, _, _ = strings.Cut(inner, ")")
		return "RESP(" + strings.ToUpper(inner) + ")"
	}
	if inner, ok := strings.CutPrefix(name, "REQ("); ok {
		inner, _, _ = strings.Cut(inner, ")")
		if _, other, ok := strings.Cut(inner, "?"); ok && other == ":PATH" {
			inner = other
		}
		return "REQ(" + strings.ToUpper(inner) + ")"
	}
	name, _, _ = strings.Cut(name, "(")
	return name
}

// variable finds %NAME%, %NAME(arguments)% or %NAME(arguments):9%.
func (e *envoy) variable(format string) (before, name, after string, found bool, err error) {
	before, rest, found := strings.Cut(format, "%")
	if !found {
		return format, "", "", false, nil
	}
	depth := 0
	for i, c := range rest {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == '%' && depth == 0 && i > 0:
			name := operator(rest[:i])
			if _, known := e.lengths[name]; !known {
				_, length, _ := cutLast([]byte(rest[:i]), ':')
				e.lengths[name], _ = strconv.Atoi(string(length)) // 0 if it is no length
			}
			return before, name, rest[i+1:], true, nil
		}
	}
	return "", "", "", false,
		&OptionError{"Layout", quote("%" + rest), "a second % ends the name of an operator", ""}
}

func (e *envoy) split(line []byte, v values) flaw {
	if !e.patterns.split(line, v, nil) {
		return flaw{what: "line " + quote(line),
			why:  "it does not have the form of the format string, or can be read in two ways",
			mend: "give the format string of this log as --log-format"}
	}
	for s := range v {
		if none(v[s]) {
			v[s] = nil
		}
	}
	if v[slotAddress] != nil {
		v[slotAddress] = withoutPort(v[slotAddress])
	}
	return flaw{}
}

// lost: the log has nine bytes of %REQ(X-API-KEY):9%, with which several keys may begin.
func (e *envoy) lost(f field, value []byte) flaw {
	most := e.most[f.slot]
	if most == 0 || len(value) < most {
		return flaw{}
	}
	return flaw{what: f.name + " " + quote(value),
		why:  fmt.Sprintf("the format keeps only its first %d bytes, which other values may share", most),
		mend: fmt.Sprintf("log it without :%d", most)}
}

// own: the header field X-Api-Key is REQ(X-API-KEY).
func (e *envoy) own(name string) (string, bool) {
	if headerLike(name) && !strings.Contains(name, "(") && strings.ToUpper(name) != name {
		return "REQ(" + strings.ToUpper(name) + ")", true
	}
	return operator(name), true
}

// envoyTimes are the times of Envoy, in text and in JSON.
type envoyTimes struct{ widths }

// readingsApart is how long a thread may stand still between two readings of clocks.
const readingsApart = 10 * time.Millisecond

func (e envoyTimes) span(v values) (span, flaw) {
	start, ok := iso(v[slotISO], time.UTC)
	if !ok {
		start, ok = decimal(v[slotISO], second) // %START_TIME(%s.%3f)%
	}
	if v[slotISO] == nil {
		return span{}, flaw{what: "no start time", why: "a request has the time when it began",
			mend: "log %START_TIME%, in JSON as start_time"}
	}
	if !ok {
		return span{}, flaw{what: "start time " + quote(v[slotISO]),
			why: "a time such as 2026-11-20T10:00:00.000Z is needed"}
	}
	if start.ns < earliest {
		return span{}, earlyFlaw("start time", v[slotISO])
	}
	duration, ok := decimal(v[slotDuration], millisecond)
	switch {
	case none(v[slotDuration]) && e.max > 0:
		duration = moment{int64(e.max), 0}
	case none(v[slotDuration]):
		return span{}, flaw{what: "no duration", why: "without it the end of the request is unknown",
			mend: "log %DURATION%, or give --max-duration D, an upper bound of how long a request took"}
	case !ok:
		return span{}, flaw{what: "duration " + quote(v[slotDuration]),
			why: "a number of milliseconds is needed"}
	}
	end := start.ns + duration.ns
	return span{from: start.ns, to: end + start.step + duration.step + drift(duration.ns) +
		e.or(readingsApart), end: end}, flaw{}
}
