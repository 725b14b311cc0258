package accesslog

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/result"
)

// moreWriters log a request as the servers do that writers has not. Keys are addresses.
var moreWriters = map[string]struct {
	o     Options
	write func(r request, rng *rand.Rand) string
}{
	"nginx-ingress": {Options{Format: Nginx}, func(r request, rng *rand.Rand) string {
		began, ended := nginxClock(r, rng)
		return fmt.Sprintf(`%s - - [%s] "GET / HTTP/1.1" %d 5 "-" "c" 87 %s [default-api-80] [] 10.0.0.9:80 5 0.004 %[3]d %x`,
			r.key, clf(time.UnixMilli(ended)), r.status, thousandths(ended-began), rng.Uint64())
	}},
	"kong-text": {Options{Format: Kong, MaxDuration: 3 * time.Second},
		func(r request, rng *rand.Rand) string {
			return fmt.Sprintf(`%s - - [%s] "GET / HTTP/1.1" %d 5 "-" "c" kong_request_id: "%x"`, r.key,
				clf(r.ended), r.status, rng.Uint64())
		}},
	"apisix-text": {Options{Format: APISIX}, func(r request, rng *rand.Rand) string {
		began, ended := nginxClock(r, rng)
		return fmt.Sprintf(`%s - - [%s] api.example "GET / HTTP/1.1" %d 688 %s "-" "c" 10.0.0.9:80 200 0.128 "http://a"`,
			r.key, clf(time.UnixMilli(ended)), r.status, thousandths(ended-began))
	}},
	"traefik-text": {Options{Format: Traefik}, func(r request, rng *rand.Rand) string {
		return fmt.Sprintf(`%s - - [%s] "GET / HTTP/1.1" %d 5 "-" "-" %d "api@docker" "http://10.0.0.9:80" %dms`, r.key,
			clf(r.began), r.status, rng.IntN(1e9), r.ended.Sub(r.began).Milliseconds())
	}},
	"traefik": {Options{Format: Traefik}, func(r request, _ *rand.Rand) string {
		return fmt.Sprintf(`{"ClientHost":"%s","Duration":%d,"DownstreamStatus":%d,"StartUTC":"%s"}`, r.key,
			r.ended.Sub(r.began), r.status, r.began.Format(time.RFC3339Nano))
	}},
	"apache": {Options{Format: Apache, Layout: `%h %{sec}t.%{usec_frac}t %D %>s "%r"`},
		func(r request, _ *rand.Rand) string {
			return fmt.Sprintf(`%s %d.%06d %d %d "GET / HTTP/1.1"`, r.key, r.began.Unix(),
				r.began.Nanosecond()/1000, r.ended.Sub(r.began).Microseconds(), r.status)
		}},
	"apache-combined": {Options{Format: Apache, MaxDuration: 3 * time.Second},
		func(r request, _ *rand.Rand) string {
			return fmt.Sprintf(`%s - - [%s] "GET / HTTP/1.1" %d 5 "-" "a \"b\""`, r.key, clf(r.began), r.status)
		}},
	"cloudflare": {Options{Format: Cloudflare}, func(r request, _ *rand.Rand) string {
		return fmt.Sprintf(`{"ClientIP":"%s","EdgeStartTimestamp":"%s","EdgeEndTimestamp":"%s","EdgeResponseStatus":%d}`,
			r.key, r.began.Format(time.RFC3339Nano), r.ended.Format(time.RFC3339Nano), r.status)
	}},
	"kong": {Options{Format: Kong}, func(r request, _ *rand.Rand) string {
		return fmt.Sprintf(`{"client_ip":"%s","started_at":%d,"latencies":{"request":%d},"response":{"status":%d}}`,
			r.key, r.began.UnixMilli(), r.ended.Sub(r.began).Milliseconds(), r.status)
	}},
	"json": {Options{Format: JSON, Columns: map[string]string{"duration": "took:ms"}},
		func(r request, rng *rand.Rand) string {
			return fmt.Sprintf(`{"id":"%x","address":"%s","start":"%s","took":%d.%06d,"status":%d}`, rng.Uint64(), r.key,
				r.began.Format(time.RFC3339Nano), r.ended.Sub(r.began).Milliseconds(),
				r.ended.Sub(r.began)%time.Millisecond, r.status)
		}},
	"vegeta": {Options{Format: Vegeta}, func(r request, _ *rand.Rand) string {
		return fmt.Sprintf(`{"attack":"","seq":1,"code":%d,"timestamp":"%s","latency":%d,"method":"GET","url":"http://a"}`,
			r.status, r.began.Format(time.RFC3339Nano), r.ended.Sub(r.began))
	}},
	"vegeta-csv": {Options{Format: Vegeta}, func(r request, _ *rand.Rand) string {
		return fmt.Sprintf(`%d,%d,%d,0,5,,%s,,1,GET,http://a,`, r.began.UnixNano(), r.status, r.ended.Sub(r.began),
			base64.StdEncoding.EncodeToString([]byte("hello")))
	}},
	"k6": {Options{Format: K6}, func(r request, _ *rand.Rand) string {
		return fmt.Sprintf(`{"metric":"http_req_duration","type":"Point","data":{"time":"%s","value":%f,"tags":{"status":"%d"}}}`,
			r.ended.Format(time.RFC3339Nano), r.ended.Sub(r.began).Seconds()*1000, r.status)
	}},
	"k6-csv": {Options{Format: K6}, func(r request, _ *rand.Rand) string {
		return fmt.Sprintf(`http_req_duration,%d,%f,GET,%d,http://a`, r.ended.Unix(),
			r.ended.Sub(r.began).Seconds()*1000, r.status)
	}},
	"oha": {Options{Format: Oha}, func(r request, rng *rand.Rand) string {
		start := r.began.Sub(time.Date(2026, 11, 20, 10, 59, 0, 0, time.UTC))
		return fmt.Sprintf(`%.9f,0,0,%.9f,%.9f,11,%d`, start.Seconds(), r.decided.Sub(r.began).Seconds(),
			r.ended.Sub(r.began).Seconds(), r.status)
	}},
}

