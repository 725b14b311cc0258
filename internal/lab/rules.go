package lab

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// Rule is a separate limit for some requests: a route, a method, a tier of clients. A request must fit
// everything that the rule names. The first rule that fits counts, and each rule counts its requests
// separately.
type Rule struct {
	// Path is matched decoded, without empty and dot segments, in any case, as routers do. "" fits all.
	Path string
	// Method is matched as it is. "" fits all.
	Method string
	// Header has names of fields and their values. nil fits all.
	Header map[string]string
	// Limit is the limit of the requests. Empty: they are not limited, and counted nowhere.
	Limit spec.Limit
	// Barred: none of the requests is admitted, and Limit is ignored.
	Barred bool
}

// fits tells whether r fits the rule. A raw path is compared as it came.
func (u *Rule) fits(r *http.Request, raw bool) bool {
	if u.Method != "" && u.Method != r.Method {
		return false
	}
	for name, value := range u.Header {
		if r.Header.Get(name) != value {
			return false
		}
	}
	switch {
	case u.Path == "":
		return true
	case raw:
		return r.URL.EscapedPath() == u.Path
	default:
		return strings.EqualFold(path.Clean("/"+r.URL.Path), path.Clean("/"+u.Path))
	}
}

// ruled is a rule and its limiter; nil: the rule has no limit.
type ruled struct {
	Rule
	limited *Target
}

// addRules builds the limiters of the rules, without those that a fault removes.
func (t *Target) addRules() error {
	for i, u := range t.opts.Rules {
		if t.fault.rule != nil && !t.fault.rule(&u) {
			continue
		}
		out := ruled{Rule: u}
		if u.Barred && !t.fault.zeroUnlimited {
			out.limited = t.barred()
		} else if len(u.Limit) > 0 && !u.Barred {
			if why := t.fault.Fits(u.Limit); why != "" {
				return fmt.Errorf("target: fault %q: %s", t.fault.Name, why)
			}
			var err error
			if out.limited, err = t.sibling(u.Limit); err != nil {
				return fmt.Errorf("target: rule %d: %w", i+1, err)
			}
			out.limited.prefix = fmt.Sprintf("rule %d ", i+1)
		}
		t.rules = append(t.rules, out)
	}
	return nil
}

// governing returns the limiter of a request; nil: it has none.
func (t *Target) governing(r *http.Request) *Target {
	for i := range t.rules {
		if !t.rules[i].fits(r, t.fault.rawPaths) {
			continue
		}
		return t.rules[i].limited.latest()
	}
	return t.latest()
}

// latest returns the target that replaced t, or t itself.
func (t *Target) latest() *Target {
	if t == nil {
		return nil
	}
	if next := t.next.Load(); next != nil {
		return next
	}
	return t
}

// sibling returns a limiter like t for another limit, with the same clock and store. It has its own decider.
func (t *Target) sibling(limit spec.Limit) (_ *Target, err error) {
	s := t.copied(factsOf(limit))
	s.opts.Limit = limit
	if s.decider, err = newDecider(&s.opts, t.fault, t.clock); err != nil {
		return nil, err
	}
	return s, nil
}

// barred returns a limiter like t that admits nothing.
func (t *Target) barred() *Target {
	s := t.copied(facts{limit: []string{"0"}, policy: []string{`"default";q=0`}, item: `"default"`,
		name: "default"})
	s.decider = nothing(t.clock)
	return s
}

// copied returns a limiter like t that states other facts. It has no rules and no decider.
func (t *Target) copied(f facts) *Target {
	s := &Target{opts: t.opts, fault: t.fault, clock: t.clock, keyName: t.keyName, costHdr: t.costHdr,
		client: t.client, prefix: t.prefix, facts: f}
	s.opts.Rules = nil
	return s
}

// decideBy asks the limiter t that governs r, unless the store is taken away.
func (front *Target) decideBy(t *Target, r *http.Request, cost int64) (Ruling, error) {
	if front.down.Load() {
		if stall := front.fault.stall; stall > 0 {
			front.clock.SleepUntil(r.Context(), front.clock.At()+stall)
		}
		if front.fault.queues {
			return front.waiting.wait(r.Context(), func() (Ruling, error) {
				return t.decide(r.WithContext(context.WithoutCancel(r.Context())), cost)
			})
		}
		return Ruling{}, errStoreGone
	}
	if general := front.latest(); t != general && front.fault.alsoCounted {
		ruling, err := general.decide(r, cost)
		if err != nil || !ruling.Allow {
			return ruling, err
		}
		if ruling.Complete != nil {
			ruling.Complete(cost)
		}
	}
	if len(front.caps) > 0 {
		return front.decideCapped(t, r, cost)
	}
	return t.decide(r, cost)
}

// exempt answers a request that no limit counts.
func (front *Target) exempt(w http.ResponseWriter, r *http.Request, cost int64) {
	if front.fault.exemptCounted {
		ruling, err := front.latest().decide(r, cost)
		if err != nil {
			front.storeFailed(w, r, err)
			return
		}
		if ruling.Complete != nil {
			defer ruling.Complete(cost)
		}
	}
	a := &answer{status: http.StatusOK, header: w.Header(), body: okBody, typ: plainType}
	a.write(w, r)
}

