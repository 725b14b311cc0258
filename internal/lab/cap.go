package lab

import (
	"context"
	"net/http"
	"path"
	"strings"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// Cap is a limit on many clients together, in addition to the limit of each: all clients of a tenant, of a
// route, or of an address. All must admit a request. A limit that denies it takes nothing from the others.
type Cap struct {
	// Path counts only the requests for it, matched as Rule.Path. "" counts all.
	Path string
	// ByAddress counts each client address separately.
	ByAddress bool
	Limit     spec.Limit
}

// capped is a cap and its decider. full is how many units a full start admits.
type capped struct {
	Cap
	decider Decider
	full    int64
	prefix  string
}

// addCaps builds the deciders of the caps, without those that a fault removes.
func (t *Target) addCaps() error {
	for i, c := range t.opts.Caps {
		if t.fault.cap != nil && !t.fault.cap(c) {
			continue
		}
		s, err := t.sibling(c.Limit)
		if err != nil {
			return err
		}
		t.caps = append(t.caps, capped{Cap: c, decider: s.decider, full: c.Limit.Full(),
			prefix: "cap " + string(rune('a'+i)) + " "})
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
		return c.prefix + t.clientKey(r), true
	}
	return c.prefix, true
}

// decideCapped asks whether the caps have room, and then the limiter of the client. It takes units only if
// all admit the request.
func (front *Target) decideCapped(t *Target, r *http.Request, cost int64) (Ruling, error) {
	ctx := r.Context()
	select {
	case front.turn <- struct{}{}:
	case <-ctx.Done():
		return Ruling{}, ctx.Err()
	}
	defer func() { <-front.turn }()
	var room []func(context.Context) (Ruling, error)
	for i := range front.caps {
		c := &front.caps[i]
		key, counted := c.key(front, r)
		if !counted {
			continue
		}
		// Nothing admits more than a full start. So this is denied, takes nothing, and says how many units
		// are left.
		left, err := c.decider.Decide(ctx, key, c.full+1)
		if err != nil {
			return Ruling{}, err
		}
		take := func(ctx context.Context) (Ruling, error) { return c.decider.Decide(ctx, key, cost) }
		if left.Remaining < cost {
			return take(ctx)
		}
		room = append(room, take)
	}
	ruling, err := t.decide(r, cost)
	if err != nil || !ruling.Allow {
		return ruling, err
	}
	for _, take := range room {
		if _, err := take(ctx); err != nil {
			return Ruling{}, err
		}
	}
	return ruling, nil
}