// titles are the first lines of recordings whose first line names the values.
var titles = map[string]string{
	"k6-csv": "metric_name,timestamp,metric_value,method,status,url",
	"oha":    "request-start,DNS,DNS+dialup,Response-delay,request-duration,bytes,status",
}

func clf(t time.Time) string { return t.UTC().Format("02/Jan/2006:15:04:05 -0700") }

// attack is a log of a right limiter, written by one server, after what happened to it on its way.
type attack struct {
	name     string
	files    []File
	o        Options
	lossless bool
}

// manyClients is the traffic of three clients with a limit each, in the order in which requests ended.
func manyClients(t *testing.T, rng *rand.Rand, limit string, keys []string, longest time.Duration) []request {
	var all []request
	for _, key := range keys {
		one := traffic(t, rng, mustParse(t, limit), 160, longest)
		by := time.Date(2026, 11, 20, 11, 0, 0, 0, time.UTC).Sub(one[0].began.Truncate(2 * time.Second))
		for i := range one {
			r := &one[i]
			r.key, r.began, r.decided, r.ended = key, r.began.Add(by), r.decided.Add(by), r.ended.Add(by)
		}
		all = append(all, one...)
	}
	slices.SortStableFunc(all, func(a, b request) int { return a.ended.Compare(b.ended) })
	return all
}

// backFrom returns the lines from one on as they would be if the clock had been set back there.
type backFrom func(from int, by time.Duration) []string

