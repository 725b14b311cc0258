// Package lab is the laboratory: targets on the loopback interface that are right or have one named fault, in
// memory or on Redis, and proxies that pass, strip or rewrite header fields. A fault is a deliberate defect
// that a real product had. Embed starts the target that a scenario asks for. Selftest runs every bundled
// scenario against every fault that it claims to catch. Only serve, proxy, selftest, what starts embedded
// targets, and tests import this package.
package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// Options say what a Target serves. Only Limit is required.
type Options struct {
	// Limit is the declared limit. The target enforces it unless it has a fault.
	Limit spec.Limit
	// Fault names a deliberate defect (Faults). "": a right target.
	Fault string
	// PartitionHeader names the field whose value is the partition, "X-Api-Key" by default. A request without
	// it is counted under the address of its client.
	PartitionHeader string
	// OneForAll counts all clients together, whatever they send.
	OneForAll bool
	// ClientHeader names the field in whose last element a trusted proxy writes the address of the client,
	// such as "X-Forwarded-For". Empty: the address of the connection counts. It is read only for requests
	// without a partition.
	ClientHeader string
	// CostHeader names the field with the units of a request, "X-Cost" by default. A request without it costs
	// 1.
	CostHeader string
	// Dialect lists the groups of fields of answers. nil: XRateLimit, RateLimitDraft and RetryAfterField.
	Dialect []Dialect
	// RetryAfter is the form of Retry-After: "seconds" (default) or "date".
	RetryAfter string
	// DenyStatus is the status of a denial, 429 by default. DenyBody is its body, DenyQuotaExceeded by
	// default.
	DenyStatus int
	DenyBody   DenyBody
	// Store keeps the state of the partitions. nil: it is kept in memory. Close of the Target closes it.
	Store Store
	// OnStoreError is the answer while the store does not answer: "error" (default), "allow" or "deny".
	// StoreFailed is called for every such request, by many goroutines. It may be nil.
	OnStoreError OnStoreError
	StoreFailed  func(error)
	// AllowStatus is the status of an admission, 200 by default. It is 401 for a login whose guess is wrong,
	// and for a Limit that a success with 200 clears. There, a request with "X-Password: right" is a success.
	AllowStatus int
	// Owned: a partition is a token, OWNER.NUMBER, and all tokens of an owner are one client.
	Owned bool
	// Caps are limits on many clients together, in addition to the limit of each.
	Caps []Cap
	// Rules are separate limits for some requests. The first that fits counts.
	Rules []Rule
	// Replicas is the number of replicas behind the address, 1 by default. Counters is what they know of each
	// other, "shared" by default. SyncEvery is how often synced replicas exchange that, a second by default.
	// Balance says which one gets a request, "request" by default.
	Replicas  int
	Counters  Counters
	SyncEvery time.Duration
	Balance   Balance
	// Tokens makes the target answer like a gateway in front of a language model (tokens.go). It is how long
	// a stream lasts; 0: the target is none.
	Tokens time.Duration
	// Now is the clock, time.Now by default. The target reads it once as wall time, and then follows its
	// monotonic part.
	Now func() time.Time
	// Seed makes the random choices of faults repeatable.
	Seed uint64
}

// Target is an http.Handler that limits requests. Many goroutines may use it.
type Target struct {
	opts    Options
	fault   Fault
	clock   *Clock
	decider Decider
	dates   dateCache
	facts   facts
	keyName string
	costHdr string
	// client is the canonical name of Options.ClientHeader.
	client string
	// rules are those of Options.Rules with their limiters. next is the target that replaced this one, or
	// nil. prefix separates the partitions of limiters in one store. down: the store is taken away.
	rules  []ruled
	next   atomic.Pointer[Target]
	prefix string
	down   atomic.Bool
	// caps are those of Options.Caps that a fault leaves. turn lets one goroutine at a time ask them.
	caps []capped
	turn chan struct{}
	// waiting are the decisions that a fault makes when the store is back.
	waiting offlineQueue
	// denied counts the denials, as a target's own metric does.
	denied atomic.Int64
	// storeErrors counts the requests that the store did not decide.
	storeErrors atomic.Int64
}

