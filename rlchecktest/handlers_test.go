package rlchecktest

import (
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// window is a fixed window for each client that its first request opens.
type window struct {
	quota int
	per   time.Duration
	mu    sync.Mutex
	ends  map[string]time.Time
	used  map[string]int
}

func newWindow(quota int, per time.Duration) http.Handler {
	return &window{quota: quota, per: per, ends: map[string]time.Time{}, used: map[string]int{}}
}

func (l *window) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := r.Header.Get("X-Api-Key")
	if now := time.Now(); !now.Before(l.ends[key]) {
		l.ends[key], l.used[key] = now.Add(l.per), 0
	}
	if l.used[key] >= l.quota {
		http.Error(w, "slow down", http.StatusTooManyRequests)
		return
	}
	l.used[key]++
}

// racing asks its store for the count of a client before it counts: two requests may see the same place
// free.
type racing struct {
	quota int
	mu    sync.Mutex
	store map[string]string
}

func newRacing() http.Handler { return &racing{quota: 100, store: map[string]string{}} }

func (l *racing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("X-Api-Key")
	l.mu.Lock()
	text := l.store[key]
	l.mu.Unlock()
	used, _ := strconv.Atoi(text)
	runtime.Gosched() // the store has other clients
	if used >= l.quota {
		http.Error(w, "slow down", http.StatusTooManyRequests)
		return
	}
	text = fmt.Sprint(used + 1)
	l.mu.Lock()
	l.store[key] = text
	l.mu.Unlock()
}

// swept is a fixed window of all clients that a goroutine ends, until stop is closed.
type swept struct {
	quota int
	mu    sync.Mutex
	used  map[string]int
}

func newSwept(quota int, per time.Duration, stop <-chan struct{}) http.Handler {
	l := &swept{quota: quota, used: map[string]int{}}
	go func() {
		for tick := time.Tick(per); ; {
			select {
			case <-tick:
			case <-stop:
				return
			}
			l.mu.Lock()
			l.used = map[string]int{}
			l.mu.Unlock()
		}
	}()
	return l
}

func (l *swept) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := r.Header.Get("X-Api-Key")
	if l.used[key] >= l.quota {
		http.Error(w, "slow down", http.StatusTooManyRequests)
		return
	}
	l.used[key]++
}
