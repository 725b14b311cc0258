package load

import (
	"cmp"
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// gate releases the requests of a phase in groups: requests that are due at the same time leave together.
// Before that, all but the last two bytes of every header block are written, on open connections:
//
//	arm      GET / HTTP/1.1 ... \r\n        to each connection
//	settle   the target takes it in
//	fire                             \r\n   to each connection, in one tight loop
//
// A request for which there was no connection follows when a connection becomes free.
type gate struct {
	p      *phase
	groups []group
}

// group is the shots of a gate that are due at the same time: fixed[from:to].
type group struct {
	at       time.Duration
	from, to int
	ready    []transport.Loaded
	rest     []*transport.Shot
	armed    bool
}

// armedApart is how far apart two groups may be and still be armed together, before the first is released. A
// target may date a request by its first bytes, so it is short.
const armedApart = 100 * time.Millisecond

func newGate(p *phase) *gate {
	g := &gate{p: p}
	for i := range p.plan.Arrivals {
		at := p.plan.Arrivals[i].At
		if n := len(g.groups); n > 0 && g.groups[n-1].at == at {
			g.groups[n-1].to = i + 1
			continue
		}
		g.groups = append(g.groups, group{at: at, from: i, to: i + 1})
	}
	return g
}

// warm opens a connection for every request, up to MaxConnections. If that is too few, every group gets its
// share.
func (g *gate) warm() {
	want := map[*transport.Pool]int{}
	left := g.p.r.o.MaxConnections
	for k := 0; left > 0; k++ {
		before := left
		for i := range g.groups {
			if from := g.groups[i].from + k; from < g.groups[i].to && left > 0 {
				want[g.p.fixed[from].Pool]++
				left--
			}
		}
		if left == before {
			break
		}
	}
	g.p.r.net.Warm(want)
}

// prepare opens the connections, arms the first group shortly before the gate opens, and waits for the
// requests to settle. opens may be past: it opens as soon as it is ready.
func (g *gate) prepare(opens time.Duration) runner {
	g.warm()
	if len(g.groups) > 0 {
		if opens-armTime > g.p.r.clock.Now() {
			g.p.r.pause(opens - armTime)
		}
		g.arm(0)
		g.p.r.pause(g.p.r.clock.Now() + settle)
	}
	return g.run
}

func (g *gate) run(begin time.Duration) time.Duration {
	g.release(begin)
	return g.p.finish(begin)
}

// release arms and fires one group after the other. Their times count from begin.
func (g *gate) release(begin time.Duration) {
	r := g.p.r
	g.p.add(1)
	for i := range g.groups {
		due := begin + g.groups[i].at
		if !g.groups[i].armed {
			r.pause(due - armTime)
			g.arm(i)
		}
		released := r.pause(due)
		if released && !r.o.Permitted() {
			r.net.Halt(transport.Unpermitted)
			released = false
		}
		if !released {
			g.disarm()
			break
		}
		g.fire(i, due)
	}
	r.net.Released()
	g.p.done()
}

// arm arms a group and those that are due at most armedApart after it.
func (g *gate) arm(first int) {
	last := first
	for last+1 < len(g.groups) && g.groups[last+1].at-g.groups[first].at <= armedApart {
		last++
	}
	for _, x := range g.turns(first, last) {
		gr, s := &g.groups[x.group], &g.p.fixed[x.shot]
		g.p.add(1)
		if loaded, ok := g.p.r.net.Arm(s); ok {
			gr.ready = append(gr.ready, loaded)
			continue
		}
		g.p.done()
		gr.rest = append(gr.rest, s)
	}
	for i := first; i <= last; i++ {
		g.groups[i].armed = true
		transport.Align(g.groups[i].ready)
	}
}

// turn is a shot of a group, both as indices in the gate.
type turn struct{ group, shot int }

// turns returns the order in which the shots of some groups get their connections. If there are enough
// connections, the first group comes first: a target that serves few at a time serves the earliest first.
// Otherwise every group gets its share.
func (g *gate) turns(first, last int) []turn {
	var out []turn
	for i := first; i <= last; i++ {
		for k := g.groups[i].from; k < g.groups[i].to; k++ {
			out = append(out, turn{i, k})
		}
	}
	if len(out) > g.p.r.o.MaxConnections {
		place := func(t turn) int { return t.shot - g.groups[t.group].from }
		slices.SortStableFunc(out, func(a, b turn) int { return cmp.Compare(place(a), place(b)) })
	}
	return out
}

// fire releases a group and records the time between its first and its last release.
func (g *gate) fire(i int, due time.Duration) {
	gr, r := &g.groups[i], g.p.r
	for k := gr.from; k < gr.to; k++ {
		g.p.obs[k].At = due
	}
	if n, first, last := r.net.Fire(gr.ready); n > 0 {
		r.late(last - due)
		r.mu.Lock()
		r.spreads = append(r.spreads, timeline.Spread{Phase: g.p.plan.Name, Requests: n, Width: last - first})
		r.mu.Unlock()
	}
	gr.ready = nil
	for _, s := range gr.rest {
		g.p.add(1)
		r.net.Submit(s)
	}
}

// disarm gives up the groups that were not released.
func (g *gate) disarm() {
	for i := range g.groups {
		g.p.r.net.Disarm(g.groups[i].ready)
	}
	g.groups = slices.Clip(g.groups[:0])
}

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
		k.r.net.Release(conn)
		k.p.done()
		return
	}
	if due == 0 {
		k.proceed(c, conn)
		return
	}
	k.r.net.Release(conn)
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
		k.r.net.Release(conn)
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
