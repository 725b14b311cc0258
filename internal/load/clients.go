package load

import (
	"container/heap"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// afterLoss is how long a client waits after a request that was not answered. Without it, a target that is
// down would be asked in a tight loop.
const afterLoss = 100 * time.Millisecond

// crowd runs the clients of a closed, honoring or backoff phase. A client has one request in flight. The
// goroutine that read the answer sends the next request on the same connection, unless the client has to
// wait.
type crowd struct {
	p     *phase
	r     *recorder
	honor bool
	// retries is the policy of a backoff phase; nil for the other shapes.
	retries *retries
	// pools has the connections of each partition if the phase has more partitions than clients. Each client
	// then asks for one after the other. nil: each client asks for one partition.
	pools []*transport.Pool
	// left is how many requests may still begin, if the phase has a number of requests.
	left atomic.Int64
	// end is the clock from which on no request begins; 0 for never. It is set before the first request is
	// submitted.
	end time.Duration

	mu     sync.Mutex
	queue  queue
	closed bool
}

// client is one client. Its shot is used again for each request. It belongs to the goroutine that handles its
// request.
type client struct {
	shot      transport.Shot
	partition string
	due       time.Duration
	// sent counts the requests of the client. turn counts them too, but starts at the number of the client.
	// failures counts the failed requests of a backoff phase since the last admission.
	sent, turn, failures int
}

// queue is a heap of waiting clients: the first is due first.
type queue []*client

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].due < q[j].due }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(*client)) }
func (q *queue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

func newCrowd(p *phase) *crowd {
	k := &crowd{p: p, r: p.r, honor: p.plan.Shape == timeline.HonorRetryAfter}
	if p.plan.Shape == timeline.Backoff {
		k.retries = newRetries(p)
	}
	p.clients = make([]client, p.plan.Clients)
	want := map[*transport.Pool]int{}
	for i := range p.clients {
		c := &p.clients[i]
		c.partition = p.plan.Partitions[i%len(p.plan.Partitions)]
		c.shot.Owner, c.shot.Client, c.shot.Entry.Free = k, i, true
		c.turn = i
		c.shot.Pool = p.r.net.Pool(p.plan.Origin, p.plan.Request.Key(c.partition))
		c.shot.Request = p.r.requests.Of(k.wish(c))
		want[c.shot.Pool]++
	}
	if n := len(p.plan.Partitions); p.plan.Shape == timeline.Closed && p.plan.Request.Vary == "" &&
		p.plan.Requests >= n && n > p.plan.Clients {
		for _, name := range p.plan.Partitions {
			k.pools = append(k.pools, p.r.net.Pool(p.plan.Origin, p.plan.Request.Key(name)))
		}
	}
	k.left.Store(int64(p.plan.Requests))
	if p.plan.Duration == 0 { // a phase that ends by its duration may send far fewer
		p.ledger.most = min(p.plan.Requests, LongRecording)
	}
	p.r.net.Lean(want, false)
	return k
}

func (k *crowd) wish(c *client) transport.Wish {
	plan := k.p.plan
	return transport.Wish{Origin: plan.Origin, Partition: c.partition, Cost: max(plan.Cost, 1),
		Forge: plan.Forge, Own: &plan.Request, Turn: c.turn}
}

func (k *crowd) run(begin time.Duration) time.Duration {
	if k.p.plan.Duration > 0 {
		k.end = begin + k.p.plan.Duration
	}
	k.p.add(len(k.p.clients))
	if k.r.pause(begin) {
		for i := range k.p.clients {
			k.start(&k.p.clients[i], begin)
		}
	} else {
		for range k.p.clients {
			k.stopped()
			k.p.done()
		}
	}
	for k.p.left.Load() > 0 && k.r.net.Sending().Err() == nil {
		due := k.earliest()
		if k.end > 0 && k.r.clock.Now() >= k.end {
			break
		}
		if k.r.o.Pacer.Wait(k.r.net.Sending(), k.r.clock, due, k.p.quiet) {
			k.wakeUp()
		}
	}
	k.close()
	k.r.net.Purge(k)
	if k.end > 0 && (k.p.left.Load() > 0 || !k.endsEarly()) {
		k.r.pause(k.end)
		return max(k.end, k.r.clock.Now())
	}
	k.r.await(k.p)
	return k.r.clock.Now()
}

// endsEarly tells whether the phase ends when all its clients are done.
func (k *crowd) endsEarly() bool {
	p, plan := k.p.plan, k.r.s.Phases
	last := p.Requests > 0 && p == &plan[len(plan)-1]
	return p.Shape.EndsEarly(last)
}

// earliest returns when the pacer has to look again: when the first client is due, or at the end.
func (k *crowd) earliest() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	due := k.r.clock.Now() + time.Hour
	if len(k.queue) > 0 {
		due = k.queue[0].due
	}
	if k.end > 0 {
		due = min(due, k.end)
	}
	return due
}

