package load

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
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

// retries is the retry policy that the clients of a backoff phase share: random waits, a budget, a circuit
// breaker.
type retries struct {
	k    *recorder
	plan timeline.Retry

	mu     sync.Mutex
	random *rand.Rand
	// left is how many retries the budget still has; negative without a budget.
	left int
	// denials counts failures in a row. Once it has reached the breaker's threshold, nobody sends before
	// closed.
	denials int
	closed  time.Duration
}

func newRetries(p *phase) *retries {
	plan := p.plan.Retry
	r := &retries{k: p.r, plan: plan, left: -1, random: rand.New(rand.NewPCG(plan.Seed, 2))}
	if plan.Budget > 0 {
		r.left = p.plan.Clients * plan.Budget / 100
	}
	return r
}

// next returns when the client of o retries, and whether it does. It does not after an admission, nor when
// the budget is used up.
func (r *retries) next(c *client, o *timeline.Observation) (due time.Duration, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o.Answered && o.Outcome == timeline.Allowed {
		c.failures, r.denials = 0, 0
		return 0, false
	}
	if r.left == 0 {
		return 0, false
	}
	r.left = max(-1, r.left-1)
	c.failures++
	now := r.k.clock.Now()
	due = now + r.wait(c, o)
	if r.plan.Breaker > 0 {
		due = max(due, r.breaker(now))
	}
	return max(due, 1), true
}

// wait returns how long a client waits before its next try.
func (r *retries) wait(c *client, o *timeline.Observation) time.Duration {
	told := time.Duration(0)
	_, isTold := o.Fields.Get("Retry-After")
	if isTold = isTold && o.Answered; isTold {
		told = min(r.k.told(o)+r.k.o.Tick, 2*endless)
	}
	return r.plan.Wait(c.failures, told, isTold, r.share)
}

// share returns a random part of d, between 0 and d.
func (r *retries) share(d time.Duration) time.Duration {
	return time.Duration(r.random.Int64N(int64(d) + 1))
}

// breaker counts a failure and returns the time before which nobody sends, 0 while the breaker is closed. An
// open breaker lets one client through each time it closes.
func (r *retries) breaker(now time.Duration) time.Duration {
	if r.denials++; r.denials < r.plan.Breaker {
		return 0
	}
	r.closed = max(r.closed, now) + r.plan.Open
	return r.closed
}

const (
	// backOff is how long an honoring client waits after a denial that states no wait that can be read.
	backOff = time.Second
	// endless is the longest wait after which a client comes back. A client with a longer wait ends.
	endless = time.Hour
)

// wait returns when the client of o sends its next request, 0 for at once, and whether it sends one at all.
//
// An honoring client waits as long as a denial says, counted from its first byte, also when it says 0. It
// adds one tick of the target's clock. A limiter with a coarse clock may see less time than has passed, so a
// denial after the bare wait would prove nothing.
func (k *crowd) wait(c *client, o *timeline.Observation) (due time.Duration, more bool) {
	switch {
	case k.retries != nil:
		return k.retries.next(c, o)
	case !o.Answered:
		return max(1, k.r.clock.Now()+afterLoss), true
	case !k.honor || o.Outcome == timeline.Allowed:
		return 0, true
	}
	w := k.r.told(o) + k.r.o.Tick
	if w <= 0 {
		return 0, true
	}
	return o.FirstByte + min(w, 2*endless), true
}

// told returns the shortest wait that a denial states, or the time to the reset that it announces. A date is
// taken relative to the Date of the answer, or to our clock without a Date. A reset may be cut, so it is at
// least a unit of its notation. told returns backOff if no wait can be read.
func (r *recorder) told(o *timeline.Observation) time.Duration {
	answered := r.clock.Start.Add(o.FirstByte)
	date := answered
	if d, ok := o.Fields.Get("Date"); ok {
		if t, err := headers.ParseDate(d); err == nil {
			date = t
		}
	}
	least := time.Duration(math.MaxInt64)
	waits := headers.Waits(o.Fields.Get, o.Body, date)
	for _, w := range waits {
		least = min(least, w.For)
	}
	if len(waits) > 0 {
		return least
	}
	if wait, unit, ok := headers.AnnouncedReset(o.Fields.Get, answered); ok {
		return max(wait, unit)
	}
	return backOff
}