// maxCost is the largest cost of a request. A larger one is refused with status 400 and not counted.
const maxCost = 1 << 31

// New returns a target for o. An unknown or unfitting fault, dialect or form is an error that lists the known
// ones. A limit that the reference or the store does not support is an error too.
func New(o Options) (*Target, error) {
	if err := complete(&o); err != nil {
		return nil, err
	}
	fault, err := FindFault(o.Fault, false)
	if err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	if why := fault.Fits(o.Limit); why != "" {
		return nil, fmt.Errorf("target: fault %q: %s", o.Fault, why)
	}
	if fault.options != nil {
		fault.options(&o)
	}
	t := &Target{
		opts: o, fault: fault, clock: NewClock(o.Now), facts: factsOf(o.Limit),
		keyName: textproto.CanonicalMIMEHeaderKey(o.PartitionHeader),
		costHdr: textproto.CanonicalMIMEHeaderKey(o.CostHeader),
		client:  textproto.CanonicalMIMEHeaderKey(o.ClientHeader),
	}
	if err = checkDialects(o.Dialect); err != nil {
		return nil, err
	}
	if t.decider, err = newDecider(&o, fault, t.clock); err != nil {
		return nil, err
	}
	if err = t.addRules(); err != nil {
		return nil, err
	}
	if err = t.addCaps(); err != nil {
		return nil, err
	}
	return t, nil
}

