package accesslog

import (
	"bytes"
	"strings"
	"time"
)

// nginx reads logs of nginx in the format "combined", in the format "main" of its packages, either of them
// followed by name=value pairs, or in any log_format. These pairs give intervals a millisecond wide, instead
// of seconds:
//
//	log_format rlcheck '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent '
//	                   '"$http_referer" "$http_user_agent" msec=$msec request_time=$request_time '
//	                   'host="$host" http_x_api_key="$http_x_api_key"';
//
// $msec is the time of the log write, after the last byte was sent, in milliseconds. $time_iso8601 and
// $time_local are the same in seconds. $request_time is the time from the first byte that was read of the
// request to the log write, in milliseconds (nginx.org, ngx_http_log_module and ngx_http_core_module).
//
// All are cut off, not rounded. They come from the clock that nginx reads once a turn of its event loop
// (ngx_time_update). So $msec - $request_time is exactly the reading at the beginning, and the true time is
// not before it. The interval is
//
//	[ end - $request_time, end + one step of the end + lag ]
//
// The lag is by default 100 ms. A busy worker decides later than the reading of its clock says, and a limit
// that several workers share is decided in the order of true time. Without $request_time, a longest duration
// D must be given; then the beginning is not before end - D.
//
// $request_completion, if it is logged, is OK if the answer was sent to its last byte. Otherwise a client may
// have left before.
//
// Values are escaped as \xXX (log_format, escape=default). If the clock of the machine was set back during a
// request, its request_time is logged as 0.
type nginx struct {
	patterns
	nginxTimes
	// format is the log_format. Empty: a known format.
	format string
	t      *table
}

// usualLag is how much later than its clock says a busy event loop may decide.
const usualLag = 100 * time.Millisecond

const (
	nginxCombined = `$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"`
	nginxMain     = nginxCombined + ` "$http_x_forwarded_for"`
)

// nginxNames are the known variables.
var nginxNames = map[string]slot{
	"msec": slotMsec, "time_iso8601": slotISO, "time_local": slotCLF, "request_time": slotDuration,
	"status":  slotStatus,
	"request": slotRequest, "request_method": slotMethod, "request_uri": slotTarget, "uri": slotTarget,
	"host":      slotHost,
	"http_host": slotHost, "remote_addr": slotAddress, "remote_user": slotUser,
	"request_completion": slotCompletion,
}

func newNginx(o Options, w widths) (layout, *table, error) {
	t, err := newTable(nginxNames, o.Columns)
	return &nginx{nginxTimes: nginxTimes{w}, format: o.Layout, t: t}, t, err
}

func (n *nginx) ready(fields []field) error {
	formats := []string{n.format}
	if n.format == "" {
		formats = []string{nginxMain, nginxCombined}
	}
	for _, format := range formats {
		if err := n.add(format, nginxVariable, n.t); err != nil {
			return err
		}
		n.all[len(n.all)-1].closed = n.format == "" // quotes are escaped
	}
	if n.format == "" {
		// The pairs may have everything.
		return nil
	}
	if !n.has[slotMsec] && !n.has[slotISO] && !n.has[slotCLF] {
		return &OptionError{"Layout", "log_format", "it has no $msec, $time_iso8601 or $time_local", ""}
	}
	return n.lacks("log_format", append(fields, sharedNames["status"]))
}

// nginxVariable finds $name or ${name}.
func nginxVariable(format string) (before, name, after string, found bool, err error) {
	before, rest, found := strings.Cut(format, "$")
	if !found {
		return format, "", "", false, nil
	}
	if inner, after, ok := strings.Cut(rest, "}"); ok && strings.HasPrefix(inner, "{") {
		return before, inner[1:], after, true, nil
	}
	n := 0
	for n < len(rest) && (rest[n] == '_' || rest[n] >= '0' && rest[n] <= '9' || rest[n]|0x20 >= 'a' &&
		rest[n]|0x20 <= 'z') {
		n++
	}
	if n == 0 {
		return "", "", "", false, &OptionError{"Layout", `"$"`, "a variable name must follow", ""}
	}
	return before, rest[:n], rest[n:], true, nil
}

