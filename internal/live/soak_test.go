package live

import (
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"

	"github.com/rlcheck/rlcheck/internal/result"
)

// atOnce is how many runs of the proof run at the same time, each with its own keys.
const atOnce = 4

// nginx with rate=10r/s burst=20 nodelay admits 21 at once. That SPEC passes, and one more or one less fails,
// every time. The machine is busy with something else: two goroutines of another process that use all the
// time they get. RLCHECK_SOAK=1 does it fifty times, otherwise once. A run that shows too little is
// repeated.
//
// It does not run beside other tests, since its load would delay them.
func TestNginxBurstFiftyTimes(t *testing.T) {
	times := 1
	if os.Getenv("RLCHECK_SOAK") == "1" {
		times = 50
	}
	url := nginx(t, zone{Name: "nodelay", Rate: "10r/s", Args: "burst=20 nodelay",
		Status: http.StatusTooManyRequests})["nodelay"]
	burning, in, err := aside("burn", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = in.Close(), burning.Wait() }() // its result does not matter
	slots := make(chan struct{}, atOnce)
	var runs sync.WaitGroup
	var mu sync.Mutex
	got := map[int]map[result.Verdict]int{20: {}, 21: {}, 22: {}}
	for range times {
		for burst := range got {
			slots <- struct{}{}
			runs.Go(func() {
				defer func() { <-slots }()
				v := burstOf(t, url, burst)
				mu.Lock()
				defer mu.Unlock()
				got[burst][v]++
			})
		}
	}
	runs.Wait()
	for burst, want := range map[int]result.Verdict{20: result.Fail, 21: result.Pass, 22: result.Fail} {
		t.Logf("burst=%d: %d of %d %s (all: %v)", burst, got[burst][want], times, want, got[burst])
		if got[burst][want] != times {
			t.Errorf("burst=%d: got %v, want %d %s", burst, got[burst], times, want)
		}
	}
}

// burstOf runs the burst under a SPEC with this burst until it shows enough, and returns the verdict.
func burstOf(t testing.TB, url string, burst int) result.Verdict {
	t.Helper()
	for p := (patience{}); ; {
		more := p.left()
		still := watch(t)
		r := run(t, read(t, "burst", url, fmt.Sprintf("leaky-bucket,rate=10/s,burst=%d", burst)), "")
		longest := still()
		switch {
		case more && r.Verdict == result.Inconclusive, more && burst == 21 && r.Verdict == result.Fail &&
			standsStill(t, r, longest):
			continue
		case burst == 21:
			mustPass(t, r)
		case !fails(t, r):
			t.Errorf("got %s, want a FAIL of conformance; the recording is kept at %s", line(&r), keep(t, r))
		}
		return r.Verdict
	}
}
