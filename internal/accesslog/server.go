package accesslog

import (
	"bytes"
	"net/textproto"
	"strconv"
	"strings"
	"time"
)

// server is a row of the table of servers: how one writes its access log.
type server struct {
	format Format
	// text are its known formats, in its own notation. nil: its logs are in JSON.
	text []string
	// notation is that of its formats. nil: the format is fixed, in the notation of nginx.
	notation *notation
	// mark is how a value is written in a format, for messages. Empty: as its name.
	mark string
	// names are the known values.
	names map[string]slot
	// header and answered are the names of the field Xx-Yy of the request and of the answer, as the server
	// writes it: xx_yy, xx-yy, XX-YY or Xx-Yy. Empty: none.
	header, answered string
	// escape begins an escaped byte, which two hexadecimal digits follow. closed: values in quotes have no
	// bare quote, so a line can be read in one way, and name=value pairs may follow it.
	// backslash: a quote inside is escaped by a backslash.
	escape            string
	closed, backslash bool
	// words: values end at the separator between the first two, and may be in quotes. titled: the first line
	// names them. least and most are how many a line has if that is not the number of the known ones.
	words, titled bool
	least, most   int
	// port cuts the port off an address. nil: there is none.
	port func([]byte) []byte
	// after completes the values of a line. foreign tells whether it is no request. nil: nothing is to be
	// done, and all are.
	after   func(v values, captures []slot) flaw
	foreign func(v values) bool
	times
	// ordered: lines are written when requests end, in the order of their ends.
	ordered bool
	// unique: lines have the id of their request, so equal lines are copies.
	unique bool
	// lossy: a line is not promised for each request. remote: the limiter is on another machine.
	lossy, remote bool
	// client: the log is of a client. All of its requests are one partition unless the user says otherwise.
	client bool
}

