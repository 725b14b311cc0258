package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// server is a Redis in memory, in virtual time. It knows the commands that a run needs.
type server struct {
	mu      sync.Mutex
	texts   map[string]string
	expires map[string]time.Time
	hashes  map[string]map[string]string
	streams map[string]*stream
	// skew is how far its clock is ahead of ours.
	skew time.Duration
	// full refuses what takes memory. down answers nothing.
	full, down bool
	// exchanges counts the exchanges. bytes are held by the streams now, biggest is the most so far.
	exchanges, bytes, biggest int
}

type stream struct {
	entries []stored
	next    int
	group   bool
	given   int // number of entries given to the group
}

type stored struct {
	id    string
	words []string
}

func newServer() *server {
	return &server{texts: map[string]string{}, expires: map[string]time.Time{},
		hashes: map[string]map[string]string{}, streams: map[string]*stream{}}
}

// way is the connection of one client. An exchange takes the time there and back. Nothing passes while cut
// returns true, or once gone is set.
type way struct {
	s           *server
	there, back func() time.Duration
	cut         func() bool
	gone        atomic.Bool
}

func (w *way) isCut() bool { return w.gone.Load() || w.cut() }

var errCut = errors.New("no route")

// to returns a way to s that takes d in each direction.
func (s *server) to(d time.Duration) *way {
	same := func() time.Duration { return d }
	return &way{s: s, there: same, back: same, cut: func() bool { return false }}
}

// Exchange implements Conn.
func (w *way) Exchange(ctx context.Context, commands ...[]any) ([]any, error) {
	lost := func() error {
		<-ctx.Done()
		return errCut
	}
	if w.isCut() || w.s.isDown() {
		return nil, lost()
	}
	if !pause(ctx, w.there()) {
		return nil, errCut
	}
	if w.s.isDown() {
		return nil, lost()
	}
	w.s.mu.Lock()
	w.s.exchanges++
	out := make([]any, len(commands))
	for i, c := range commands {
		out[i] = w.s.do(c)
	}
	w.s.mu.Unlock()
	if w.isCut() {
		return nil, lost()
	}
	if !pause(ctx, w.back()) {
		return nil, errCut
	}
	return out, nil
}

func (s *server) isDown() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down
}

// set changes the server under its lock.
func (s *server) set(change func(s *server)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

func (s *server) time() []any {
	now := time.Now().Add(s.skew).UnixMicro()
	return []any{strconv.FormatInt(now/1e6, 10), strconv.FormatInt(now%1e6, 10)}
}

func (s *server) alive(key string) bool {
	if at, ok := s.expires[key]; ok && !time.Now().Before(at) {
		delete(s.texts, key)
		delete(s.expires, key)
	}
	_, ok := s.texts[key]
	return ok
}

func (s *server) stream(name string) *stream {
	if s.streams[name] == nil {
		s.streams[name] = &stream{}
	}
	return s.streams[name]
}

// do runs one command. It knows only the forms that are in use.
func (s *server) do(words []any) any {
	w := make([]string, len(words))
	for i := range words {
		w[i] = fmt.Sprint(words[i])
	}
	if s.full && slices.Contains([]string{"xadd", "set", "eval"}, w[0]) && w[1] != timeScript {
		return errors.New("OOM command not allowed when used memory > 'maxmemory'")
	}
	switch w[0] {
	case "eval":
		return s.script(w)
	case "set":
		s.texts[w[1]] = w[2]
		delete(s.expires, w[1])
		if len(w) > 4 {
			ms, _ := strconv.Atoi(w[4])
			s.expires[w[1]] = time.Now().Add(time.Duration(ms) * time.Millisecond)
		}
		return "OK"
	case "get":
		if s.alive(w[1]) {
			return s.texts[w[1]]
		}
		return nil
	case "exists":
		if s.alive(w[1]) {
			return int64(1)
		}
		return int64(0)
	case "del":
		delete(s.texts, w[1])
		delete(s.hashes, w[1])
		delete(s.streams, w[1])
		return int64(1)
	case "pexpire":
		return int64(1)
	case "hgetall":
		out := map[any]any{}
		for k, v := range s.hashes[w[1]] {
			out[k] = v
		}
		return out
	}
	return s.streamed(w)
}

// script runs one of the two scripts.
func (s *server) script(w []string) any {
	t := s.time()
	if w[1] == timeScript {
		return t
	}
	if s.hashes[w[4]] == nil {
		s.hashes[w[4]] = map[string]string{}
	}
	s.hashes[w[4]][w[5]] = w[6]
	left := int64(-2)
	if s.alive(w[3]) {
		left = time.Until(s.expires[w[3]]).Milliseconds()
	}
	return append(t, left)
}

func list(all []stored, most int) []any {
	out := []any{}
	for _, e := range all[:min(len(all), most)] {
		words := []any{}
		for _, x := range e.words {
			words = append(words, x)
		}
		out = append(out, []any{e.id, words})
	}
	return out
}

// streamed runs the commands of streams.
func (s *server) streamed(w []string) any {
	switch w[0] {
	case "xadd":
		x := s.stream(w[1])
		x.next++
		e := stored{fmt.Sprintf("%020d-0", x.next), w[slices.Index(w, "*")+1:]}
		x.entries = append(x.entries, e)
		s.bytes += len(strings.Join(e.words, ""))
		s.biggest = max(s.biggest, s.bytes)
		return e.id
	case "xlen":
		return int64(len(s.stream(w[1]).entries))
	case "xrange", "xrevrange":
		x := s.stream(w[1])
		if w[0] == "xrevrange" {
			back := slices.Clone(x.entries)
			slices.Reverse(back)
			return list(back, 10)
		}
		most := len(x.entries)
		if len(w) > 5 {
			most, _ = strconv.Atoi(w[5])
		}
		from := 0
		if last, ok := strings.CutPrefix(w[2], "("); ok {
			for from < len(x.entries) && x.entries[from].id <= last {
				from++
			}
		}
		return list(x.entries[from:], most)
	case "xtrim", "xdel":
		x := s.stream(w[1])
		x.entries = slices.DeleteFunc(x.entries, func(e stored) bool {
			gone := w[0] == "xdel" && e.id == w[2] || w[0] == "xtrim" && e.id < w[3]
			if gone {
				s.bytes -= len(strings.Join(e.words, ""))
			}
			return gone
		})
		return int64(1)
	}
	return s.grouped(w)
}

// grouped runs the commands of consumer groups.
func (s *server) grouped(w []string) any {
	switch w[0] {
	case "xgroup":
		x := s.stream(w[2])
		x.group = w[1] == "create"
		return "OK"
	case "xreadgroup":
		x := s.stream(w[7])
		if !x.group {
			return errors.New("NOGROUP")
		}
		if x.given == len(x.entries) {
			return nil
		}
		e := x.entries[x.given]
		x.given++
		return map[any]any{w[7]: list([]stored{e}, 1)}
	}
	panic("no such command: " + w[0])
}
