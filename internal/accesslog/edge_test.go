package accesslog

import (
	"bytes"
	"compress/gzip"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// ms returns an instant in the minute of the edge cases, from milliseconds.
func ms(t float64) time.Time {
	return time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC).Add(time.Duration(t * float64(time.Millisecond)))
}

const combined = `10.0.0.1 - - [20/Nov/2026:10:00:07 +0000] "GET /a HTTP/1.1" 200 3 "-" "ua"`

// edgeCases are single lines and what is read from each. After the name and the line comes the interval, in
// milliseconds since 10:00:00, with the partition and the status; or the error.
var edgeCases = []struct {
	name, line string
	o          Options
	from, to   float64
	partition  string
	status     int
	wrong      string
}{
	{name: "nginx: a clock of seconds, a duration of milliseconds", line: combined + " request_time=0.250",
		o:    Options{Format: Nginx},
		from: 6750, to: 8100, partition: "10.0.0.1", status: 200},
	{name: "nginx: milliseconds go before seconds",
		line: combined + " request_time=0.250 msec=1795168807.900", o: Options{Format: Nginx},
		from: 7650, to: 8001, partition: "10.0.0.1", status: 200},
	{name: "nginx: a lag of nothing", line: combined + " request_time=0.250 msec=1795168807.900",
		o:    Options{Format: Nginx, LagSet: true},
		from: 7650, to: 7901, partition: "10.0.0.1", status: 200},
	{name: "nginx: a duration whose digits were cut off",
		line: combined + " request_time=0.2 msec=1795168807.900", o: Options{Format: Nginx},
		from: 7600, to: 8001, partition: "10.0.0.1", status: 200},
	{name: "nginx: a time whose digits were cut off",
		line: combined + " request_time=0.200 msec=1795168807.9", o: Options{Format: Nginx},
		from: 7700, to: 8100, partition: "10.0.0.1", status: 200},
	{name: "nginx: a longest duration", line: combined,
		o:    Options{Format: Nginx, MaxDuration: 2 * time.Second},
		from: 5000, to: 8100, partition: "10.0.0.1", status: 200},
	{name: "nginx: a duration that is known goes before the longest",
		line: combined + " request_time=0.010 msec=1795168807.900",
		o:    Options{Format: Nginx, MaxDuration: 2 * time.Second}, from: 7890, to: 8001,
		partition: "10.0.0.1",
		status:    200},
	{name: "nginx: no duration", line: combined, o: Options{Format: Nginx},
		wrong: "1: no duration: without it the start of a request is unknown"},
	{name: "nginx: an address of version 6", line: strings.Replace(combined, "10.0.0.1", "2001:db8::1", 1),
		o:    Options{Format: Nginx, MaxDuration: time.Second},
		from: 6000, to: 8100, partition: "2001:db8::1", status: 200},
	{name: "nginx: an offset", line: strings.Replace(combined, "10:00:07 +0000", "15:30:07 +0530", 1),
		o:    Options{Format: Nginx, MaxDuration: time.Second},
		from: 6000, to: 8100, partition: "10.0.0.1", status: 200},
	{name: "nginx: a user that pretends to be a line",
		line:  `10.0.0.1 - x [20/Nov/2026:10:00:01 +0000] GET / 200 [20/Nov/2026:10:00:07 +0000] "GET /a HTTP/1.1" 200 3 "-" "ua"`,
		o:     Options{Format: Nginx, MaxDuration: time.Second},
		wrong: "or can be read in two ways"},
	{name: "nginx: a user with spaces", line: strings.Replace(combined, "- - [", "- john doe [", 1),
		o:    Options{Format: Nginx, MaxDuration: time.Second, PartitionBy: "user"},
		from: 6000, to: 8100, partition: "john doe", status: 200},
	{name: "nginx: bytes that are no UTF-8",
		line: combined + ` request_time=0.000 http_x_api_key="a\xFF\x22"`,
		o:    Options{Format: Nginx, PartitionBy: "X-Api-Key"},
		from: 7000, to: 8100, partition: `a\xff"`, status: 200},
	{name: "nginx: a replacement character, which no partition has",
		line: combined + ` request_time=0.000 http_x_api_key="a\xEF\xBF\xBD"`,
		o:    Options{Format: Nginx, PartitionBy: "X-Api-Key"},
		from: 7000, to: 8100, partition: `a\xef\xbf\xbd`, status: 200},
	{name: "nginx: text behind the line", line: combined + ` 0.250`, o: Options{Format: Nginx},
		wrong: "1: line"},
	{name: "nginx: cut in the middle", line: combined[:60], o: Options{Format: Nginx},
		wrong: "it is the last line and has no end"},
	{name: "nginx: a status that is none", line: strings.Replace(combined, " 200 ", " 2000 ", 1),
		o: Options{Format: Nginx}, wrong: `1: status "2000": a status of three digits is needed`},
	{name: "nginx: an aborted request", line: strings.Replace(combined, " 200 ", " 000 ", 1),
		o:    Options{Format: Nginx, MaxDuration: time.Second},
		from: 6000, to: 8100, partition: "10.0.0.1", status: 0},
	{name: "nginx: a day that does not exist", line: strings.Replace(combined, "20/Nov", "31/Nov", 1),
		o: Options{Format: Nginx, MaxDuration: 1}, wrong: `1: time_local "31/Nov/2026`},
	{name: "nginx: a number that is too large", line: combined + " msec=99999999999999999999.000",
		o: Options{Format: Nginx, MaxDuration: 1}, wrong: `1: msec "9999`},
	{name: "nginx: other names", line: combined + " rt=0.250 ts=1795168807.900",
		o:    Options{Format: Nginx, Columns: map[string]string{"request_time": "rt", "msec": "ts"}},
		from: 7650, to: 8001, partition: "10.0.0.1", status: 200},
	{name: "nginx: a layout", line: "0.250 1795168807.900 429 /x?y=1",
		o:    Options{Format: Nginx, Layout: "$request_time $msec $status $request_uri", PartitionBy: "path"},
		from: 7650, to: 8001, partition: "/x", status: 429},
	{name: "nginx: a line that lost its beginning", line: "95168807.900 0.250 429 /x?y=1",
		o: Options{Format: Nginx, Layout: "$msec $request_time $status $request_uri",
			PartitionBy: "path"},
		wrong: `1: msec "95168807.900": it is before the year 2001: the start of the line is cut`},
	{name: "nginx: a layout that a client has made ambiguous", line: "0.250|1795168807.900|key|200|/x|429|/y",
		o: Options{Format: Nginx, Layout: "$request_time|$msec|$http_x_api_key|$status|$request_uri",
			PartitionBy: "none"}, wrong: "or can be read in two ways"},

	{name: "nginx-json: numbers without quotes",
		line: `{"msec":1795168807.900,"request_time":0.250,"status":429,"remote_addr":"10.0.0.1"}`,
		o:    Options{Format: NginxJSON},
		from: 7650, to: 8001, partition: "10.0.0.1", status: 429},
	{name: "nginx-json: white space and members that are not needed",
		line: ` { "a" : { "status" : [ 1, {"b":"}"} ] } , "time_iso8601" : "2026-11-20T11:00:07+01:00" , "request_time" : "1.000", "status" : "200", "remote_addr":"a" } `,
		o:    Options{Format: NginxJSON}, from: 6000, to: 8100, partition: "a", status: 200},
	{name: "nginx-json: a path of keys",
		line: `{"msec":"1795168807.900","request_time":"0.250","status":"200","client":{"tags":["x","gold"]}}`, o: Options{Format: NginxJSON, PartitionBy: "client.tags.1"},
		from: 7650, to: 8001, partition: "gold", status: 200},
	{name: "nginx-json: a value without quotes that is empty",
		line: `{"msec":"1795168807.900","request_time":,"status":"200"}`, o: Options{Format: NginxJSON},
		wrong: "1: line"},
	{name: "nginx-json: a list", line: `[1]`, o: Options{Format: NginxJSON},
		wrong: `there is nothing to judge`},
	{name: "nginx-json: escapes",
		line: `{"msec":"1795168807.900","request_time":"0.250","status":"200","http_x_api_key":"\u00e9\ud83d\ude00\"\\\/\n"}`, o: Options{Format: NginxJSON, PartitionBy: "X-Api-Key"},
		from: 7650, to: 8001, partition: "é😀\"\\/\n", status: 200},
	{name: "nginx-json: of two members with one name the first counts",
		line: `{"msec":"1795168807.900","request_time":"0.250","status":"200","status":"429","remote_addr":"a"}`, o: Options{Format: NginxJSON},
		from: 7650, to: 8001, partition: "a", status: 200},

	{name: "haproxy: timers of a request that was never sent on",
		line: `10.0.0.1:1 [20/Nov/2026:10:00:07.100] f f/<NOSRV> 3/-1/-1/-1/250 429 0 - - PR-- 1/1/0/0/0 0/0 "GET / HTTP/1.1"`,
		o:    Options{Format: HAProxy, Zone: time.UTC}, from: 7100, to: 7100 + 1 + 250 + 2 + .25 + 100,
		partition: "10.0.0.1", status: 429},
	{name: "haproxy: a last timer of -1",
		line:  `10.0.0.1:1 [20/Nov/2026:10:00:07.100] f f/<NOSRV> -1/-1/-1/-1/-1 400 0 - - CR-- 1/1/0/0/0 0/0 "<BADREQ>"`,
		o:     Options{Format: HAProxy},
		wrong: `1: no duration: without it the start of a request is unknown (log Ta, or give --max-duration D`},
	{name: "haproxy: a last timer of -1, with a longest duration",
		line: `10.0.0.1:1 [20/Nov/2026:10:00:07.100] f f/<NOSRV> -1/-1/-1/-1/-1 400 0 - - CR-- 1/1/0/0/0 0/0 "<BADREQ>"`,
		o:    Options{Format: HAProxy, MaxDuration: time.Second}, from: 7100, to: 7100 + 1 + 1000 + 2 + 1 +
			100,
		partition: "10.0.0.1", status: 400},
	{name: "haproxy: a zone",
		line: `10.0.0.1:1 [20/Nov/2026:11:00:07.100] f f/s 0/0/0/0/0 200 0 - - PR-- 1/1/0/0/0 0/0 "GET / HTTP/1.1"`,
		o:    Options{Format: HAProxy, Zone: time.FixedZone("", 3600)}, from: 7100, to: 7203,
		partition: "10.0.0.1", status: 200},
	{name: "haproxy: a unix socket",
		line: `unix:2 [20/Nov/2026:10:00:07.100] f f/s 0/0/0/0/0 200 0 - - PR-- 1/1/0/0/0 0/0 "GET / HTTP/1.1"`,
		o:    Options{Format: HAProxy}, from: 7100, to: 7203, partition: "unix", status: 200},
	{name: "haproxy: captures with spaces and a bar",
		line: `h haproxy[1]: 10.0.0.1:1 [20/Nov/2026:10:00:07.100] f f/s 0/0/0/0/0 200 0 - - PR-- 1/1/0/0/0 0/0 {a b|c d#7C} {text html} "GET / HTTP/1.1"`,
		o:    Options{Format: HAProxy, PartitionBy: "capture2"}, from: 7100, to: 7203, partition: "c d|",
		status: 200},
	{name: "haproxy: cut by the syslog",
		line: `10.0.0.1:1 [20/Nov/2026:10:00:07.100] f f/s 0/0/0/0/0 200 0 - - PR-- 1/1/0/0/0 0/0 "GET /long`,
		o:    Options{Format: HAProxy}, wrong: "it is the last line"},
	{name: "haproxy: a line of option tcplog",
		line: `10.0.0.1:1 [20/Nov/2026:10:00:07.100] f f/s 0/0/5007 212 -- 0/0/0/0/3 0/0`,
		o:    Options{Format: HAProxy}, wrong: "1: line"},
	{name: "haproxy: a line of its own", line: `Server web/n1 is DOWN, reason: Layer4 timeout`,
		o: Options{Format: HAProxy}, wrong: "1: line"},

	{name: "envoy: milliseconds",
		line: `[2026-11-20T10:00:07.100Z] "GET /a HTTP/2" 200 - 0 0 250 1 "k" "ua" "id" "h" "u"`,
		o:    Options{Format: Envoy, PartitionBy: "X-Forwarded-For"},
		from: 7100, to: 7100 + 1 + 250 + 1 + .25 + 10, partition: "k", status: 200},
	{name: "envoy: a request without an end",
		line:  `[2026-11-20T10:00:07.100Z] "GET /a HTTP/2" 0 DC 0 0 - - "k" "ua" "id" "h" "u"`,
		o:     Options{Format: Envoy, PartitionBy: "X-Forwarded-For"},
		wrong: "1: no duration"},
	{name: "envoy: a value that ends its own quotes",
		line: `[2026-11-20T10:00:07.100Z] "GET /a HTTP/2" 200 - 0 0 250 1 "k" "ua" "evil" "id" "h" "u"`,
		o:    Options{Format: Envoy, PartitionBy: "X-Forwarded-For"}, wrong: "1: line"},
	{name: "envoy: a layout", line: `1795168807.100 250 10.0.0.1:5 alice 429`,
		o: Options{Format: Envoy, PartitionBy: "X-Api-Key",
			Layout: `%START_TIME(%s.%3f)% %DURATION% %DOWNSTREAM_REMOTE_ADDRESS% %REQ(x-api-key):20% %RESPONSE_CODE%\n`},
		from: 7100, to: 7100 + 1 + 250 + 1 + .25 + 10, partition: "alice", status: 429},
	{name: "envoy: a line that lost its beginning", line: `795168807.100 250 10.0.0.1:5 429`,
		o: Options{Format: Envoy,
			Layout: `%START_TIME(%s.%3f)% %DURATION% %DOWNSTREAM_REMOTE_ADDRESS% %RESPONSE_CODE%`},
		wrong: `1: START_TIME "795168807.100": it is before the year 2001`},
	{name: "envoy-json: an address with a port",
		line: `{"start_time":"2026-11-20T10:00:07.100Z","duration":"250","response_code":429,"downstream_remote_address":"[2001:db8::1]:99"}`,
		o:    Options{Format: EnvoyJSON}, from: 7100, to: 7100 + 1 + 250 + 1 + .25 + 10,
		partition: "2001:db8::1", status: 429},
	{name: "envoy-json: another name",
		line: `{"t":"2026-11-20T10:00:07.100Z","duration":0,"response_code":429,"route":"r"}`,
		o:    Options{Format: EnvoyJSON, PartitionBy: "route", Columns: map[string]string{"start_time": "t"}},
		from: 7100, to: 7112, partition: "r", status: 429},

	{name: "caddy: seconds in floating point",
		line: `{"logger":"http.log.access","ts":1795168807.9000001,"request":{"remote_ip":"a"},"duration":0.25,"status":200}`, o: Options{Format: Caddy},
		from: 7900.0001 - 250 - 10 - .26 - 10 - .001, to: 7900.0001 + .0001 + .001, partition: "a",
		status: 200},
	{name: "caddy: a route of errors",
		line: `{"logger":"http.log.access","ts":1795168807.9000001,"request":{"remote_ip":"a"},"duration":0.250000001,"status":429}`, o: Options{Format: Caddy},
		from: 7900.0001 - 250.000002 - .250 - 100 - .001, to: 7900.0001 + .0001 + .001, partition: "a",
		status: 429},
	{name: "caddy: an address with a port, before version 2.5",
		line: `{"ts":1795168807.9000001,"request":{"remote_addr":"10.0.0.1:4711"},"duration":0.250000001,"status":429}`, o: Options{Format: Caddy},
		from: 7900.0001 - 250.000002 - .250 - 100 - .001, to: 7900.0001 + .0001 + .001, partition: "10.0.0.1",
		status: 429},
	{name: "caddy: nanoseconds",
		line: `{"ts":1795168807900000000,"request":{"remote_ip":"a"},"duration":0.250000001,"status":200}`,
		o:    Options{Format: Caddy, LagSet: true},
		from: 7900 - 250.000002 - .250 - .001, to: 7900.001001, partition: "a", status: 200},
	{name: "caddy: a time in words, a duration in Go's form",
		line: `{"ts":"2026-11-20T10:00:07.900Z","request":{"remote_ip":"a"},"duration":"250ms","status":200}`,
		o:    Options{Format: Caddy, LagSet: true},
		from: 7900 - 250 - 1 - .251 - .001, to: 7901.001, partition: "a", status: 200},
	{name: "caddy: whole seconds are coarse",
		line: `{"ts":1795168807,"request":{"remote_ip":"a"},"duration":0.000000001,"status":200}`,
		o:    Options{Format: Caddy, LagSet: true},
		from: 7000 - .001002, to: 8000.001, partition: "a", status: 200},

	{name: "alb: both ends",
		line: `http 2026-11-20T10:00:07.900000Z app/x 10.0.0.1:1 - 0 0 0 429 - 0 0 "GET http://h:80/p?q HTTP/1.1" "ua" - - - "r" "-" "-" 0 2026-11-20T10:00:07.100000Z`,
		o:    Options{Format: ALB, PartitionBy: "path"}, from: 7100 - 10.001, to: 7900 + .001 + .001 + 10,
		partition: "/p", status: 429},
	{name: "alb: an old line",
		line: `http 2026-11-20T10:00:07.900000Z app/x 10.0.0.1:1 - 0 0 0 429 - 0 0 "GET http://h:80/p?q HTTP/1.1" "ua" - - - "r"`,
		o:    Options{Format: ALB}, wrong: "1: line"},
	{name: "alb: an answer before its request",
		line: `http 2026-11-20T10:00:07.000000Z app/x 10.0.0.1:1 - 0 0 0 429 - 0 0 "GET / HTTP/1.1" "ua" - - - "r" "-" "-" 0 2026-11-20T10:00:07.100000Z`,
		o:    Options{Format: ALB}, wrong: "an answer cannot have been sent before"},
	{name: "alb: a quote inside",
		line: `http 2026-11-20T10:00:07.900000Z app/x 10.0.0.1:1 - 0 0 0 429 - 0 0 "GET / HTTP/1.1" "a "5" b" - - - "r" "-" "-" 0 2026-11-20T10:00:07.100000Z`,
		o:    Options{Format: ALB}, wrong: `1: request_creation_time "0"`},
}