// mishaps are what happens to any log. They get its lines, and those that are written from one on if its
// clock is set back there.
var mishaps = []struct {
	name     string
	lossless bool
	do       func(l []string, back backFrom, rng *rand.Rand) []string
}{
	{"nothing", true, func(l []string, _ backFrom, _ *rand.Rand) []string { return l }},
	{"glued", false, func(l []string, _ backFrom, rng *rand.Rand) []string {
		for range 1 + rng.IntN(3) {
			k := rng.IntN(len(l) - 1)
			l = slices.Concat(l[:k], []string{l[k] + l[k+1]}, l[k+2:])
		}
		return l
	}},
	{"cut and glued", false, func(l []string, _ backFrom, rng *rand.Rand) []string {
		for range 1 + rng.IntN(3) {
			k := rng.IntN(len(l) - 1)
			l = slices.Concat(l[:k], []string{l[k][:10+rng.IntN(len(l[k])-10)] + l[k+1]}, l[k+2:])
		}
		return l
	}},
	{"cut at both ends", true, func(l []string, _ backFrom, rng *rand.Rand) []string {
		l = slices.Clone(l)
		last := len(l) - 1
		l[0], l[last] = l[0][11+rng.IntN(20):], l[last][:12+rng.IntN(20)]
		return l
	}},
	{"doubled", false, func(l []string, _ backFrom, rng *rand.Rand) []string {
		k := rng.IntN(len(l) - 30)
		n := 1 + rng.IntN(30)
		return slices.Concat(l[:k+n], l[k:])
	}},
	{"zero bytes", false, func(l []string, _ backFrom, rng *rand.Rand) []string {
		l = slices.Clone(l)
		k := rng.IntN(len(l))
		at := rng.IntN(len(l[k]))
		l[k] = l[k][:at] + strings.Repeat("\x00", 1+rng.IntN(9000)) + l[k][at:]
		return l
	}},
	{"shuffled", false, func(l []string, _ backFrom, rng *rand.Rand) []string {
		l = slices.Clone(l)
		near := 2 + rng.IntN(len(l))
		for i := range l {
			j := min(i+rng.IntN(near), len(l)-1)
			l[i], l[j] = l[j], l[i]
		}
		return l
	}},
	{"set back", false, func(l []string, back backFrom, rng *rand.Rand) []string {
		k := 20 + rng.IntN(len(l)-40)
		return slices.Concat(l[:k], back(k, 2*time.Second*time.Duration(1+rng.IntN(9)))) // windows stay
	}},
}

// envelopes are what stands around lines.
var envelopes = []struct {
	name string
	line func(string) string
}{
	{"bare", func(s string) string { return s }},
	{"CRLF", func(s string) string { return s + "\r" }},
	{"CRI", func(s string) string { return "2026-11-26T10:00:00.050000123Z stdout F " + s }},
	{"CRI in parts", func(s string) string {
		return "2026-11-26T10:00:00.05Z stdout P " + s[:9] + "\n2026-11-26T10:00:00.05Z stdout F " + s[9:]
	}},
	{"docker", func(s string) string {
		return `{"log":` + quoted(s+"\n") + `,"stream":"stdout","time":"2026-11-26T10:00:00.05Z"}`
	}},
	{"kubectl", func(s string) string { return "[pod/web-7c/nginx] " + s }},
	{"docker compose", func(s string) string { return "web-1  | " + s }},
	{"syslog", func(s string) string { return "<190>Nov 26 10:00:00 web1 nginx[7]: " + s }},
	{"RFC 5424", func(s string) string { return "<134>1 2026-11-26T10:00:00Z web1 nginx 7 - - " + s }},
	{"journald", func(s string) string { return `{"_PID":"7","MESSAGE":` + quoted(s) + `}` }},
	{"pretty", func(s string) string {
		var b bytes.Buffer
		if json.Indent(&b, []byte(s), "", "  ") != nil {
			return s
		}
		return b.String()
	}},
}

// attacked makes a log, by the server, the mishap and the envelope of these numbers.
func attacked(t *testing.T, limit string, server string, mishap, envelope int, rng *rand.Rand) attack {
	w, keys := writers[server], []string{"a", "b", "c"}
	if w.write == nil {
		w, keys = moreWriters[server], []string{"192.0.2.7", "192.0.2.8", "2001:db8::1"}
	}
	if row, _ := row(w.o.Format, false); row.client {
		keys = keys[:1]
	}
	all := manyClients(t, rng, limit, keys, []time.Duration{2 * time.Millisecond, 90 * time.Millisecond,
		2900 * time.Millisecond}[rng.IntN(3)])
	var lines []string
	for _, r := range all {
		lines = append(lines, w.write(r, rng))
	}
	m, e := mishaps[mishap], envelopes[envelope]
	back := func(from int, by time.Duration) (out []string) {
		for _, r := range all[from:] {
			r.began, r.ended = r.began.Add(-by), r.ended.Add(-by)
			out = append(out, w.write(r, rng))
		}
		return out
	}
	before := rng.IntN(2) == 0 // the envelope was there before, or came after
	if before {
		lines = wrapEach(lines, e.line)
		plain := back
		back = func(from int, by time.Duration) []string { return wrapEach(plain(from, by), e.line) }
	}
	if lines = m.do(lines, back, rng); !before {
		lines = wrapEach(lines, func(s string) string {
			if len(s) < 10 {
				return s
			}
			return e.line(s)
		})
	}
	if title := titles[server]; title != "" {
		lines = append(wrapEach([]string{title}, e.line), lines...)
	}
	name := fmt.Sprintf("%s, %s, %s, wrapped before %t", server, m.name, e.name, before)
	a := attack{name, nil, w.o, m.lossless}
	parts := [][]string{lines}
	if k := len(lines) / 2; rng.IntN(3) == 0 {
		parts = [][]string{lines[:k], lines[k:]}
		a.name += ", rotated"
	}
	for _, part := range parts {
		text := []byte(strings.Join(part, "\n") + "\n")
		if rng.IntN(4) == 0 {
			text = append([]byte("\ufeff"), text...)
		}
		if rng.IntN(4) == 0 {
			var packed bytes.Buffer
			z := gzip.NewWriter(&packed)
			z.Write(text)
			z.Close()
			text = packed.Bytes()
		}
		a.files = append(a.files, File{"x", bytes.NewReader(text)})
	}
	return a
}