// complete fills in the defaults of o and makes the checks that only New can make.
func complete(o *Options) error {
	if len(o.Limit) == 0 {
		return errors.New("target: no limit: a target needs at least one policy")
	}
	o.PartitionHeader = cmp.Or(o.PartitionHeader, "X-Api-Key")
	o.CostHeader = cmp.Or(o.CostHeader, "X-Cost")
	if o.Dialect == nil {
		o.Dialect = []Dialect{XRateLimit, RateLimitDraft, RetryAfterField}
	}
	o.DenyStatus = cmp.Or(o.DenyStatus, http.StatusTooManyRequests)
	o.AllowStatus = cmp.Or(o.AllowStatus, o.Limit.Admission())
	if o.DenyStatus < 200 || o.DenyStatus > 599 {
		return fmt.Errorf("target: status of a denial %d: a final status is 200 to 599", o.DenyStatus)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Replicas, o.SyncEvery = max(o.Replicas, 1), cmp.Or(o.SyncEvery, time.Second)
	err := errors.Join(
		oneOf("form of Retry-After", &o.RetryAfter, RetryAfterSeconds, RetryAfterDate),
		oneOf("choice on a store error", &o.OnStoreError, StoreErrorFails, StoreErrorAllows,
			StoreErrorDenies),
		oneOf("body of a denial", &o.DenyBody, DenyQuotaExceeded, DenyReducedCapacity, DenyAbnormalUsage,
			DenyJSON, DenyRetryInfo, DenyText, DenyEmpty),
		oneOf("counters", &o.Counters, CountersShared, CountersPrivate, CountersSynced),
		oneOf("balance", &o.Balance, BalanceRequest, BalanceConnection))
	switch {
	case err != nil:
		return err
	case o.SyncEvery < 0:
		return fmt.Errorf("target: time between exchanges %v: it is more than nothing", o.SyncEvery)
	case o.Counters == CountersSynced && o.Limit.Completes():
		return errors.New("target: counters that are exchanged late: they know of no completion (leave " +
			"them shared or private)")
	case o.Counters != CountersShared && o.Store != nil:
		return errors.New("target: counters of each replica: a store is shared by all (leave the store away)")
	}
	return nil
}

// oneOf refuses a word that is none of words. An empty one becomes the first of them.
func oneOf[T ~string](what string, word *T, words ...T) error {
	if *word = cmp.Or(*word, words[0]); slices.Contains(words, *word) {
		return nil
	}
	list := strings.Trim(fmt.Sprintf("%q", words), "[]")
	return fmt.Errorf("target: %s %q: it is one of %s", what, *word, strings.ReplaceAll(list, " ", ", "))
}

// newDecider returns the decider for o, in the store or in memory, with the fault.
func newDecider(o *Options, fault Fault, c *Clock) (Decider, error) {
	limit := fault.defect().Edited(o.Limit)
	if o.Store != nil {
		if fault.limiter != nil || fault.decider != nil {
			return nil, fmt.Errorf("target: fault %q: it lives in the memory store (leave the store away)",
				fault.Name)
		}
		d, err := o.Store.Decider(limit)
		if err != nil {
			return nil, fmt.Errorf("target: %w", err)
		}
		return d, nil
	}
	limiter, err := fault.defect().Of(o.Limit)
	if err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	b := Setup{Limiter: limiter, Clock: c, Replicas: o.Replicas, Balance: o.Balance, Seed: o.Seed,
		Limit: limit, KeepAll: fault.limiter != nil, PayDenied: fault.paysDenied,
		Views: slices.Contains(o.Dialect, OpenAI) || slices.Contains(o.Dialect, Anthropic)}
	if fault.decider != nil {
		return fault.decider(b), nil
	}
	return replicated(o, b), nil
}

func replicated(o *Options, b Setup) Decider {
	switch o.Counters {
	case CountersPrivate:
		return newPrivate(b)
	case CountersSynced:
		return newSyncing(b, o.SyncEvery)
	}
	// Replicas that share one state cannot be told apart.
	return NewMemory(b)
}

// ServeHTTP decides r and answers: 200, or a denial. A request with a cost that is no positive integer is
// answered 400 and not counted. One that the store could not decide is answered as OnStoreError says. It
// returns without an answer if the client left while it was queued.
func (t *Target) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	cost, ok := t.cost(r.Header)
	if !ok && (t.fault.unlimited == nil || !t.fault.unlimited(t, r)) {
		writePlain(w, r, http.StatusBadRequest,
			t.costHdr+": the cost of a request is an integer from 1 to 2147483648\n")
		return
	}
	if t.fault.price != nil {
		cost = t.fault.price(r, cost)
	}
	cost, u := t.asks(r, cost)
	front := t
	if t = front.governing(r); t == nil {
		front.exempt(w, r, cost)
		return
	}
	ruling, err := front.decideBy(t, r, cost)
	front.countDenial(err == nil && !ruling.Allow || err != nil && t.opts.OnStoreError == StoreErrorDenies)
	if err != nil {
		t.storeFailed(w, r, err)
		return
	}
	settle := t.settling(ruling, cost, u)
	defer settle()
	pause := ruling.Delay + t.serves(ruling, u)
	if t.fault.pause != nil {
		pause += t.fault.pause(ruling)
	}
	if pause > 0 && !t.clock.SleepUntil(r.Context(), ruling.At+pause) {
		return
	}
	if t.fault.drops && !ruling.Allow {
		panic(http.ErrAbortHandler)
	}
	a := &answer{ruling: ruling, cost: cost, now: t.clock.At(), status: t.admission(front, r, ruling),
		target: t, header: w.Header()}
	if pause == 0 {
		a.now = ruling.At
	}
	a.render()
	if t.fault.answer != nil {
		t.fault.answer(a)
	}
	if t.fault.reply != nil {
		t.fault.reply(a, r)
	}
	if t.opts.Tokens > 0 && ruling.Allow {
		a.complete(w, r, u, settle)
		return
	}
	a.write(w, r)
}

// success tells whether a request is a login with the right password.
func success(r *http.Request) bool { return r.Header.Get("X-Password") == "right" }

// admission returns the status of an admitted request. A success clears the count of its client, or what the
// fault clears.
func (t *Target) admission(front *Target, r *http.Request, ruling Ruling) int {
	switch {
	case ruling.Clear == nil || !success(r):
		return t.opts.AllowStatus
	case t.fault.success == nil:
		ruling.Clear()
	default:
		t.fault.success(front)
	}
	return int(t.opts.Limit[0].Clear)
}