func TestEdgeCases(t *testing.T) {
	for _, c := range edgeCases {
		t.Run(c.name, func(t *testing.T) {
			text := c.line
			if !strings.Contains(c.wrong, "last line") {
				text += "\n"
			}
			l, err := Read(strings.NewReader(text), "x.log", c.o)
			if c.wrong != "" {
				var errs timeline.Errors
				if !errors.As(err, &errs) || !strings.Contains(err.Error(), c.wrong) ||
					!strings.HasPrefix(err.Error(), "x.log:1: ") {
					t.Fatalf("got %v, want x.log:1: ...%s", err, c.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			sound(t, l)
			o, zero := l.Timeline().Observations[0], l.Header.Started
			within := func(what string, got, want time.Time) {
				// the wants are floating point, so that a nanosecond may differ
				if d := got.Sub(want); d < -time.Nanosecond || d > time.Nanosecond {
					t.Errorf("%s: got %s, want %s", what, got, want)
				}
			}
			within("from", zero.Add(o.Sent), ms(c.from))
			within("to", zero.Add(o.FirstByte), ms(c.to))
			if o.Partition != c.partition || o.Status != c.status || o.Answered != (c.status > 0) {
				t.Errorf("got %q %d %t, want %q %d", o.Partition, o.Status, o.Answered, c.partition, c.status)
			}
		})
	}
}

func TestOptionsThatDoNotFit(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{"a format that is none", Options{Format: "iis"},
			`format "iis": it is one of [nginx nginx-json haproxy`},
		{"a layout where there is one", Options{Format: HAProxy, Layout: "x"},
			`layout "x": the form of haproxy is fixed`},
		{"a log_format without a time", Options{Format: Nginx, Layout: "$remote_addr $status"},
			`the format: it has no time of a request (log $msec, or $time_iso8601, or $time_local)`},
		{"a log_format without a status", Options{Format: Nginx, Layout: "$remote_addr $msec"},
			`field "status": the format does not have it`},
		{"a log_format without the partition", Options{Format: Nginx, Layout: "$remote_addr $msec $status",
			PartitionBy: "X-Api-Key"}, `field "X-Api-Key": the format does not have it`},
		{"a log_format without a condition's field",
			Options{Format: Nginx, Layout: "$remote_addr $msec $status", Match: []Match{{Field: "path"}}},
			`field "path": the format does not have it`},
		{"variables side by side", Options{Format: Nginx, Layout: "$remote_addr$msec $status"},
			`"msec": nothing separates it from the variable before it`},
		{"a dollar that begins no variable", Options{Format: Nginx, Layout: "$ $msec"},
			`"$": a variable name must follow`},
		{"an operator without an end", Options{Format: Envoy, Layout: "%START_TIME"},
			`"%START_TIME": a second % ends the name of an operator`},
		{"the address in the default format of Envoy", Options{Format: Envoy, Layout: envoyDefault},
			`field "address": the format does not have it`},
		{"a header field in a log of HAProxy", Options{Format: HAProxy, PartitionBy: "X-Api-Key"},
			`field "X-Api-Key": a log of haproxy does not have it (capture request header X-Api-Key`},
		{"the host in a log of HAProxy", Options{Format: HAProxy, Match: []Match{{Field: "host"}}},
			`field "host": the format does not have it (capture request header Host len 64`},
		{"the user in a log of ALB", Options{Format: ALB, PartitionBy: "user"},
			`field "user": the format does not have it`},
		{"a column that is none", Options{Format: NginxJSON, Columns: map[string]string{"latency": "l"}},
			`column "latency": this format has host, http_host, msec,`},
		{"a negative duration", Options{Format: ALB, Lag: -1},
			"a lag of -1ns: it may not be negative, and is at most 87600h0m0s"},
		{"a lag that overflows", Options{Format: Nginx, Lag: math.MaxInt64},
			"a lag of 2562047h47m16.854775807s: it may not be negative, and is at most"},
		{"a longest duration that overflows", Options{Format: HAProxy, MaxDuration: math.MaxInt64},
			"the longest duration of 2562047h47m16.854775807s: it may not"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(strings.NewReader(""), "x.log", c.o)
			var bad *text.Problem
			if !errors.As(err, &bad) || !strings.HasPrefix(err.Error(), c.want) &&
				!strings.HasSuffix(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// TestBadLines: each kind of problem of a log is reported once, with its first line and its count. If they
// are only counted, the log accuses no denial.
func TestBadLines(t *testing.T) {
	good := combined + " request_time=0.001\n"
	text := good + strings.Repeat("bad\n", 12) + good
	_, err := Read(strings.NewReader(text), "x.log", Options{Format: Nginx})
	var errs timeline.Errors
	if !errors.As(err, &errs) || len(errs) != 1 || errs[0].Line != 2 || errs[0].More != 11 {
		t.Fatalf("got %v", err)
	}
	l, err := Read(strings.NewReader(text), "x.log", Options{Format: Nginx, SkipBad: true})
	if err != nil {
		t.Fatal(err)
	}
	sound(t, l)
	if l.Skipped != 12 || l.FirstSkipped.Line != 2 || !l.Lossy || l.Len() != 2 {
		t.Errorf("got %d skipped, first %v, lossy %t", l.Skipped, l.FirstSkipped, l.Lossy)
	}
	if l, err = Read(strings.NewReader(text), "x.log",
		Options{Format: Nginx, SkipBad: true, Complete: true}); err != nil || l.Lossy {
		t.Errorf("said to be complete: got lossy %t, %v", l.Lossy, err)
	}
	if l, err = Read(strings.NewReader(good+"cut in the mid"), "x.log",
		Options{Format: Nginx, SkipBad: true}); err != nil || l.Lossy || l.Skipped != 1 {
		t.Errorf("cut at the end: got lossy %t, %d skipped, %v: what is missing at the end is accounted for",
			l.Lossy, l.Skipped, err)
	}
	for name, c := range map[string]struct {
		text, want string
		o          Options
	}{
		"nothing": {"\n \n", "x.log:2: no request: there is nothing to judge",
			Options{Format: Nginx}},
		"nothing but bad lines": {"bad\nworse\n",
			`x.log:2: no request: none of 2 lines can be read; line 1 has line "bad": it does not have`,
			Options{Format: Nginx, SkipBad: true}},
		"nothing that matches": {good, "x.log:1: no request: none of 1 matches",
			Options{Format: Nginx, Match: []Match{{Field: "path", Glob: "/b"}}}},
		"nobody": {good, "x.log:1: no request: 1 have no X-Api-Key (use --log-partition to name the field",
			Options{Format: Nginx, PartitionBy: "X-Api-Key"}},
		"no status in JSON": {`{"msec":"1795168807.900","request_time":"0.250","code":"200","remote_addr":"10.0.0.1"}` + "\n", `x.log:1: no status: none of 1 lines has "status"`, Options{Format: NginxJSON}},
		"no status in JSON of " +
			"others": {`{"start_time":"2026-11-20T10:00:07.100Z","duration":"1","c":"200","downstream_remote_address":"a"}` + "\n", `x.log:1: no status: none of 1 lines has "response_code"`, Options{Format: EnvoyJSON}},
		"a long line": {good + strings.Repeat("x", timeline.MaxLine+1) + "\n" + good,
			"x.log:2: line of more than 1048576 bytes: a line has at most 1 MiB", Options{Format: Nginx}},
	} {
		if _, err := Read(strings.NewReader(c.text), "x.log", c.o); err == nil ||
			!strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}

// TestOrderAndCounts: requests ascend by their beginning, though logs are in the order of their ends. Every
// line is accounted for.
func TestOrderAndCounts(t *testing.T) {
	line := func(at, took string, path string) string {
		return `10.0.0.1 - - [20/Nov/2026:10:00:07 +0000] "GET ` + path +
			` HTTP/1.1" 200 3 "-" "ua" msec=1795168807.` + at + " request_time=" + took + "\n"
	}
	text := line("100", "0.050", "/b") + line("200", "0.190", "/a") + "\n" + line("300", "0.250", "/health") +
		line("300", "0.250", "/a")
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := Read(&z, "x.log.gz", Options{Format: Nginx, Match: []Match{{"path", "/health*", true}}})
	if err != nil {
		t.Fatal(err)
	}
	sound(t, l)
	var seqs []int
	for _, o := range l.Timeline().Observations {
		seqs = append(seqs, o.Seq)
	}
	if len(seqs) != 3 || seqs[0] != 2 || seqs[1] != 1 || seqs[2] != 5 || l.Lines != 4 || l.Unmatched != 1 {
		t.Errorf("got %v, %d lines, %d unmatched, want lines 2, 1, 5", seqs, l.Lines, l.Unmatched)
	}
	h := l.Header
	// This counts all lines, including those that do not match.
	if got := h.Started.Add(h.CompleteFrom); !got.Equal(ms(7201)) {
		t.Errorf("complete from %s, want the end of the first request", got)
	}
	if l, err = Read(strings.NewReader(text), "x.log", Options{Format: Nginx, Complete: true}); err != nil ||
		l.Header.CompleteFrom != 0 || l.Header.CompleteUntil != 0 {
		t.Errorf("said to be complete: got %+v, %v", l.Header, err)
	}
}

// TestTheEndOfALogIsOpen: requests may still have been in flight when the log ended. None of them is assumed
// to have begun earlier than the longest one of the log took.
func TestTheEndOfALogIsOpen(t *testing.T) {
	line := func(clock, took string) string {
		return `10.0.0.1 - - [20/Nov/2026:` + clock +
			` +0000] "GET / HTTP/1.1" 200 3 "-" "ua" request_time=` + took + "\n"
	}
	for _, c := range []struct {
		took string
		max  time.Duration
		want float64
	}{
		{"0.001", 0, 300_000 - 60_000 - 1000},
		{"90.000", 0, 300_000 - 91_100 - 1000}, // the longest of the log, plus its step and the lag
		{"90.000", 2 * time.Minute, 300_000 - 120_000 - 1000},
	} {
		l, err := Read(strings.NewReader(line("10:00:01", "0.001")+line("10:05:00", c.took)), "x",
			Options{Format: Nginx, MaxDuration: c.max})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := l.Header.Started.Add(l.Header.CompleteUntil), ms(c.want); !got.Equal(want) {
			t.Errorf("a request of %s, longest %s: got complete until %s, want %s", c.took, c.max, got, want)
		}
	}
}

// TestLocalTime: a log in local time needs a zone, as a change of local time would displace all that follows.
func TestLocalTime(t *testing.T) {
	line := func(clock string) string {
		return "10.0.0.1:1 [25/Oct/2026:" + clock +
			".000] f f/s 0/0/0/0/0 200 0 - - PR-- 1/1/0/0/0 0/0 \"GET / HTTP/1.1\"\n"
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		name, text string
		zone       *time.Location
		want       string
	}{
		{"set back", line("02:59:59") + line("02:00:00"), berlin, "x.log:2: time that runs back by 59m59s"},
		{"an hour of silence, no zone", line("01:59:59") + line("03:00:00"), nil,
			"x.log:2: time that leaps by 1h0m1s"},
		{"an hour of silence, a zone", line("10:59:59") + line("12:00:00"), berlin, ""},
		{"out of order by seconds", line("10:59:59") + line("10:59:50"), nil, ""},
	} {
		l, err := Read(strings.NewReader(c.text), "x.log", Options{Format: HAProxy, Zone: c.zone})
		if c.want == "" && err != nil || c.want != "" &&
			(err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
		if err == nil && l.ZoneUnknown != (c.zone == nil) {
			t.Errorf("%s: got zone unknown %t", c.name, l.ZoneUnknown)
		}
	}
}

func TestGlobs(t *testing.T) {
	for _, c := range []struct {
		match, value string
		want         bool
	}{
		{"path=/api/*", "/api/a/b", true}, {"path=/api/*", "/api/", true}, {"path=/api/*", "/api", false},
		{"path=/a*b*c", "/axxbyybzc", true},
		{"path=/a*b*c", "/axxbyybz", false}, {"path=*", "", true}, {"path=?", "x", true},
		{"path=?", "", false}, {"method!=GET", "POST", true},
		{"method!=GET", "GET", false}, {"path=", "", true}, {"path=a", "ab", false},
		{"path=*aab", "aaab", true}, {"path=*" + strings.Repeat("a*", 30) + "b", strings.Repeat("a", 5000),
			false},
	} {
		m, err := ParseMatch(c.match)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.meets([]byte(c.value)); got != c.want {
			t.Errorf("%s, %q: got %t, want %t", c.match, c.value, got, c.want)
		}
	}
	for _, bad := range []string{"", "path", "=x", "!=x"} {
		if _, err := ParseMatch(bad); err == nil {
			t.Errorf("%q: got no error", bad)
		}
	}
	if not := (Match{Field: "host", Glob: "a", Not: true}); !not.meets(nil) ||
		(Match{Field: "host", Glob: "*"}).meets(nil) {
		t.Error("a request without the field meets no condition but a negative one")
	}
}

func TestStatuses(t *testing.T) {
	s, err := ParseStatuses([]string{"2xx", "304", "4XX"})
	if err != nil {
		t.Fatal(err)
	}
	for status, want := range map[int]bool{200: true, 299: true, 300: false, 304: true, 404: true, 500: false,
		0: false, -1: false, 1000: false} {
		if slices.Contains(s, status) != want {
			t.Errorf("%d: got %t", status, !want)
		}
	}
	for _, bad := range []string{"", "2x", "xx", "0xx", "10xx", "99", "1000", "-200", "ok"} {
		if _, err := ParseStatuses([]string{bad}); err == nil {
			t.Errorf("%q: got no error", bad)
		}
	}
	for status, want := range map[int]timeline.Outcome{200: timeline.Allowed, 304: timeline.Allowed,
		301: timeline.Unknown, 404: timeline.Unknown, 429: timeline.Denied, 503: timeline.Unknown} {
		if got := StatusOutcome(status); got != want {
			t.Errorf("%d: got %s, want %s", status, got, want)
		}
	}
}