// ParseRule reads a rule as "WHERE... LIMIT". WHERE is /PATH and METHOD, each at most once, and NAME:VALUE of
// header fields. All must fit. LIMIT is a SPEC, none, or zero, which admits nothing.
//
//	/login fixed-window,rate=5/1m
//	PUT /items token-bucket,rate=1/s,burst=5
//	X-Tier:gold token-bucket,rate=300/s,burst=60
//	/healthz none
func ParseRule(text string) (Rule, error) {
	var u Rule
	rest := strings.TrimSpace(text)
	wrong := func(what, why string) (Rule, error) {
		return Rule{}, fmt.Errorf("rule %q: %s: %s (write \"/login fixed-window,rate=5/1m\")", text, what,
			why)
	}
	for {
		word, after, more := strings.Cut(rest, " ")
		name, value, field := strings.Cut(word, ":")
		switch {
		case !more:
			if !u.forSome() {
				return wrong("nothing but a limit",
					"a rule says first whom it is for: /PATH, METHOD or NAME:VALUE")
			}
			return u.limitedBy(rest, text)
		case word == "":
		case field && known(name) && u.forSome():
			return u.limitedBy(rest, text) // a preset with spaces, not a field
		case word[0] == '/' && u.Path == "":
			u.Path = word
		case field && transport.IsToken(name):
			if u.Header == nil {
				u.Header = map[string]string{}
			}
			u.Header[name] = value
		case transport.IsToken(word) && strings.ToUpper(word) == word && u.Method == "":
			u.Method = word
		case !u.forSome(), word[0] == '/', strings.ToUpper(word) == word:
			return wrong(fmt.Sprintf("%q", word),
				"a rule is for a /PATH, a METHOD or a NAME:VALUE, and has one path and one method at most")
		default: // several policies have spaces between them
			return u.limitedBy(rest, text)
		}
		rest = strings.TrimLeft(after, " ")
	}
}

// forSome tells whether u already says which requests it is for.
func (u Rule) forSome() bool { return u.Path != "" || u.Method != "" || u.Header != nil }

// known tells whether a name is that of a product with which a SPEC may begin.
func known(name string) bool {
	_, found := spec.FindProduct(name)
	return found
}

// limitedBy completes a rule with the text of its limit.
func (u Rule) limitedBy(limit, text string) (Rule, error) {
	switch limit {
	case "none":
		return u, nil
	case "zero":
		u.Barred = true
		return u, nil
	}
	var err error
	if u.Limit, err = spec.Parse(limit); err != nil {
		return Rule{}, fmt.Errorf("rule %q: %w", text, err)
	}
	return u, nil
}

// Cap is a limit on many clients together, in addition to the limit of each: all clients of a tenant, of a
// route, or of an address. All must admit a request. A limit that denies it takes nothing from the others.
type Cap struct {
	// Path counts only the requests for it, matched as Rule.Path. "" counts all.
	Path string
	// ByAddress counts each client address separately.
	ByAddress bool
	Limit     spec.Limit
}

// capped is a cap, its limiter, and the states of its partitions.
type capped struct {
	Cap
	limiter reference.Limiter
	states  map[string]reference.State
}

// addCaps builds the limiters of the caps, without those that a fault removes.
func (t *Target) addCaps() error {
	for _, c := range t.opts.Caps {
		if t.fault.cap != nil && !t.fault.cap(c) {
			continue
		}
		l, err := reference.NewLimit(c.Limit)
		if err != nil {
			return fmt.Errorf("target: cap: %w", err)
		}
		t.caps = append(t.caps, capped{Cap: c, limiter: l, states: map[string]reference.State{}})
	}
	t.turn = make(chan struct{}, 1)
	return nil
}

// key returns the partition of a cap under which a request is counted, and whether it is counted.
func (c *capped) key(t *Target, r *http.Request) (string, bool) {
	if c.Path != "" && !strings.EqualFold(path.Clean("/"+r.URL.Path), path.Clean("/"+c.Path)) {
		return "", false
	}
	if c.ByAddress {
		return t.clientKey(r), true
	}
	return "", true
}

// step decides a request of a partition and keeps nothing.
func (c *capped) step(key string, at time.Duration, cost int64) (reference.State, reference.Decision) {
	state, known := c.states[key]
	if !known {
		state = c.limiter.Init()
	}
	return c.limiter.Step(state, at, cost)
}

// decideCapped asks the caps, and then the limiter of the client. The request is delayed by the slowest of
// them. Only a limit that denies it keeps that, and the caps keep it if all admit it.
func (front *Target) decideCapped(t *Target, r *http.Request, cost int64) (Ruling, error) {
	select {
	case front.turn <- struct{}{}:
	case <-r.Context().Done():
		return Ruling{}, r.Context().Err()
	}
	defer func() { <-front.turn }()
	at, delay := front.clock.At(), time.Duration(0)
	var keep []func()
	var complete []func(units int64)
	for i := range front.caps {
		c := &front.caps[i]
		key, counted := c.key(front, r)
		if !counted {
			continue
		}
		next, d := c.step(key, at, cost)
		if !d.Allow {
			c.states[key] = next
			return Ruling{Decision: d, At: at}, nil
		}
		delay = max(delay, d.Delay)
		keep = append(keep, func() { c.states[key] = next })
		complete = append(complete, func(units int64) {
			c.states[key] = reference.Complete(c.limiter, c.states[key], front.clock.At(), units)
		})
	}
	ruling, err := t.decide(r, cost)
	if err != nil || !ruling.Allow {
		return ruling, err
	}
	for _, f := range keep {
		f()
	}
	ruling.Delay = max(ruling.Delay, delay)
	inner := ruling.Complete
	ruling.Complete = func(units int64) {
		front.turn <- struct{}{}
		for _, f := range complete {
			f(units)
		}
		<-front.turn
		if inner != nil {
			inner(units)
		}
	}
	return ruling, nil
}