// decide asks the decider for the partition of r.
func (t *Target) decide(r *http.Request, cost int64) (Ruling, error) {
	key := t.key(r)
	if t.fault.unlimited != nil && t.fault.unlimited(t, r) {
		free := reference.Decision{Allow: true, Remaining: t.facts.quota}
		return Ruling{Decision: free, At: t.clock.At(), Clear: func() {}}, nil
	}
	return t.decider.Decide(r.Context(), key, cost)
}

// cost returns the units of a request with header h. ok=false: they are no integer from 1 to maxCost.
func (t *Target) cost(h http.Header) (int64, bool) {
	v := h[t.costHdr]
	if len(v) == 0 {
		return 1, true
	}
	n, err := strconv.ParseInt(v[0], 10, 64)
	return n, err == nil && n >= 1 && n <= maxCost
}

// Close releases what the target holds and closes its store. All requests must have ended.
func (t *Target) Close() error {
	var err error
	if c, ok := t.decider.(interface{ Close() error }); ok {
		err = c.Close()
	}
	if t.opts.Store != nil {
		err = errors.Join(err, t.opts.Store.Close())
	}
	return err
}

// key returns the partition of r.
func (t *Target) key(r *http.Request) string {
	if t.opts.OneForAll {
		return t.prefix
	}
	key, ok := t.named(r)
	if !ok {
		key = t.clientKey(r)
	}
	if t.fault.key != nil {
		key = t.fault.key(r, key)
	}
	return t.prefix + key
}

// named returns the partition that r names itself, and whether it names one.
func (t *Target) named(r *http.Request) (string, bool) {
	v := r.Header[t.keyName]
	if len(v) == 0 {
		return "", false
	}
	if t.opts.Owned {
		return ownerOf(v[0]), true
	}
	return v[0], true
}

// clientKey returns the partition of a request without a name: the network of its client, by the field of the
// trusted proxy or by the connection.
func (t *Target) clientKey(r *http.Request) string {
	if v := r.Header[t.client]; t.client != "" && len(v) > 0 {
		last := v[len(v)-1]
		if a, err := netip.ParseAddr(strings.TrimSpace(last[strings.LastIndexByte(last, ',')+
			1:])); err == nil {
			if t.fault.network != nil {
				return "\x00" + t.fault.network(a)
			}
			return "\x00" + networkOf(a)
		}
	}
	return addressKey(r)
}

// networkOf returns the network of one client: one IPv4 address, however it is written, or 64 bits of IPv6. A
// client may take another IPv6 address of it for each request.
func networkOf(a netip.Addr) string {
	if a = a.Unmap(); a.Is4() {
		return a.String()
	}
	return netip.PrefixFrom(a.WithZone(""), 64).Masked().String()
}

// addressKey returns the address of the client of a connection, or its network, after a NUL byte. No field
// value can begin with NUL.
func addressKey(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	if strings.IndexByte(host, ':') >= 0 {
		if a, err := netip.ParseAddr(host); err == nil {
			host = networkOf(a)
		}
	}
	return "\x00" + host
}

// Clock gives the limiter's time in Unix nanoseconds. It is read once as wall time, and then follows the
// monotonic clock. So a step of the wall clock neither locks a partition nor refills it.
type Clock struct {
	now   func() time.Time
	start time.Time
	// Zero is the time at which the clock was made.
	Zero time.Duration
}

// NewClock reads now once as wall time.
func NewClock(now func() time.Time) *Clock {
	start := now()
	return &Clock{now: now, start: start, Zero: time.Duration(start.UnixNano())}
}

// At returns the limiter's time now.
func (c *Clock) At() time.Duration { return c.Zero + c.now().Sub(c.start) }

// SleepUntil waits until the limiter's time is at. It returns false if ctx ended before.
func (c *Clock) SleepUntil(ctx context.Context, at time.Duration) bool {
	wait := at - c.At()
	if wait <= 0 {
		return ctx.Err() == nil
	}
	return transport.Rest(ctx, wait, nil)
}
