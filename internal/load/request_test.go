package load

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

func TestRequestBytes(t *testing.T) {
	o := must(Options{
		URL:        must(url.Parse("http://example.com:8080/a%20b/?x=1#frag")),
		Origin:     must(url.Parse("http://origin.example")),
		Header:     http.Header{"B-Two": {"1", "2"}, "A-One": {"x"}, "Accept": {"text/plain"}},
		CostHeader: "x-cost",
	}.complete())
	tests := []struct {
		partition Partition
		method    string
		body      string
		w         wish
		want      string
	}{
		{w: wish{partition: "k", cost: 1},
			want: "GET /a%20b/?x=1 HTTP/1.1\nHost: example.com:8080\nUser-Agent: rlcheck/1\nAccept: " +
				"text/plain\nA-One: x\nB-Two: 1\nB-Two: 2\n\n"},
		{partition: Partition{Kind: kindHeader, Name: "A-One"}, w: wish{partition: "k 1", cost: 7,
			origin: true},
			want: "GET / HTTP/1.1\nHost: origin.example\nUser-Agent: rlcheck/1\nAccept: text/plain\nB-Two: " +
				"1\nB-Two: 2\nA-One: k 1\nX-Cost: 7\n\n"},
		{partition: Partition{Kind: kindPath, Name: ""}, w: wish{partition: "a/b?c", cost: 1},
			want: "GET /a%20b/a%2Fb%3Fc?x=1 HTTP/1.1\nHost: example.com:8080\nUser-Agent: " +
				"rlcheck/1\nAccept: text/plain\nA-One: x\nB-Two: 1\nB-Two: 2\n\n"},
		{partition: Partition{Kind: kindQuery, Name: "k&y"}, method: "POST", body: "hello",
			w: wish{partition: "a b\r\n", cost: 1, forge: []string{"X-Forwarded-For", "Forwarded"},
				number: 259},
			want: "POST /a%20b/?x=1&k%26y=a+b%0D%0A HTTP/1.1\nHost: example.com:8080\nUser-Agent: " +
				"rlcheck/1\nAccept: text/plain\nA-One: x\nB-Two: 1\nB-Two: 2\n" +
				"X-Forwarded-For: 198.18.1.3\nForwarded: for=198.18.1.3\nContent-Length: 5\n\nhello"},
	}
	for _, tt := range tests {
		o := *o
		o.Partition, o.Body = tt.partition, []byte(tt.body)
		if tt.method != "" {
			o.Method = tt.method
		}
		r := newRequest(&o, tt.w)
		if d := cmp.Diff(strings.ReplaceAll(tt.want, "\n", "\r\n"), string(r.head)); d != "" {
			t.Error(d)
		}
		parsed, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(r.head)))
		if err != nil {
			t.Error(err)
		} else if b, _ := io.ReadAll(parsed.Body); string(b) != tt.body {
			t.Errorf("got body %q, want %q", b, tt.body)
		}
		if _, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(r.head[:r.cut]))); err == nil {
			t.Errorf("the part before the cut is a whole request: %q", r.head[:r.cut])
		}
		if !bytes.HasPrefix(r.head[r.cut:], []byte("\r\n")) {
			t.Errorf("the part after the cut begins %q", r.head[r.cut:])
		}
	}
}

func TestParsePartition(t *testing.T) {
	for _, s := range []string{"header:X-Api-Key", "query:key", "path", "address"} {
		p, err := ParsePartition(s)
		if err != nil || p.String() != s {
			t.Errorf("%s: got %v, %v", s, p, err)
		}
	}
	for s, want := range map[string]string{
		"":                      "no such kind",
		"form:x":                "no such kind",
		"header":                "field name",
		"header:a b":            "field name",
		"header:A\r\nB":         "field name",
		"header:Content-Length": "frames the message",
		"query:":                "no name",
		"path:x":                "takes no name",
		"address:127.0.0.1":     "takes no name",
	} {
		if _, err := ParsePartition(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q in it", s, err, want)
		}
	}
	seen := map[string]bool{}
	for k := range 70000 {
		a := source("name", firstNumber("name")+k)
		if last := a.As4()[3]; !a.IsLoopback() || last == 0 || last == 255 || a.As4()[1] == 0 {
			t.Fatalf("number %d: got %v", k, a)
		}
		seen[a.String()] = true
	}
	if len(seen) < 64000 {
		t.Errorf("got %d different addresses of 70000 numbers", len(seen))
	}
	if got := source("127.9.8.7", 3).String(); got != "127.9.8.7" {
		t.Errorf("got %s, want the address that the partition names", got)
	}
}

