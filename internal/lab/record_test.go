package lab

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// recorder records requests to a target with options o into file.
func recorder(t *testing.T, file *bytes.Buffer, o Options) *Recorder {
	t.Helper()
	r, err := NewRecorder(open(t, o), file)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// recorded reads what a Recorder wrote.
func recorded(t *testing.T, text []byte) *timeline.Timeline {
	t.Helper()
	tl, err := timeline.Read(bytes.NewReader(text), "recording", timeline.ReadOptions{AllowEmpty: true})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return tl
}

func TestRecorderKeepsWhatCameAndWhatWasAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var file bytes.Buffer
		r := recorder(t, &file, Options{Limit: parse(t, "token-bucket,rate=1/10s,burst=1")})
		ask := func(key, idempotency string) {
			q := httptest.NewRequest(http.MethodGet, "/x?n=1", nil)
			q.Header.Set("X-Api-Key", key)
			q.Header.Set("Idempotency-Key", idempotency)
			r.ServeHTTP(httptest.NewRecorder(), q)
		}
		time.Sleep(time.Second)
		ask("a", "1")
		time.Sleep(time.Second)
		ask("a", "2\xff")
		r.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
		tl := recorded(t, file.Bytes()) // whole even before it is closed
		if len(tl.Observations) != 3 {
			t.Fatalf("observations: got %d, want 3\n%s", len(tl.Observations), file.Bytes())
		}
		o := tl.Observations[1]
		want := "a 2s 2s 429 denied 9 GET /x?n=1 2?"
		got := []string{o.Partition, o.Sent.String(), o.FirstByte.String(), "429", o.Outcome.String()}
		for _, name := range []string{"Retry-After", ":method", ":path", "Idempotency-Key"} {
			v, _ := o.Fields.Get(name)
			got = append(got, v)
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("the denial: got %s, want %s", got, want)
		}
		if o := tl.Observations[2]; o.Partition != "192.0.2.1" || o.Outcome != timeline.Allowed {
			t.Errorf("without a key: got %q %v, want the address, allowed", o.Partition, o.Outcome)
		}
		if l := tl.Header.Judged.Limits; len(l) != 1 || l[0].Limit != "token-bucket,rate=1/10s,burst=1" {
			t.Errorf("limits: got %v, want the declared one", l)
		}
		time.Sleep(5 * time.Second)
		if ended, err := r.Close(); ended != 7*time.Second || err != nil {
			t.Errorf("close: got %v, %v, want 7s", ended, err)
		}
	})
}

// TestRecorderWritesInOrder: a request that is answered late, or never, stands where it arrived.
func TestRecorderWritesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var file bytes.Buffer
		r := recorder(t, &file, Options{Limit: parse(t, "leaky-bucket-queue,rate=1/10s,queue=9")})
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				r.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
			})
			synctest.Wait()
			time.Sleep(time.Second)
		}
		time.Sleep(10 * time.Second)
		if _, err := r.Close(); err != nil {
			t.Fatal(err)
		}
		tl := recorded(t, file.Bytes())
		var got []string
		for _, o := range tl.Observations {
			got = append(got, o.Sent.String()+"-"+o.FirstByte.String()+o.Error)
		}
		if got, want := strings.Join(got, " "), "0s-0s 1s-10s 2s-0sinterrupted"; got != want {
			t.Errorf("observations: got %s, want %s", got, want)
		}
		all.Wait()
	})
}

// TestRecorderOfAbandonedConnections: a target that drops a denied connection has not answered.
func TestRecorderOfAbandonedConnections(t *testing.T) {
	var file bytes.Buffer
	r := recorder(t, &file, Options{Limit: parse(t, "token-bucket,rate=1/1h,burst=1"), Fault: "denial-drops"})
	s := httptest.NewServer(r)
	defer s.Close()
	for i := range 2 {
		res, err := http.Get(s.URL)
		if err == nil {
			res.Body.Close()
		}
		if (err != nil) != (i == 1) {
			t.Errorf("request %d: got %v", i, err)
		}
	}
	s.Close()
	tl := recorded(t, file.Bytes())
	if n := len(tl.Observations); n < 2 || tl.Observations[1].Answered {
		t.Errorf("observations: got %+v, want the second without an answer", tl.Observations)
	}
}
