package live

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// slowServer starts a server that takes at least 100 ms for each request, and returns its address.
func slowServer(t testing.TB) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(100 * time.Millisecond)
		_, _ = w.Write([]byte("ok\n")) // the client may have left
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// The machine may stand still and hold a request for more than a second, longer than is declared. Such a FAIL
// says nothing about the limiter; see standsStill.

// flights are wrong SPECs for ten places in front of slowServer.
var flights = []string{
	"concurrency,limit=9,hold=100ms..1s", "concurrency,limit=11,hold=100ms..1s",
	"fixed-window,rate=10/1s,align=first", "token-bucket,rate=5/s,burst=10",
}

// limit_conn counts requests from the end of their header to the end of their answer. It gives the place back
// when the pool of the request is cleaned up, after the last byte was sent
// (src/http/modules/ngx_http_limit_conn_module.c).
func TestNginxLimitsRequestsInFlight(t *testing.T) {
	t.Parallel()
	addr := start(t, program{
		binary: "nginx", template: "nginx-conn.conf.tmpl",
		params: map[string]any{"Limit": 10, "Upstream": slowServer(t)},
		args:   func(config string, _ int) []string { return []string{"-e", "stderr", "-c", config} },
	})
	trial{scenario: "concurrency", url: "http://" + addr + "/", right: "concurrency,limit=10,hold=100ms..1s",
		wrong: flights, turns: true}.judged(t)
}

// sc_conn_cur counts the tracked streams until they end, with the one that asks: `gt 10` denies the eleventh.
func TestHAProxyLimitsRequestsInFlight(t *testing.T) {
	t.Parallel()
	url := haproxy(t, table{store: "conn_cur", denyIf: "sc_conn_cur(0) gt 10", expire: "10s",
		upstream: slowServer(t)})
	trial{scenario: "concurrency", url: url, right: "concurrency,limit=10,hold=100ms..1s", wrong: flights,
		turns: true}.judged(t)
}
