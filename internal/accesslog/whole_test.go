package accesslog

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// inFlightTraffic is what a concurrency limiter decided, in the order in which requests ended. An admitted
// request holds its place for 1 to 1.4 s from its decision. Its last byte is sent after at least 1 s. A
// client that goes away ends its request at any time, and its place also comes back at any time. It returns
// for each request whether its client went away.
func inFlightTraffic(rng *rand.Rand, places, n int) (all []request, gone []bool) {
	all, gone = make([]request, n), make([]bool, n)
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	for i := range all {
		at = at.Add(time.Duration(rng.Int64N(int64(250 * time.Millisecond))))
		if rng.IntN(40) == 0 {
			at = at.Add(4 * time.Second)
		}
		all[i] = request{began: at, decided: at.Add(time.Duration(rng.Int64N(int64(80 * time.Millisecond)))),
			key: "k"}
	}
	slices.SortFunc(all, func(a, b request) int { return a.decided.Compare(b.decided) })
	var held []time.Time // when the places come back
	for i := range all {
		r := &all[i]
		held = slices.DeleteFunc(held, func(c time.Time) bool { return !c.After(r.decided) })
		if len(held) == places {
			r.status, r.ended = 429, r.decided.Add(time.Duration(rng.Int64N(int64(5*time.Millisecond))))
			continue
		}
		r.status = 200
		const least, most = time.Second, 1400 * time.Millisecond
		if gone[i] = rng.IntN(8) == 0; gone[i] {
			r.ended = r.decided.Add(time.Duration(rng.Int64N(int64(least))))
			held = append(held, r.decided.Add(time.Duration(rng.Int64N(int64(most)))))
			continue
		}
		r.ended = r.decided.Add(least + time.Duration(rng.Int64N(int64(200*time.Millisecond))))
		held = append(held, r.decided.Add(least+time.Duration(rng.Int64N(int64(most-least)))))
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return all[a].ended.Compare(all[b].ended) })
	sorted, left := make([]request, n), make([]bool, n)
	for i, k := range order {
		sorted[i], left[i] = all[k], gone[k]
	}
	return sorted, left
}

// wholeWriters log requests, and how they ended.
var wholeWriters = map[string]struct {
	o     Options
	write func(r request, gone bool, rng *rand.Rand) string
}{
	"nginx": {Options{Format: Nginx, PartitionBy: "X-Api-Key"},
		func(r request, gone bool, rng *rand.Rand) string {
			began, ended := nginxClock(r, rng)
			how := "OK"
			if gone {
				how = ""
			}
			return fmt.Sprintf(`10.0.0.1 - - [%s] "GET / HTTP/1.1" %d 0 "-" "-" msec=%s request_time=%s http_x_api_key="k" request_completion=%s`,
				r.ended.Format("02/Jan/2006:15:04:05 -0700"), r.status, thousandths(ended),
				thousandths(ended-began), how)
		}},
	"haproxy": {Options{Format: HAProxy, PartitionBy: "capture1", Zone: time.UTC},
		func(r request, gone bool, _ *rand.Rand) string {
			how := "----"
			if gone {
				how = "CD--"
			}
			return fmt.Sprintf(`10.0.0.1:5 [%s] f b/s 0/0/0/%d/%d %d 0 - - %s 1/1/1/1/0 0/0 {k} {} "GET / HTTP/1.1"`,
				r.began.Format("02/Jan/2006:15:04:05.000"), r.decided.Sub(r.began).Milliseconds(),
				r.ended.Sub(r.began).Milliseconds(), r.status, how)
		}},
}

// TestWholeAnswersShowHowManyAreInFlight: a log that tells which answers were whole refutes a limit that is
// too low. It accuses no right limit, even if clients went away. A log without that refutes none.
func TestWholeAnswersShowHowManyAreInFlight(t *testing.T) {
	for name, w := range wholeWriters {
		t.Run(name, func(t *testing.T) {
			refuted, blind := 0, 0
			const times = 30
			for i := range times {
				rng := rand.New(rand.NewPCG(uint64(i), 7))
				all, gone := inFlightTraffic(rng, 6, 400)
				var text strings.Builder
				from := rng.IntN(100)
				for k, r := range all[from : from+300] {
					text.WriteString(w.write(r, gone[from+k], rng) + "\n")
				}
				l, err := Read(strings.NewReader(text.String()), "x", w.o)
				if err != nil {
					t.Fatal(err)
				}
				if l.Whole < 200 || l.Whole == l.Len() {
					t.Fatalf("got %d whole answers of %d", l.Whole, l.Len())
				}
				l.Header.CompleteUntil = l.Timeline().End() - 2*time.Second
				l.Header.Tick = time.Millisecond
				if j := mustJudge(t, l,
					mustParse(t, "concurrency,limit=6,hold=1s..1400ms")); j.Verdict == result.Fail {
					t.Fatalf("seed %d: accused: %s", i, j.Partitions[0].Findings[0].Text)
				}
				wrong := mustParse(t, "concurrency,limit=2,hold=1s..1400ms")
				if mustJudge(t, l, wrong).Verdict == result.Fail {
					refuted++
				}
				l.spool = l.spool.With(func(o *timeline.Observation) { o.Origin = false })
				if mustJudge(t, l, wrong).Verdict == result.Fail {
					blind++
				}
			}
			t.Logf("%d of %d refuted, %d without the ends", refuted, times, blind)
			if refuted < times*2/3 || blind > 0 {
				t.Errorf("got %d of %d wrong limits refuted, want two thirds; %d without the ends, want none",
					refuted, times, blind)
			}
		})
	}
}

// TestWhole: what the server says about the end counts. What it leaves open does not.
func TestWhole(t *testing.T) {
	const nginx = `10.0.0.1 - - [20/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 0 "-" "-" msec=1795168800.000 request_time=0.300`
	const proxy = `10.0.0.1:5 [20/Nov/2026:10:00:00.000] f b/s 0/0/0/109/%s 200 0 - - %s 1/1/1/1/0 0/0 "GET / HTTP/1.1"`
	for _, c := range []struct {
		format Format
		line   string
		want   bool
	}{
		{Nginx, nginx, false}, {Nginx, nginx + " request_completion=OK", true},
		{Nginx, nginx + ` request_completion=""`, false},
		{Nginx, nginx + ` x="request_completion=OK"`, false},
		{NginxJSON, `{"msec":"1795168800.000","request_time":"0.300","status":"200","remote_addr":"a","request_completion":"OK"}`, true},
		{NginxJSON, `{"msec":"1795168800.000","request_time":"0.300","status":"200","remote_addr":"a","request_completion":""}`, false},
		{HAProxy, fmt.Sprintf(proxy, "109", "----"), true},
		{HAProxy, fmt.Sprintf(proxy, "109", "--VN"), true},
		{HAProxy, fmt.Sprintf(proxy, "109", "CD--"), false},
		{HAProxy, fmt.Sprintf(proxy, "109", "-D--"), false},
		{HAProxy, fmt.Sprintf(proxy, "+109", "----"), false},
		{HAProxy, fmt.Sprintf(proxy, "-1", "----"), false},
	} {
		l, err := Read(strings.NewReader(c.line+"\n"), "x",
			Options{Format: c.format, Zone: time.UTC, MaxDuration: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		o := l.Timeline().Observations[0]
		if got := o.Done > 0; got != c.want || got && o.Done != o.FirstByte || (l.Whole == 1) != c.want {
			t.Errorf("%s: got done %s, %d whole, want %t", c.line, o.Done, l.Whole, c.want)
		}
	}
}