func TestUnusableOptionsAndSchedulesAreRefusedBeforeAnythingIsSent(t *testing.T) {
	u := must(url.Parse("http://127.0.0.1:1/"))
	good := timeline.Phase{Name: "p", Shape: timeline.Constant, Arrivals: each(1, 0, "k", 0)}
	with := func(change func(p *timeline.Phase)) timeline.Phase {
		p := good
		p.Arrivals = each(2, ms, "k", 0)
		change(&p)
		return p
	}
	for want, tt := range map[string]struct {
		o Options
		p timeline.Phase
	}{
		"there is none (name the target)": {Options{}, good},
		"scheme is http or https":         {Options{URL: must(url.Parse("ftp://x/"))}, good},
		"no host":                         {Options{URL: must(url.Parse("http:///x"))}, good},
		"a user in a url":                 {Options{URL: must(url.Parse("http://u:secret@x/"))}, good},
		"a method is a token":             {Options{URL: u, Method: "GET /\r\n"}, good},
		"turns the connection":            {Options{URL: u, Method: "CONNECT"}, good},
		"no control characters":           {Options{URL: u, Header: http.Header{"Key": {"a\r\nX: y"}}}, good},
		"canonical form":                  {Options{URL: u, Header: http.Header{"x-key": {"a"}}}, good},
		"frames the message": {Options{URL: u,
			Header: http.Header{"Transfer-Encoding": {"chunked"}}}, good},
		"cost header": {Options{URL: u, CostHeader: "a b"}, good},
		"timeout -1":  {Options{URL: u, Timeout: -1}, good},
		"only 127.0.0.0/8": {Options{URL: must(url.Parse("http://10.0.0.1/")),
			Partition: Partition{Kind: kindAddress}}, good},
		"no space at its ends": {Options{URL: u, Partition: Partition{Kind: kindHeader, Name: "K"}},
			with(func(p *timeline.Phase) { p.Arrivals[1].Partition = "k\n" })},
		"arrivals ascend": {Options{URL: u},
			with(func(p *timeline.Phase) { p.Arrivals[0].At = 5 * ms })},
		"before its beginning": {Options{URL: u},
			with(func(p *timeline.Phase) { p.Arrivals[0].At = -5 * ms })},
		"each with its own":  {Options{URL: u}, with(func(p *timeline.Phase) { p.Arrivals[1].Seq = 0 })},
		"goes to the origin": {Options{URL: u}, with(func(p *timeline.Phase) { p.Origin = true })},
		"does not know it":   {Options{URL: u}, with(func(p *timeline.Phase) { p.Shape = "spiral" })},
		"needs at least one": {Options{URL: u},
			with(func(p *timeline.Phase) { p.Shape, p.Clients = timeline.Closed, 1 })},
		"it has neither": {Options{URL: u},
			with(func(p *timeline.Phase) {
				p.Shape, p.Clients, p.Partitions = timeline.Closed, 1,
					[]string{"k"}
			})},
		"clock, reset, probe": {Options{URL: u},
			with(func(p *timeline.Phase) { p.Shape = timeline.Boundary })},
		"needs one": {Options{URL: u},
			with(func(p *timeline.Phase) { p.Shape, p.Aim = timeline.Boundary, timeline.AimClock })},
		"allow at least 2": {Options{URL: u},
			with(func(p *timeline.Phase) {
				p.Shape, p.Aim, p.Window = timeline.Boundary, timeline.AimProbe,
					1
			})},
		"forge": {Options{URL: u},
			with(func(p *timeline.Phase) { p.Forge = []string{"a:b"} })},
		"it is not negative":     {Options{URL: u}, with(func(p *timeline.Phase) { p.Duration = -1 })},
		"white space is escaped": {Options{URL: &url.URL{Scheme: "http", Host: "x", RawQuery: "a b"}}, good},
	} {
		tl, err := Record(context.Background(), schedule(tt.p), tt.o)
		if err == nil || tl != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("a password is in %q", err)
		}
	}
}