// TestNoMishapAccusesARightLimiter: in the form of any server, in any envelope, and whatever happened to it,
// the log of a right limiter is refused, or is no proof. Logs that lost nothing prove gross faults.
// RLCHECK_SOAK is how many rounds there are, RLCHECK_SEED the first.
func TestNoMishapAccusesARightLimiter(t *testing.T) {
	rounds, seed := 1, 1
	if n, err := strconv.Atoi(os.Getenv("RLCHECK_SOAK")); err == nil {
		rounds = n
	}
	if n, err := strconv.Atoi(os.Getenv("RLCHECK_SEED")); err == nil {
		seed = n
	}
	limits := []string{"token-bucket,rate=10/s,burst=20", "sliding-window-log,rate=20/2s",
		"fixed-window,rate=20/2s", "sliding-window-counter,rate=20/2s"}
	wrong := mustParse(t, "sliding-window-log,rate=5/2s")
	servers := slices.Sorted(maps.Keys(writers))
	servers = append(servers, slices.Sorted(maps.Keys(moreWriters))...)
	logs, refused, caught, gross := 0, 0, 0, 0
	for round := range rounds {
		for s, server := range servers {
			for m := range mishaps {
				if testing.Short() && (s+m)%12 != 0 {
					continue
				}
				rng := rand.New(rand.NewPCG(uint64(seed+round), uint64(s*100+m)))
				text := limits[rng.IntN(len(limits))]
				limit := mustParse(t, text)
				a := attacked(t, text, server, m, rng.IntN(len(envelopes)), rng)
				inParts := strings.Contains(a.name, "parts") || strings.Contains(a.name, "pretty")
				for _, complete := range []bool{true, false} {
					o := a.o
					o.Complete, o.SkipBad = complete, !complete && rng.IntN(2) == 0
					for _, f := range a.files {
						f.In.(*bytes.Reader).Seek(0, 0)
					}
					logs++
					l, err := ReadAll(a.files, o)
					if err != nil {
						if refused++; a.lossless && !inParts {
							t.Errorf("seed %d: %s: %v", seed+round, a.name, err)
						}
						continue
					}
					if l.Header.Tick = time.Millisecond; mishaps[m].name == "doubled" && !l.copies.fine {
						continue // equal lines are usual: nobody can tell the copies
					}
					how := check.Options{SkipMeasure: true, VerdictOnly: true, Shared: l.Lossy}
					j, err := check.Judge(l.Timeline(), limit, how)
					if err != nil {
						t.Fatal(err)
					}
					if j.Verdict == result.Fail {
						t.Errorf("seed %d: %s, complete %t, %s: accused", seed+round, a.name, complete, text)
					}
					if a.lossless {
						gross++
						j, err := check.Judge(l.Timeline(), wrong, how)
						if err == nil && j.Verdict == result.Fail {
							caught++
						}
					}
				}
			}
		}
	}
	t.Logf("%d logs, %d refused; %d of %d gross faults caught", logs, refused, caught, gross)
	if caught*10 < gross*8 {
		t.Errorf("got %d of %d gross faults caught", caught, gross)
	}
}
