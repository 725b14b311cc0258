package transport

import (
	"sync"
	"sync/atomic"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// key identifies a request that is made once and used again.
type key struct {
	origin    bool
	partition string
	cost      int64
	own       *timeline.Request
	turn      int
}

// Requests makes the requests of a recording. Several goroutines may use it.
type Requests struct {
	o *Options
	// numbered counts the wishes that got a number.
	numbered atomic.Int64

	mu   sync.Mutex
	made map[key]*MessageRequest
}

// NewRequests returns the requests that o describes. Their numbers follow those of the recorders before this
// one.
func NewRequests(o *Options) *Requests {
	r := &Requests{o: o, made: map[key]*MessageRequest{}}
	if o.Share != nil {
		r.numbered.Store(int64(o.Share.Forged))
	}
	return r
}

// Of returns the request for a wish that was checked. It makes each request once, unless the request has an
// invented address or key or a unique number.
func (r *Requests) Of(w Wish) *MessageRequest {
	if len(w.Forge) > 0 || w.Own != nil && w.Own.Mint || r.o.PastCaches != "" {
		w.number = int(r.numbered.Add(1))
		return newRequest(r.o, w)
	}
	k := key{w.Origin, w.Partition, w.Cost, nil, 0}
	if w.Own != nil && !w.Own.IsZero() {
		k.own = w.Own
		if n := len(w.Own.Spellings); n > 0 {
			k.turn = w.Turn % n
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	req, ok := r.made[k]
	if !ok {
		req = newRequest(r.o, w)
		r.made[k] = req
	}
	return req
}