// TestPartitionsByAddressAndForgedAddresses: each partition has an address of its own, which no other run
// uses.
func TestPartitionsByAddressAndForgedAddresses(t *testing.T) {
	var mu sync.Mutex
	got := map[string]map[string]int{}
	h := func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		from, _, _ := strings.Cut(r.RemoteAddr, ":")
		if got[from] == nil {
			got[from] = map[string]int{}
		}
		got[from][r.Header.Get("X-Forwarded-For")]++
	}
	for run := range 3 {
		var burst []timeline.Arrival
		for i := range 6 {
			burst = append(burst,
				timeline.Arrival{Seq: i, Partition: fmt.Sprintf("run%c-%d", 'a'+run, (i+run)%3+1)})
		}
		mustRecord(t, schedule(
			timeline.Phase{Name: "b", Shape: timeline.AtOnce, Arrivals: burst},
			timeline.Phase{Name: "c", Shape: timeline.Closed, Clients: 1, Partitions: []string{"127.5.5.5"},
				Requests: 1, Forge: []string{"X-Forwarded-For"}},
		), Options{URL: loopbackHTTP(t, h), Partition: Partition{Kind: kindAddress}})
	}
	if len(got) != 10 || len(got["127.5.5.5"]) == 0 {
		t.Errorf("got %d addresses, want 3 of each run and the one that is named: %v", len(got), got)
	}
	for from, claimed := range got {
		if from != "127.5.5.5" && claimed[""] != 2 {
			t.Errorf("%s: got %v, want two requests that claim nothing", from, claimed)
		}
	}
	if firstNumber("rlcheck-1") != firstNumber("rlcheck-20") {
		t.Error("partitions of one run have different first numbers")
	}
}

func TestAnswerFieldsAreKeptSortedAndJoined(t *testing.T) {
	h := func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Retry-After"] = []string{"1", "2"}
		w.Header().Set("X-RateLimit-Remaining", "3")
		w.Header().Set("RateLimit", `"a";r=1`)
		w.Header().Set("Foo-Reset", "9")
		w.Header().Set("Set-Cookie", "secret")
		w.Header()["Date"] = nil
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(429)
		io.WriteString(w, strings.Repeat("x", 100))
	}
	o := Options{URL: loopbackHTTP(t, h), KeepBody: 7}
	got := mustRecord(t, one(), o).Observations[0]
	want := timeline.Fields{{Name: "Content-Type", Value: "application/problem+json"},
		{Name: "Foo-Reset", Value: "9"},
		{Name: "Ratelimit", Value: `"a";r=1`}, {Name: "Retry-After", Value: "1, 2"},
		{Name: "X-Ratelimit-Remaining", Value: "3"}}
	if d := cmp.Diff(want, got.Fields); d != "" || got.Body != "xxxxxxx" {
		t.Errorf("%s body %q", d, got.Body)
	}
	o.Record = func(name string) bool { return name == "Set-Cookie" }
	o.Classify = func(status int) timeline.Outcome { return timeline.Allowed }
	got = mustRecord(t, one(), o).Observations[0]
	if len(got.Fields) != 1 || got.Fields[0].Name != "Set-Cookie" || got.Outcome != timeline.Allowed ||
		got.Body != "" {
		t.Errorf("got %+v", got)
	}
}

func TestKeepAliveTimeoutIsRespected(t *testing.T) {
	for v, want := range map[string]int{"timeout=5": 4000, "timeout=1, max=3": 500,
		`max=9, Timeout="2"`: 1000, "timeout=x": 0, "max=1": 0, "timeout=99999999999999": 0} {
		if got := int(patience([]string{v}).Milliseconds()); got != want {
			t.Errorf("%q: got %d ms, want %d", v, got, want)
		}
	}
}

// TestPastCaches: each request has a URL of its own, with or without a query, and what a user says of caches
// is sent as it is.
func TestPastCaches(t *testing.T) {
	for query, want := range map[string]string{"": "/a?rlcheck-past-caches=run-1.7",
		"b=c": "/a?b=c&rlcheck-past-caches=run-1.7"} {
		u := &url.URL{Scheme: "http", Host: "h", Path: "/a", RawQuery: query}
		o := &Options{URL: u, Method: http.MethodGet, PastCaches: "run-1"}
		head := string(newRequest(o, wish{number: 7}).head)
		if !strings.HasPrefix(head, "GET "+want+" ") ||
			!strings.Contains(head, "\r\nCache-Control: no-cache\r\n") {
			t.Errorf("query %q: got\n%s\nwant %s and no-cache", query, head, want)
		}
		o.Header = http.Header{"Cache-Control": {"max-age=0"}}
		if head := string(newRequest(o, wish{}).head); strings.Contains(head, "no-cache") {
			t.Errorf("got\n%s\nwant the user's own Cache-Control alone", head)
		}
	}
	r := newRecorder(&timeline.Schedule{}, &Options{URL: &url.URL{Host: "h"}, PastCaches: "run"})
	if a, b := r.request(wish{}), r.request(wish{}); string(a.head) == string(b.head) {
		t.Errorf("got one request twice:\n%s", a.head)
	}
}
