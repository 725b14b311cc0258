package accesslog

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"
)

// request is what happened in truth.
type request struct {
	began, decided, ended time.Time
	status                int
	key                   string
}

// writers log a request as each server does. Their clocks are cut off, and between two readings lie the
// delays that the layouts allow for.
var writers = map[string]struct {
	o     Options
	write func(r request, rng *rand.Rand) string
}{
	"nginx, seconds": {Options{Format: Nginx, MaxDuration: 3 * time.Second, PartitionBy: "user"},
		func(r request, _ *rand.Rand) string {
			return fmt.Sprintf(`10.0.0.1 - %s [%s] "GET / HTTP/1.1" %d 0 "-" "-"`, nginxEscape(r.key),
				r.ended.Format("02/Jan/2006:15:04:05 -0700"), r.status)
		}},
	"nginx, milliseconds": {Options{Format: Nginx, PartitionBy: "X-Api-Key"},
		func(r request, rng *rand.Rand) string {
			began, ended := nginxClock(r, rng)
			return fmt.Sprintf(`10.0.0.1 - - [%s] "GET / HTTP/1.1" %d 0 "-" "-" msec=%s request_time=%s http_x_api_key="%s"`,
				r.ended.In(time.FixedZone("", -3*3600-1800)).Format("02/Jan/2006:15:04:05 -0700"), r.status,
				thousandths(ended), thousandths(ended-began), nginxEscape(r.key))
		}},
	"nginx, ISO 8601": {Options{Format: Nginx,
		Layout: `$time_iso8601 $request_time $status "$http_x_api_key"`, PartitionBy: "X-Api-Key"},
		func(r request, rng *rand.Rand) string {
			began, ended := nginxClock(r, rng)
			return fmt.Sprintf(`%s %s %d "%s"`,
				time.UnixMilli(ended).UTC().Format("2006-01-02T15:04:05+00:00"),
				thousandths(ended-began), r.status, nginxEscape(r.key))
		}},
	"nginx-json": {Options{Format: NginxJSON, PartitionBy: "X-Api-Key"},
		func(r request, rng *rand.Rand) string {
			began, ended := nginxClock(r, rng)
			return fmt.Sprintf(`{"http_x_api_key":%s,"msec":"%s","request_time":"%s","status":"%d"}`,
				strconv.QuoteToASCII(r.key), thousandths(ended), thousandths(ended-began), r.status)
		}},
	"haproxy": {Options{Format: HAProxy, PartitionBy: "capture1", Zone: time.UTC},
		func(r request, rng *rand.Rand) string {
			// %tr is the accept date plus the idle time before the request. Ta is the time since the accept
			// date minus the idle time. Both are cut off.
			idle := time.Duration(rng.Int64N(int64(time.Second)))
			accepted := r.began.Add(-idle)
			shown := accepted.Add(idle.Truncate(time.Millisecond)).Truncate(time.Millisecond)
			active := r.ended.Sub(accepted).Milliseconds() - idle.Milliseconds()
			return fmt.Sprintf(`10.0.0.1:5 [%s] f b/s 0/0/0/%d/%[2]d %d 0 - - ---- 1/1/1/1/0 0/0 {%s} {} "GET / HTTP/1.1"`,
				shown.Format("02/Jan/2006:15:04:05.000"), active, r.status, haproxyEscape(r.key))
		}},
	"envoy": {Options{Format: Envoy, PartitionBy: "X-Forwarded-For"}, func(r request, rng *rand.Rand) string {
		return fmt.Sprintf(`[%s] "GET / HTTP/2" %d - 0 0 %d - "%s" "-" "-" "-" "-"`,
			r.began.Format("2006-01-02T15:04:05.000Z"), r.status,
			(r.ended.Sub(r.began) - min(apart(rng), r.ended.Sub(r.began))).Milliseconds(), plainOf(r.key))
	}},
	"envoy-json": {Options{Format: EnvoyJSON, PartitionBy: "X-Api-Key"},
		func(r request, rng *rand.Rand) string {
			return fmt.Sprintf(`{"start_time":"%s","duration":%d,"response_code":%d,"x_api_key":%s}`,
				r.began.Format("2006-01-02T15:04:05.000Z"),
				(r.ended.Sub(r.began) - min(apart(rng), r.ended.Sub(r.began))).Milliseconds(), r.status,
				strconv.QuoteToASCII(r.key))
		}},
	"caddy": {Options{Format: Caddy, PartitionBy: "X-Api-Key"}, func(r request, rng *rand.Rand) string {
		logged := r.ended.Add(apart(rng))
		return fmt.Sprintf(`{"logger":"http.log.access","ts":%s,"request":{"headers":{"X-Api-Key":[%s]}},"duration":%s,"status":%d}`,
			strconv.FormatFloat(float64(logged.UnixNano())/float64(time.Second), 'f', -1, 64),
			strconv.QuoteToASCII(r.key),
			strconv.FormatFloat(r.ended.Sub(r.began).Seconds(), 'f', -1, 64), r.status)
	}},
	"alb": {Options{Format: ALB, PartitionBy: "path"}, func(r request, rng *rand.Rand) string {
		node := time.Duration(rng.Int64N(int64(2*readingsApart))) - readingsApart
		const form = "2006-01-02T15:04:05.000000Z"
		return fmt.Sprintf(`https %s app/lb 10.0.0.1:99 10.0.0.2:80 0.000 0.001 0.000 %d %d 0 0 "GET https://h:443/%s?q HTTP/1.1" "u a" - - - "r" "-" "-" 0 %s "-" "-"`,
			r.ended.Add(node).Format(form), r.status, r.status, pathOf(r.key), r.began.Add(node).Format(form))
	}},
}