// The rows. A format may have two: one for text and one for JSON.
//
// nginx (nginx.org, ngx_http_log_module): msec, time_iso8601 and time_local are the time of the log write,
// after the last byte was sent. request_time is the time from the first byte that was read of the request.
// All are cut off, not rounded, and come from the clock that nginx reads once a turn of its event loop
// (ngx_time_update). So msec - request_time is exactly the reading at the beginning, and the true time is
// not before it. A busy worker decides later than its clock says, by usualLag. If the clock of the machine
// was set back during a request, its request_time is logged as 0. Kong, APISIX and ingress-nginx are nginx.
//
// HAProxy (configuration manual, 8.2.3 and 8.4): the date is when the first byte of the request was
// received, in local time. The last timer is the time from there to the last byte of the answer, or with a +
// to the log line. Both are sums of numbers that were cut off, so the end may be 2 ms later.
//
// Envoy (envoyproxy.io, access logging): START_TIME is a reading of the wall clock, DURATION is of a
// monotonic one that is read right after it, and ends with the last byte out.
//
// Caddy (modules/caddyhttp/server.go): ts is when the line was written. duration ends before that, and
// before a route of handle_errors is run, which is how a rate limiter's denial is answered.
//
// Traefik (pkg/middlewares/accesslog): StartUTC, and Duration in nanoseconds; the text has the start, in
// whole seconds, and a duration of milliseconds.
//
// Apache (mod_log_config): %t is when the request was received, %D and %T how long it took.
//
// ALB (AWS, access log entries): time is when the answer was generated, request_creation_time when the
// request was received. Nodes have a clock each. "Elastic Load Balancing logs requests on a best-effort
// basis." Cloudflare Logpush (http_requests) is alike.
//
// vegeta, k6 and oha are clients: the interval is what they measured.
var servers = []server{
	nginxText(Nginx, nginxIngress, nginxMain, nginxCombined),
	{format: NginxJSON, names: nginxNames, header: "http_xx_yy", answered: "sent_http_xx_yy",
		port: withoutPort, ordered: true, times: nginxTimes},
	{format: HAProxy, text: []string{haproxyHTTP}, names: haproxyNames, escape: "#",
		port: cutPort, after: haproxyRest, ordered: true,
		times: times{unit: millisecond, late: usualLag, cutOff: 2 * millisecond, headers: 4}},
	{format: Envoy, text: []string{envoyDefault, envoyIstio}, notation: percent, mark: "%%%s%%",
		names: envoyOperators, header: "REQ(XX-YY)", answered: "RESP(XX-YY)", port: withoutPort,
		ordered: true, times: envoyTimes},
	{format: EnvoyJSON, names: envoyNames, header: "xx_yy", answered: "xx_yy", port: withoutPort,
		ordered: true, times: envoyTimes},
	{format: Caddy, names: caddyNames, header: "request.headers.Xx-Yy.0", answered: "resp_headers.Xx-Yy.0",
		port: withoutPort, ordered: true,
		foreign: func(v values) bool {
			return v[slotKind] != nil && !bytes.HasPrefix(v[slotKind], []byte("http.log.access"))
		},
		times: times{early: readingsApart, earlyError: usualLag, slack: microsecond}},
	{format: ALB, text: []string{albFields}, names: albNames, words: true, least: 22, most: 43,
		port: cutPort, unique: true, lossy: true, remote: true,
		times: times{early: readingsApart, late: readingsApart, slack: microsecond}},
	{format: Traefik, names: traefikNames, header: "request_Xx-Yy", answered: "downstream_Xx-Yy",
		port: withoutPort, ordered: true,
		foreign: func(v values) bool { return v[slotStart] == nil && v[slotStatus] == nil },
		times:   times{unit: 1, late: readingsApart}},
	{format: Traefik, text: []string{traefikText}, names: traefikTextNames, ordered: true,
		times: times{unit: millisecond, late: readingsApart}},
	{format: Apache, text: []string{apacheCombined, apacheCommon}, notation: apache, mark: "%%%s",
		names: apacheNames, header: "{xx-yy}i", answered: "{xx-yy}o", escape: `\x`, closed: true,
		backslash: true, port: withoutPort, ordered: true, times: times{late: readingsApart}},
	{format: Cloudflare, names: cloudflareNames, header: "RequestHeaders.xx-yy",
		answered: "ResponseHeaders.xx-yy", unique: true, lossy: true, remote: true,
		times: times{unit: millisecond, early: readingsApart, late: readingsApart, headers: 1}},
	{format: Kong, names: kongNames, header: "request.headers.xx-yy",
		answered: "response.headers.xx-yy", times: gatewayTimes},
	nginxText(Kong, kongText, nginxCombined),
	{format: APISIX, names: apisixNames, header: "request.headers.xx-yy",
		answered: "response.headers.xx-yy", times: gatewayTimes},
	nginxText(APISIX, apisixText),
	{format: Vegeta, names: vegetaNames, client: true, remote: true, times: times{unit: 1}},
	{format: Vegeta, text: []string{vegetaCSV}, names: vegetaNames, words: true, least: 8,
		client: true, remote: true, times: times{unit: 1}},
	{format: K6, names: k6Names, foreign: k6Foreign, client: true, remote: true,
		times: times{unit: millisecond, slack: microsecond}},
	{format: K6, names: k6CSVNames, words: true, titled: true, foreign: k6Foreign, client: true,
		remote: true, times: times{unit: millisecond, slack: microsecond}},
	{format: Oha, names: ohaNames, words: true, titled: true, client: true, remote: true,
		lossy: true, times: times{slack: microsecond, relative: true}},
	{format: JSON, names: jsonNames, header: "xx_yy", port: withoutPort,
		times: times{early: readingsApart, late: readingsApart, headers: 1}},
}

// nginxText is the row of a server that is nginx.
func nginxText(format Format, text ...string) server {
	return server{format: format, text: text, notation: dollar, mark: "$%s", names: nginxNames,
		header: "http_xx_yy", answered: "sent_http_xx_yy", escape: `\x`, closed: true, ordered: true,
		times: nginxTimes}
}