func (n *nginx) split(line []byte, v values) flaw {
	if !n.patterns.split(line, v, n.t.slots) {
		mend := ""
		if n.format == "" {
			mend = "give the log_format of this log as --log-format"
		}
		return flaw{what: "line " + quote(line),
			why: "it does not have the form of the log_format, or can be read in two ways", mend: mend}
	}
	for s := range v {
		v[s] = unescape(v[s], `\x`)
		if slot(s) != slotRequest && none(v[s]) {
			v[s] = nil
		}
	}
	return flaw{}
}

// own: the header field X-Api-Key is $http_x_api_key.
func (n *nginx) own(name string) (string, bool) { return nginxName(name, n.t.slots), true }

// nginxName returns the variable for a user's name.
func nginxName(name string, known map[string]slot) string {
	if _, ok := known[name]; ok || !headerLike(name) {
		return name
	}
	return "http_" + snake(name)
}

// headerLike tells whether a name looks like that of a header field: it has a capital letter or a dash, and
// no dot or underscore.
func headerLike(name string) bool {
	return strings.ToLower(name) != name && !strings.ContainsAny(name, "._") || strings.Contains(name, "-")
}

func snake(name string) string { return strings.ReplaceAll(strings.ToLower(name), "-", "_") }

// nginxTimes are the times of nginx, in its own layouts and in JSON.
type nginxTimes struct{ widths }

func (n nginxTimes) span(v values) (span, flaw) {
	end, f := n.end(v)
	if f.found() {
		return span{}, f
	}
	to := end.ns + end.step + n.or(usualLag)
	whole := string(v[slotCompletion]) == "OK"
	duration, ok := decimal(v[slotDuration], second)
	if v[slotDuration] != nil && !ok {
		return span{}, flaw{what: "request_time " + quote(v[slotDuration]),
			why: "a number of seconds is needed"}
	}
	if !ok {
		if n.max <= 0 {
			return span{}, missingDuration("log $request_time, or give --max-duration D, an upper " +
				"bound of how long a request took")
		}
		return span{from: end.ns - int64(n.max), to: to, end: end.ns, whole: whole}, flaw{}
	}
	from := end.ns - duration.ns
	if duration.step > millisecond {
		from -= duration.step // something cut its digits off
	}
	return span{from: from, to: to, end: end.ns, whole: whole}, flaw{}
}

// end reads the finest time of the log write.
func (n nginxTimes) end(v values) (moment, flaw) {
	if b := v[slotMsec]; b != nil {
		m, ok := decimal(b, second)
		if ok && m.ns < earliest {
			return m, earlyFlaw("msec", b)
		}
		if !ok {
			return m, flaw{what: "msec " + quote(b), why: "a number of seconds since 1970 is needed"}
		}
		return m, flaw{}
	}
	if b := v[slotISO]; b != nil {
		m, ok := iso(b, nil)
		if !ok {
			return m, flaw{what: "time " + quote(b),
				why: "a time such as 2026-11-20T10:00:00+00:00 is needed"}
		}
		return m, flaw{}
	}
	if v[slotCLF] == nil {
		return moment{}, flaw{what: "no time", why: "a line has msec, time_iso8601 or time_local",
			mend: "log $msec"}
	}
	m, ok := commonLog(v[slotCLF], nil)
	if !ok {
		return m, flaw{what: "time " + quote(v[slotCLF]),
			why: "a time such as 20/Nov/2026:10:00:00 +0000 is needed"}
	}
	return m, flaw{}
}

// unescape decodes bytes that are written as mark and two hexadecimal digits. It returns b itself if there
// are none.
func unescape(b []byte, mark string) []byte {
	if !bytes.Contains(b, []byte(mark)) {
		return b
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if j := i + len(mark); j+2 <= len(b) && string(b[i:j]) == mark && hex(b[j]) < 16 && hex(b[j+1]) < 16 {
			out = append(out, hex(b[j])<<4|hex(b[j+1]))
			i = j + 1
			continue
		}
		out = append(out, b[i])
	}
	return out
}

func hex(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	default:
		return 16
	}
}
