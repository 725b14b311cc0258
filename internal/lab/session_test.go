package lab

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"
)

// session is a client in virtual time. Its steps return what it saw, which run joins.
type session struct {
	h       http.Handler
	request request
	// last is the last answer, took the time until it came.
	last *http.Response
	took time.Duration
}

// step is one action of a client. It returns what was seen, or "".
type step func(*session) string

// run does all steps, one after the other.
func run(h http.Handler, steps ...step) string {
	s := &session{h: h, request: request{key: "k"}}
	var seen []string
	for _, do := range steps {
		if what := do(s); what != "" {
			seen = append(seen, what)
		}
	}
	return strings.Join(seen, ", ")
}

// send sends one request and tells whether it was allowed.
func (s *session) send() bool {
	begin := time.Now()
	s.last = ask(s.h, s.request)
	s.took = time.Since(begin)
	return s.last.StatusCode == http.StatusOK
}

// pace sends n requests, a gap before each, and returns how many were allowed.
func pace(n int, gap time.Duration) step {
	return func(s *session) string {
		allowed := 0
		for range n {
			time.Sleep(gap)
			if s.send() {
				allowed++
			}
		}
		return fmt.Sprint(allowed)
	}
}

// burst sends n requests one after the other without any time in between. It returns how many were allowed.
func burst(n int) step { return pace(n, 0) }

// together sends n requests at once, and returns how many were allowed.
func together(n int) step {
	return func(s *session) string {
		var allowed atomic.Int64
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				if ask(s.h, s.request).StatusCode == http.StatusOK {
					allowed.Add(1)
				}
			})
		}
		synctest.Wait()
		wg.Wait()
		return fmt.Sprint(allowed.Load())
	}
}

// left sends n requests at once and does not wait for their answers.
func left(n int) step {
	return func(s *session) string {
		for range n {
			go ask(s.h, s.request)
		}
		synctest.Wait()
		return ""
	}
}

// one sends a request.
func one(s *session) string {
	s.send()
	return ""
}

// wait sends nothing for a time.
func wait(d time.Duration) step {
	return func(*session) string {
		time.Sleep(d)
		return ""
	}
}

// as changes the requests that follow.
func as(change func(*request)) step {
	return func(s *session) string {
		change(&s.request)
		return ""
	}
}

func costing(n int64) step     { return as(func(r *request) { r.cost = n }) }
func named(key string) step    { return as(func(r *request) { r.key = key }) }
func asking(path string) step  { return as(func(r *request) { r.path = path }) }
func by(method string) step    { return as(func(r *request) { r.method = method }) }
func with(name, v string) step { return as(func(r *request) { r.fields = map[string]string{name: v} }) }

// jostle sends n requests, a gap between each two, without waiting for answers. It returns whether more than
// 24 were allowed. A bucket of 20 with 10/s admits at most 24 in 400 ms.
func jostle(n int, gap time.Duration) step {
	return func(s *session) string {
		var allowed atomic.Int64
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				if ask(s.h, s.request).StatusCode == http.StatusOK {
					allowed.Add(1)
				}
			})
			time.Sleep(gap)
		}
		wg.Wait()
		if allowed.Load() > 24 {
			return "more than 24"
		}
		return "at most 24"
	}
}

// others sends one request for each of n other partitions.
func others(n int) step {
	return func(s *session) string {
		for i := range n {
			ask(s.h, request{key: fmt.Sprint("other", i)})
		}
		return ""
	}
}

// says returns the values of a field of the last answer.
func says(name string) step {
	return func(s *session) string {
		if v, ok := s.last.Header[http.CanonicalHeaderKey(name)]; ok {
			return strings.Join(v, "|")
		}
		return "none"
	}
}

// status returns the status of the last answer.
func status(s *session) string { return fmt.Sprint(s.last.StatusCode) }

// body returns the body of the last answer.
func body(s *session) string {
	b, err := io.ReadAll(s.last.Body)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// took returns how long the last answer was waited for.
func took(s *session) string { return s.took.String() }