var (
	nginxTimes   = times{late: usualLag, oneClock: true, headers: 1}
	envoyTimes   = times{unit: millisecond, utc: true, late: readingsApart, headers: 1}
	gatewayTimes = times{unit: millisecond, late: usualLag, slack: millisecond}
)

const (
	nginxCombined = `$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent ` +
		`"$http_referer" "$http_user_agent"`
	nginxMain    = nginxCombined + ` "$http_x_forwarded_for"`
	nginxIngress = nginxCombined + ` $request_length $request_time [$proxy_upstream_name] ` +
		`[$proxy_alternative_upstream_name] $rest`
	kongText   = nginxCombined + ` kong_request_id: "$kong_request_id"`
	apisixText = `$remote_addr - $remote_user [$time_local] $http_host "$request" $status $body_bytes_sent ` +
		`$request_time "$http_referer" "$http_user_agent" $upstream_addr $upstream_status ` +
		`$upstream_response_time "$upstream_url"`
	haproxyHTTP = `$client [$tr] $frontend $backend/$server $TR/$Tw/$Tc/$Tr/$Ta $status $bytes $cookie1 ` +
		`$cookie2 $termination $connections $queues $rest`
	envoyDefault = `[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" ` +
		`%RESPONSE_CODE% %RESPONSE_FLAGS% %BYTES_RECEIVED% %BYTES_SENT% %DURATION% ` +
		`%RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" ` +
		`"%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%"`
	envoyIstio = `[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" ` +
		`%RESPONSE_CODE% %RESPONSE_FLAGS% %RESPONSE_CODE_DETAILS% %CONNECTION_TERMINATION_DETAILS% ` +
		`"%UPSTREAM_TRANSPORT_FAILURE_REASON%" %BYTES_RECEIVED% %BYTES_SENT% %DURATION% ` +
		`%RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" ` +
		`"%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%" %UPSTREAM_CLUSTER% ` +
		`%UPSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_REMOTE_ADDRESS% ` +
		`%REQUESTED_SERVER_NAME% %ROUTE_NAME%`
	albFields = `$type $time $elb $client $target $request_processing_time $target_processing_time ` +
		`$response_processing_time $elb_status_code $target_status_code $received_bytes $sent_bytes ` +
		`$request $user_agent $ssl_cipher $ssl_protocol $target_group_arn $trace_id $domain_name ` +
		`$chosen_cert_arn $matched_rule_priority $request_creation_time $actions_executed $redirect_url ` +
		`$error_reason $targets $target_status_codes $classification $classification_reason $conn_trace_id`
	traefikText = `$ClientHost - $ClientUsername [$start] "$request" $DownstreamStatus $bytes "$referer" ` +
		`"$user_agent" $count "$RouterName" "$ServiceURL" $duration`
	apacheCommon   = `%h %l %u %t "%r" %>s %b`
	apacheCombined = apacheCommon + ` "%{Referer}i" "%{User-Agent}i"`
	vegetaCSV      = `$timestamp,$code,$latency,$bytes_out,$bytes_in,$error,$body,$attack,$seq,$method,$url,$headers`
)

