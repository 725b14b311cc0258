package load

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

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
		"it is missing (name the target)": {Options{}, good},
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
			Partition: Partition{Kind: transport.ByAddress}}, good},
		"no space at its ends": {Options{URL: u, Partition: Partition{Kind: transport.ByHeader, Name: "K"}},
			with(func(p *timeline.Phase) { p.Arrivals[1].Partition = "k\n" })},
		"forge": {Options{URL: u},
			with(func(p *timeline.Phase) { p.Forge = []string{"a:b"} })},
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

// TestPartitionsByAddressAndForgedAddresses: each partition has its own address, which no other run uses.
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
		), Options{URL: loopbackHTTP(t, h), Partition: Partition{Kind: transport.ByAddress}})
	}
	if len(got) != 10 || len(got["127.5.5.5"]) == 0 {
		t.Errorf("got %d addresses, want 3 of each run and the one that is named: %v", len(got), got)
	}
	for from, claimed := range got {
		if from != "127.5.5.5" && claimed[""] != 2 {
			t.Errorf("%s: got %v, want two requests that claim nothing", from, claimed)
		}
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
	o := Options{URL: loopbackHTTP(t, h), Answers: Answers{KeepBody: 7}}
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
