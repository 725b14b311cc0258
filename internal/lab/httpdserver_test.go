package lab

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// TestListenRefusesOtherAddresses: a server listens on loopback only.
func TestListenRefusesOtherAddresses(t *testing.T) {
	for _, addr := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0"} {
		s, err := Listen(http.NotFoundHandler(), addr)
		if err == nil || !strings.Contains(err.Error(), `write "127.0.0.1:0"`) {
			t.Errorf("%s: got error %v, want one that says what to write", addr, err)
		}
		if s != nil {
			t.Errorf("%s: got a server", addr)
		}
	}
	for _, addr := range []string{"127.0.0.1", "127.0.0.1:99999", "127.0.0.1:http:"} {
		if _, err := Listen(http.NotFoundHandler(), addr); err == nil {
			t.Errorf("%s: got no error", addr)
		}
	}
}

// TestServerServesManyConnections keeps a thousand connections open and sends two requests over each. Closing
// ends them all, and the port is free again.
func TestServerServesManyConnections(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	once := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if asked[r.Header.Get("X-Api-Key")]++; asked[r.Header.Get("X-Api-Key")] > 1 {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_, _ = io.WriteString(w, "allowed")
	})
	s, err := Listen(once, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if s.URL() != "http://"+s.Addr()+"/" {
		t.Errorf("got URL %s, want that of %s", s.URL(), s.Addr())
	}
	count := map[string]int{}
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			c, err := net.Dial("tcp", s.Addr())
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { c.Close() })
			r := bufio.NewReader(c)
			for range 2 {
				if _, err := fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: x\r\nX-Api-Key: %d\r\n\r\n",
					i); err != nil {
					t.Error(err)
					return
				}
				answer, err := http.ReadResponse(r, nil)
				if err != nil {
					t.Error(err)
					return
				}
				_, err = io.Copy(io.Discard, answer.Body)
				mu.Lock()
				count[fmt.Sprint(answer.StatusCode, err)]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if want := "map[200 <nil>:1000 429 <nil>:1000]"; fmt.Sprint(count) != want {
		t.Errorf("got %v, want %s", count, want)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	again, err := Listen(once, s.Addr())
	if err != nil {
		t.Fatalf("listening again: %v", err)
	}
	if err := again.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestServerRefusesLargeHeaders answers 431 to a header block over the limit.
func TestServerRefusesLargeHeaders(t *testing.T) {
	s, err := Listen(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int]int{maxHeader / 2: http.StatusOK,
		2 * maxHeader: http.StatusRequestHeaderFieldsTooLarge} {
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			// The server may close the connection before it has read everything.
			_, _ = fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: x\r\nX-Large: %s\r\n\r\n",
				strings.Repeat("a", size))
		}()
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != want {
			t.Errorf("%d bytes: got status %d, want %d", size, answer.StatusCode, want)
		}
		c.Close()
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestServerCloseGivesUp closes a server with a request that never ends.
func TestServerCloseGivesUp(t *testing.T) {
	entered := make(chan struct{})
	s, err := Listen(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
	}), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Close(ctx); err != nil {
		t.Errorf("got error %v, want none: giving up is not one", err)
	}
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is still open")
	}
}

// TestLinesAreKept: a handler gets the header lines of its request as they arrived, also those of the second
// request of a connection.
func TestLinesAreKept(t *testing.T) {
	s, err := Listen(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lines := r.Context().Value(LinesKey{}).(func() []string)
		_, _ = io.WriteString(w, strings.Join(lines(), "|"))
	}), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	answers := bufio.NewReader(c)
	for _, lines := range []string{"Host: a|X-Api-Key: k", "host: a|x-api-key:   k  ", "Host: a|A:b|a:  b"} {
		if _, err := fmt.Fprintf(c, "GET / HTTP/1.1\r\n%s\r\n\r\n",
			strings.ReplaceAll(lines, "|", "\r\n")); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(answer.Body); err != nil || string(body) != lines {
			t.Errorf("got the lines %q, want %q (%v)", body, lines, err)
		}
	}
}