// wakeUp starts the clients whose wait is over.
func (k *crowd) wakeUp() {
	for {
		k.mu.Lock()
		if len(k.queue) == 0 || k.queue[0].due > k.r.clock.Now() {
			k.mu.Unlock()
			return
		}
		c := heap.Pop(&k.queue).(*client)
		k.mu.Unlock()
		k.start(c, c.due)
	}
}

// close ends the waits of all clients.
func (k *crowd) close() {
	k.mu.Lock()
	n := len(k.queue)
	k.queue, k.closed = nil, true
	k.mu.Unlock()
	for range n {
		k.stopped()
		k.p.done()
	}
}

// start submits the next request of a client that has no connection.
func (k *crowd) start(c *client, at time.Duration) {
	if !k.next(c, at) {
		k.p.done()
		return
	}
	k.r.net.Submit(&c.shot)
}

// next makes the observation of the next request of c, due at. It reports false if there is no next request.
func (k *crowd) next(c *client, at time.Duration) bool {
	if k.p.plan.Requests > 0 && (k.spent(c) || k.left.Add(-1) < 0) {
		return false
	}
	if k.r.net.Halted() {
		k.stopped()
		return false
	}
	if k.end > 0 && k.r.clock.Now() >= k.end {
		return false
	}
	plan := k.p.plan
	if k.pools != nil {
		at := k.visits(c)
		c.partition, c.shot.Pool = plan.Partitions[at], k.pools[at]
		c.shot.Request = k.r.requests.Of(k.wish(c))
	}
	o := k.place(c)
	o.Arrival = timeline.Arrival{Partition: c.partition, Phase: plan.Name, At: at, Cost: max(plan.Cost, 1),
		Origin: plan.Origin}
	c.shot.Obs = o
	if len(plan.Forge) > 0 || len(plan.Request.Spellings) > 1 || plan.Request.Mint || k.r.o.PastCaches != "" {
		c.shot.Request = k.r.requests.Of(k.wish(c))
	}
	c.turn, c.sent = c.turn+1, c.sent+1
	return true
}

// place returns the place of the next observation of c. In a long recording that is the place of the one
// before, which the journal has already copied.
func (k *crowd) place(c *client) *timeline.Observation {
	if k.r.long && c.shot.Obs != nil {
		*c.shot.Obs = timeline.Observation{}
		return c.shot.Obs
	}
	return k.p.ledger.next()
}

// visits returns which partition c asks next, of those that it asks one after the other: the number of c, and
// so many more as there are clients, for each of them equally often.
func (k *crowd) visits(c *client) int {
	plan := k.p.plan
	return c.shot.Client + c.sent/(plan.Requests/len(plan.Partitions))*plan.Clients
}

// spent tells whether c has sent its part of the requests of a phase with two sides, so that the faster side
// does not take the requests of the other. Or it has asked all of its partitions.
func (k *crowd) spent(c *client) bool {
	if k.pools != nil {
		return k.visits(c) >= len(k.pools)
	}
	part := (k.p.plan.Requests + k.p.plan.Clients - 1) / k.p.plan.Clients
	return k.p.plan.Request.Vary != "" && c.sent >= part
}

// stopped counts a client that would have gone on, if the run was halted before the end of the phase.
func (k *crowd) stopped() {
	if k.r.net.Halted() && k.r.clock.Now() < k.end {
		k.p.cut.Add(1)
	}
}

func (k *crowd) Dropped(s *transport.Shot) {
	if !k.r.long {
		k.p.ledger.drop(s.Obs)
	}
	k.p.clients[s.Client].sent--
	k.stopped()
	k.p.done()
}

// Ended decides what the client of s does next.
func (k *crowd) Ended(s *transport.Shot, conn *transport.Conn) {
	c := &k.p.clients[s.Client]
	due, more := k.wait(c, s.Obs)
	if !more {
		if conn != nil {
			k.r.net.Release(conn)
		}
		k.p.done()
		return
	}
	if due == 0 {
		k.proceed(c, conn)
		return
	}
	if conn != nil {
		k.r.net.Release(conn)
	}
	if k.end > 0 && due >= k.end || due-s.Obs.FirstByte > endless {
		k.p.done()
		return
	}
	k.mu.Lock()
	if k.closed {
		k.mu.Unlock()
		k.stopped()
		k.p.done()
		return
	}
	c.due = due
	heap.Push(&k.queue, c)
	first := k.queue[0] == c
	k.mu.Unlock()
	if first {
		k.p.wake()
	}
}

// proceed sends the next request of c at once, on the connection that its last answer came on.
func (k *crowd) proceed(c *client, conn *transport.Conn) {
	last := c.shot.Pool
	if !k.next(c, k.r.clock.Now()) {
		if conn != nil {
			k.r.net.Release(conn)
		}
		k.p.done()
		return
	}
	if conn != nil && c.shot.Pool != last {
		k.r.net.Release(conn)
		conn = nil
	}
	if conn == nil {
		k.r.net.Submit(&c.shot)
		return
	}
	k.r.net.Resend(conn, &c.shot)
}
