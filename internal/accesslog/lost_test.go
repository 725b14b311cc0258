package accesslog

import (
	"strings"
	"testing"
)

// TestPartitionsThatAreNotWhole: a log that keeps only a part of a value cannot tell clients apart by it. It
// is refused: taken together, they would be accused of what is right for each.
func TestPartitionsThatAreNotWhole(t *testing.T) {
	const caddy = `{"logger":"http.log.access","ts":1795168807.9,"duration":0.25,"status":200,"request":{"client_ip":"a","headers":` +
		`{"Authorization":["REDACTED"],"X-Api-Key":["REDACTED"]}}}`
	cut := Options{Format: Envoy, PartitionBy: "X-Api-Key",
		Layout: "%START_TIME(%s.%3f)% %DURATION% %REQ(X-Api-Key):6% %RESPONSE_CODE%"}
	for _, c := range []struct {
		name, line string
		o          Options
		want       string
	}{
		{"caddy: credentials", caddy, Options{Format: Caddy, PartitionBy: "Authorization"},
			`x:1: Authorization "REDACTED": the server leaves it out of its log`},
		{"caddy: credentials by their own name", caddy,
			Options{Format: Caddy, PartitionBy: "request.headers.Authorization.0"},
			`x:1: request.headers.Authorization.0 "REDACTED"`},
		{"caddy: another field", caddy, Options{Format: Caddy, PartitionBy: "X-Api-Key"},
			`x:1: X-Api-Key "REDACTED"`},
		{"envoy: a value that may have been cut", "1795168807.100 250 abcdef 429", cut,
			`x:1: X-Api-Key "abcdef": the format keeps only its first 6 bytes, which other values may share (log it without :6)`},
		{"envoy: a shorter value", "1795168807.100 250 abcde 429", cut, ""},
		{"caddy: a condition", caddy,
			Options{Format: Caddy, Match: []Match{{Field: "Authorization", Glob: "*"}}}, ""},
	} {
		_, err := Read(strings.NewReader(c.line+"\n"), "x", c.o)
		if c.want == "" && err != nil || c.want != "" &&
			(err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}

// TestALastLineWithoutEnd: the beginning of a name is itself a name, maybe that of another client.
func TestALastLineWithoutEnd(t *testing.T) {
	o := Options{Format: Nginx, Layout: "$msec $request_time $status $http_x_api_key",
		PartitionBy: "X-Api-Key"}
	const text = "1795168807.900 0.001 200 user1\n1795168808.900 0.001 200 user1" // user12 was admitted
	for _, o.SkipBad = range []bool{false, true} {
		l, err := Read(strings.NewReader(text), "x", o)
		if err != nil || l.Len() != 1 || l.Skipped != 1 || l.Edges != 1 || l.Lossy {
			t.Errorf("got %+v, %v, want one request, one line left out, none missing", l, err)
		}
	}
	o = Options{Format: Nginx, Layout: `$msec $request_time $status "$http_x_api_key"`,
		PartitionBy: "X-Api-Key"}
	if _, err := Read(strings.NewReader(`1795168807.900 0.001 200 "user1"`), "x", o); err != nil {
		t.Errorf("with its last quote it is whole: got %v", err)
	}
}
