//go:build unix

package rlchecktest

import (
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// kernel is a window of a second by the clock of the kernel, which is never virtual.
type kernel struct {
	mu     sync.Mutex
	second map[string]int64
	used   map[string]int
}

func (l *kernel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var now syscall.Timeval
	if err := syscall.Gettimeofday(&now); err != nil {
		panic(err)
	}
	key := r.Header.Get("X-Api-Key")
	if l.second[key] != int64(now.Sec) {
		l.second[key], l.used[key] = int64(now.Sec), 0
	}
	if l.used[key]++; l.used[key] > 20 {
		w.WriteHeader(http.StatusTooManyRequests)
	}
}

// TestAClockThatIsNotVirtualIsTold: the windows of a limiter that reads the kernel's clock never end in a
// bubble, which is no fault of it.
func TestAClockThatIsNotVirtualIsTold(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	look := func() {
		t.Helper()
		x := worst(see(t, false, func() http.Handler {
			return &kernel{second: map[string]int64{}, used: map[string]int{}}
		}, "fixed-window,rate=20/1s", Only("quota-window")))
		if x.verdict != open || !strings.Contains(x.text, "a clock that is not virtual") ||
			strings.Contains(x.text, "newSwept") || strings.Contains(x.text, "Make") {
			t.Errorf("got %v: %s", x.verdict, x.text)
		}
	}
	look()
	stop := make(chan struct{})
	defer close(stop)
	newSwept(20, time.Second, stop) // a goroutine that has nothing to do with the handler
	look()
}
