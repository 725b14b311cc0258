package lab

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
)

// deafRedis is a Redis, as a cluster of one node, that runs scripts but hangs up instead of answering. It
// counts the scripts.
type deafRedis struct {
	listener net.Listener
	ran      atomic.Int64
}

func startDeafRedis(t *testing.T) *deafRedis {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &deafRedis{listener: l}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go d.serve(c)
		}
	}()
	return d
}

// serve answers commands. Each is an array of strings.
func (d *deafRedis) serve(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	host, port, _ := net.SplitHostPort(d.listener.Addr().String())
	for {
		var words, size int
		if _, err := fmt.Fscanf(r, "*%d\r\n", &words); err != nil {
			return
		}
		var command []string
		for range words {
			if _, err := fmt.Fscanf(r, "$%d\r\n", &size); err != nil {
				return
			}
			word := make([]byte, size+2)
			for n := 0; n < len(word); {
				m, err := r.Read(word[n:])
				if err != nil {
					return
				}
				n += m
			}
			command = append(command, string(word[:size]))
		}
		answer := "-ERR unknown command\r\n"
		switch strings.ToLower(command[0] + " " + strings.Join(command[1:], " ")) {
		case "ping ":
			answer = "+PONG\r\n"
		case "cluster slots":
			answer = fmt.Sprintf("*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$%d\r\n%s\r\n:%s\r\n$1\r\na\r\n",
				len(host), host, port)
		}
		if strings.HasPrefix(strings.ToLower(command[0]), "eval") {
			d.ran.Add(1)
			return
		}
		if _, err := c.Write([]byte(answer)); err != nil {
			return
		}
	}
}

// TestLostAnswersAreNotAskedForAgain: the server runs a script and hangs up. A second script would charge the
// request twice.
func TestLostAnswersAreNotAskedForAgain(t *testing.T) {
	for _, scheme := range []string{"redis://", "redis-cluster://"} {
		deaf := startDeafRedis(t)
		s, err := OpenStore(scheme + deaf.listener.Addr().String())
		store := opened(t, s, err)
		d, err := store.Decider(redisParse(t, "gcra,rate=1/s,burst=5"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Decide(t.Context(), "k", 1); err == nil {
			t.Errorf("%s: got no error", scheme)
		}
		if n := deaf.ran.Load(); n != 1 {
			t.Errorf("%s: the server ran %d scripts, want 1", scheme, n)
		}
	}
}