var (
	nginxNames = map[string]slot{"msec": slotEnd, "time_iso8601": slotEndISO, "time_local": slotEndCLF,
		"request_time": slotDuration, "upstream_header_time": slotHeader, "status": slotStatus,
		"request": slotRequest, "request_method": slotMethod, "request_uri": slotTarget, "uri": slotTarget,
		"host": slotHost, "http_host": slotHost, "remote_addr": slotAddress, "remote_user": slotUser,
		"request_completion": slotCompletion}
	haproxyNames = map[string]slot{"client": slotAddress, "tr": slotStart, "TR": slotHeader,
		"Tw": slotHeader2, "Tc": slotHeader3, "Tr": slotHeader4, "Ta": slotDuration, "status": slotStatus,
		"termination": slotCompletion, "rest": slotRest}
	envoyOperators = map[string]slot{"START_TIME": slotStart, "DURATION": slotDuration,
		"RESPONSE_DURATION": slotHeader, "RESPONSE_CODE": slotStatus, "REQ(:METHOD)": slotMethod,
		"REQ(:PATH)": slotTarget, "REQ(:AUTHORITY)": slotHost, "DOWNSTREAM_REMOTE_ADDRESS": slotAddress,
		"DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT": slotAddress}
	// envoyNames are those of Istio and of Envoy Gateway.
	envoyNames = map[string]slot{"start_time": slotStart, "duration": slotDuration,
		"response_duration": slotHeader, "response_code": slotStatus, "method": slotMethod,
		"path": slotTarget, "x-envoy-origin-path": slotTarget, "authority": slotHost, ":authority": slotHost,
		"downstream_remote_address": slotAddress}
	caddyNames = map[string]slot{"logger": slotKind, "ts": slotEnd, "duration": slotDuration,
		"status": slotStatus, "request.method": slotMethod, "request.uri": slotTarget,
		"request.host": slotHost, "request.client_ip": slotAddress, "request.remote_ip": slotRemote,
		"request.remote_addr": slotRemote, "user_id": slotUser}
	albNames = map[string]slot{"time": slotEnd, "request_creation_time": slotStart, "client": slotAddress,
		"elb_status_code": slotStatus, "request": slotRequest, "domain_name": slotHost}
	traefikNames = map[string]slot{"StartUTC": slotStart, "StartLocal": slotStartCoarse,
		"Duration": slotDuration, "DownstreamStatus": slotStatus, "RequestMethod": slotMethod,
		"RequestPath": slotTarget, "RequestHost": slotHost, "ClientHost": slotAddress,
		"ClientAddr": slotRemote, "ClientUsername": slotUser}
	traefikTextNames = map[string]slot{"ClientHost": slotAddress, "ClientUsername": slotUser,
		"start": slotStart, "request": slotRequest, "DownstreamStatus": slotStatus, "duration": slotDuration}
	apacheNames = map[string]slot{"h": slotAddress, "a": slotAddress, "u": slotUser,
		"{sec}t.%{usec_frac}t": slotStart, "t": slotStartCoarse, "{end:sec}t.%{end:usec_frac}t": slotEnd,
		"r": slotRequest, "m": slotMethod, "U": slotTarget, "s": slotStatus, "D": slotMicros,
		"T": slotSeconds, "{us}T": slotMicros, "{ms}T": slotMillis, "{s}T": slotSeconds,
		"X": slotCompletion, "V": slotHost, "v": slotHost}
	cloudflareNames = map[string]slot{"EdgeStartTimestamp": slotStart, "EdgeEndTimestamp": slotEnd,
		"EdgeTimeToFirstByteMs": slotHeader, "EdgeResponseStatus": slotStatus,
		"ClientRequestMethod": slotMethod, "ClientRequestURI": slotTarget, "ClientRequestPath": slotTarget,
		"ClientRequestHost": slotHost, "ClientIP": slotAddress}
	kongNames = map[string]slot{"started_at": slotStart, "latencies.request": slotDuration,
		"response.status": slotStatus, "request.method": slotMethod, "request.uri": slotTarget,
		"request.headers.host": slotHost, "client_ip": slotAddress, "consumer.username": slotUser}
	apisixNames = map[string]slot{"start_time": slotStart, "latency": slotDuration,
		"response.status": slotStatus, "request.method": slotMethod, "request.uri": slotTarget,
		"request.headers.host": slotHost, "client_ip": slotAddress, "consumer.username": slotUser}
	jsonNames = map[string]slot{"start": slotStart, "end": slotEnd, "time": slotTime,
		"duration": slotDuration, "duration_ns": slotNanos, "duration_us": slotMicros,
		"duration_ms": slotMillis, "header_time": slotHeader, "status": slotStatus, "method": slotMethod,
		"path": slotTarget, "host": slotHost, "address": slotAddress, "user": slotUser}
	vegetaNames = map[string]slot{"timestamp": slotStart, "latency": slotDuration, "code": slotStatus,
		"method": slotMethod, "url": slotTarget}
	k6Names = map[string]slot{"metric": slotKind, "data.time": slotEnd, "data.value": slotDuration,
		"data.tags.status": slotStatus, "data.tags.method": slotMethod, "data.tags.url": slotTarget}
	k6CSVNames = map[string]slot{"metric_name": slotKind, "timestamp": slotEnd, "metric_value": slotDuration,
		"status": slotStatus, "method": slotMethod, "url": slotTarget}
	ohaNames = map[string]slot{"request-start": slotStart,
		"request-duration": slotDuration, "status": slotStatus}
)

