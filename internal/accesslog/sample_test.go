package accesslog

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

var update = flag.Bool("update", false, "write the golden files again")

// samples are logs as the servers write them, with the options to read each. Those of nginx and HAProxy were
// written by nginx 1.22 and HAProxy 2.6. The others are examples of the documentation, with lines added.
var samples = []struct {
	file string
	o    Options
}{
	{"nginx-combined", Options{Format: Nginx, MaxDuration: time.Second}},
	{"nginx-main", Options{Format: Nginx, MaxDuration: time.Second, PartitionBy: "X-Forwarded-For"}},
	{"nginx-rich", Options{Format: Nginx, PartitionBy: "X-Api-Key"}},
	{"nginx-own", Options{Format: Nginx, PartitionBy: "http_x_api_key",
		Match:  []Match{{"path", "/api/*", false}},
		Layout: "$time_iso8601|$request_time|${http_x_api_key}|$status|$request_method|$request_uri"}},
	{"nginx-json", Options{Format: NginxJSON, PartitionBy: "X-Api-Key"}},
	{"haproxy", Options{Format: HAProxy, PartitionBy: "capture1", Zone: time.UTC}},
	{"haproxy-syslog", Options{Format: HAProxy, Zone: time.FixedZone("", 3600)}},
	{"envoy", Options{Format: Envoy, PartitionBy: "X-Forwarded-For"}},
	{"envoy-istio", Options{Format: Envoy}},
	{"envoy-json", Options{Format: EnvoyJSON, PartitionBy: "X-Api-Key"}},
	{"caddy", Options{Format: Caddy}},
	{"alb", Options{Format: ALB}},
	{"nginx-ingress", Options{Format: Nginx}},
	{"envoy-json-gateway", Options{Format: EnvoyJSON, PartitionBy: "x-forwarded-for"}},
	{"traefik", Options{Format: Traefik, PartitionBy: "X-Api-Key"}},
	{"traefik-text", Options{Format: Traefik}},
	{"apache", Options{Format: Apache, MaxDuration: time.Second}},
	{"apache-own", Options{Format: Apache, PartitionBy: "X-Api-Key",
		Layout: `%h %{X-Api-Key}i %{sec}t.%{usec_frac}t %D %>s "%r"`}},
	{"cloudflare", Options{Format: Cloudflare}},
	{"kong", Options{Format: Kong, PartitionBy: "X-Api-Key"}},
	{"kong-text", Options{Format: Kong, MaxDuration: time.Second}},
	{"apisix", Options{Format: APISIX, PartitionBy: "X-Api-Key"}},
	{"apisix-text", Options{Format: APISIX}},
	{"json", Options{Format: JSON, PartitionBy: "address/64"}},
	{"vegeta", Options{Format: Vegeta}},
	{"vegeta-csv", Options{Format: Vegeta}},
	{"k6", Options{Format: K6}},
	{"k6-csv", Options{Format: K6}},
	{"oha", Options{Format: Oha}},
}

func TestSamplesAreReadAsTheyWere(t *testing.T) {
	for _, c := range samples {
		t.Run(c.file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", c.file+".log"))
			if err != nil {
				t.Fatal(err)
			}
			l, err := Read(bytes.NewReader(text), c.file+".log", c.o)
			if err != nil {
				t.Fatal(err)
			}
			got := dump(l)
			golden := filepath.Join("testdata", c.file+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// dump prints what was read: a line for each request, and what became of the other lines.
func dump(l *Log) string {
	var b strings.Builder
	h := l.Header
	at := func(d time.Duration) string { return h.Started.Add(d).Format("2006-01-02T15:04:05.000000000") }
	for _, o := range l.Timeline().Observations {
		fmt.Fprintf(&b, "#%d %s .. %s %q %d %s\n", o.Seq, at(o.Sent), at(o.FirstByte), o.Partition, o.Status,
			o.Outcome)
	}
	fmt.Fprintf(&b, "complete %s .. %s\n", at(h.CompleteFrom), at(h.CompleteUntil))
	fmt.Fprintf(&b, "%d lines: %d requests, %d foreign, %d skipped, %d unmatched, %d keyless; lossy %t, "+
		"zone unknown %t\n", l.Lines,
		l.Len(), l.Foreign, l.Skipped, l.Unmatched, l.Keyless, l.Lossy, l.ZoneUnknown)
	return b.String()
}

// sound checks what must be true of every log.
func sound(t testing.TB, l *Log) {
	t.Helper()
	if n := l.Len() + l.Foreign + l.Skipped + l.Unmatched + l.Keyless; n != l.Lines {
		t.Errorf("got %d lines, the parts are %d", l.Lines, n)
	}
	var b bytes.Buffer
	if err := timeline.Write(&b, l.Timeline()); err != nil {
		t.Errorf("the timeline cannot be written: %v", err)
	}
	if l.Header.Started.IsZero() && int64(l.zero) > earliest {
		t.Error("the wall time of zero is not known")
	}
}

// Timeline returns all observations of a log in memory.
func (l *Log) Timeline() *timeline.Timeline {
	tl := &timeline.Timeline{Header: l.Header, Observations: []timeline.Observation{}}
	err := l.Each(func(o *timeline.Observation) bool {
		tl.Observations = append(tl.Observations, *o)
		return true
	})
	if err != nil {
		panic(err)
	}
	return tl
}