// nginxClock reads a clock in whole milliseconds, when a request began and when it ended. The second reading
// is late by at most the usual lag.
func nginxClock(r request, rng *rand.Rand) (began, ended int64) {
	lag := time.Duration(rng.Int64N(int64(min(usualLag, r.ended.Sub(r.began)) + 1)))
	return r.began.UnixMilli(), max(r.ended.Add(-lag).UnixMilli(), r.began.UnixMilli())
}

// apart is the time that passes between two readings.
func apart(rng *rand.Rand) time.Duration { return time.Duration(rng.Int64N(int64(readingsApart))) }

func thousandths(n int64) string { return fmt.Sprintf("%d.%03d", n/1000, n%1000) }

func nginxEscape(s string) string { return escape(s, `\x`, `"\`) }

func haproxyEscape(s string) string { return escape(s, "#", `"#{|}`) }

func escape(s, mark, special string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c < 32 || c >= 127 || strings.IndexByte(special, c) >= 0 {
			fmt.Fprintf(&b, "%s%02X", mark, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// pathOf and plainOf are what a key is where a log cannot escape it.
func pathOf(key string) string { return escape(key, "%", ` "?#`) }

func plainOf(key string) string {
	if s := escape(key, "%", `"`); s != "-" {
		return s
	}
	return "x"
}

// TestEveryIntervalHoldsItsDecision: whatever a server logs of a request, the interval read from it holds the
// true decision. Its key is the one that was sent.
func TestEveryIntervalHoldsItsDecision(t *testing.T) {
	keys := []string{"alice", "a b", `q"u\o{t|e}# `, "é", "日本", `{"a":1}`, "x\ty", "|", `\x41`, "#41",
		"a=b c=d"}
	for name, w := range writers {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(11, 13))
			var text strings.Builder
			var all []request
			at := time.Date(2026, 11, 20, 10, 0, 0, 123_456_789, time.UTC)
			for range 2000 {
				at = at.Add(time.Duration(rng.Int64N(int64(50 * time.Millisecond))))
				took := time.Duration(rng.Int64N(int64([]time.Duration{time.Millisecond,
					100 * time.Millisecond, 3 * time.Second}[rng.IntN(3)])))
				r := request{began: at, decided: at.Add(time.Duration(rng.Int64N(int64(took) + 1))),
					ended: at.Add(took), status: 200 + 229*rng.IntN(2), key: keys[rng.IntN(len(keys))]}
				all = append(all, r)
				text.WriteString(w.write(r, rng) + "\n")
			}
			l, err := Read(strings.NewReader(text.String()), "x", w.o)
			if err != nil {
				t.Fatal(err)
			}
			sound(t, l)
			if l.Len() != len(all) {
				t.Fatalf("got %d requests, want %d", l.Len(), len(all))
			}
			var width time.Duration
			for _, o := range l.Timeline().Observations {
				r, zero := all[o.Seq-1], l.Header.Started
				if from, to := zero.Add(o.Sent), zero.Add(o.FirstByte); r.decided.Before(from) ||
					r.decided.After(to) {
					t.Fatalf("line %d: decided at %s, got %s .. %s", o.Seq, r.decided, from, to)
				}
				width += o.FirstByte - o.Sent - r.ended.Sub(r.began)
				want := r.key
				switch w.o.Format {
				case ALB:
					want = "/" + pathOf(r.key)
				case Envoy:
					want = plainOf(r.key)
				}
				if o.Partition != want || o.Status != r.status {
					t.Fatalf("line %d: got %q, %d, want %q, %d", o.Seq, o.Partition, o.Status, want, r.status)
				}
			}
			t.Logf("an interval is wider than its request by %s on average", width/time.Duration(len(all)))
		})
	}
}