// row returns the row of a format for text or for JSON. ok=false: there is no such format. both: it has a
// row for each.
func row(format Format, isJSON bool) (found *server, both bool) {
	for i := range servers {
		s := &servers[i]
		switch {
		case s.format != format:
		case found == nil:
			found = s
		default:
			both = true
			if s.inJSON() == isJSON {
				found = s
			}
		}
	}
	return found, both
}

// inJSON tells whether the lines are in JSON.
func (s *server) inJSON() bool { return s.text == nil && !s.titled }

// fieldIn returns the name of a header field in a form of server.header.
func fieldIn(form, name string) string {
	lower := strings.ToLower(name)
	return strings.NewReplacer("xx_yy", strings.ReplaceAll(lower, "-", "_"), "xx-yy", lower,
		"XX-YY", strings.ToUpper(name), "Xx-Yy", textproto.CanonicalMIMEHeaderKey(name)).Replace(form)
}

// k6Foreign: k6 writes a line for each sample of each metric, and one that defines the metric.
func k6Foreign(v values) bool { return string(v[slotKind]) != "http_req_duration" || v[slotEnd] == nil }

// haproxyRest reads what follows the queues: the captures of request and answer, if there are any, and the
// request.
//
//	{1wt.eu|key} {} "GET / HTTP/1.1"
func haproxyRest(v values, captures []slot) flaw {
	if string(v[slotStatus]) == "-1" {
		v[slotStatus] = nil
	}
	var early bool // it is logged before the end of the answer
	if v[slotDuration], early = bytes.CutPrefix(v[slotDuration], []byte("+")); early {
		v[slotCompletion] = nil
	}
	rest := v[slotRest]
	for k := 0; len(rest) > 0 && rest[0] == '{'; k++ {
		inner, after, ok := bytes.Cut(rest[1:], []byte("}"))
		if !ok {
			return flaw{what: "captures " + quote(rest), why: "a brace is not closed: the line is cut"}
		}
		rest = bytes.TrimPrefix(after, []byte(" "))
		for i, value := range bytes.Split(inner, []byte("|")) {
			if k == 0 && i < len(captures) && captures[i] >= 0 && len(value) > 0 {
				v[captures[i]] = unescape(value, "#")
			}
		}
	}
	if len(rest) < 2 || rest[0] != '"' {
		return flaw{what: "line", why: "the request in quotes is missing: the line is cut, or not one of " +
			"option httplog"}
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

// capture returns the number of a captured field of HAProxy: capture1 is the first.
func capture(name string) (int, bool) {
	digits, ok := strings.CutPrefix(name, "capture")
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && n >= 1 && n <= 100
}

// WallError returns how far the clock of a limiter usually is from that of the log of a server: a second if
// it is on another machine.
func WallError(f Format) time.Duration {
	if s, _ := row(f, false); s != nil && s.remote {
		return time.Second
	}
	return 0
}

// InParts tells whether the log of a server is delivered in several files, in no order.
func InParts(f Format) bool {
	s, _ := row(f, false)
	return s != nil && s.lossy && !s.client
}
