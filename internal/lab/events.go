package lab

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// errStoreGone is the error of a decision while the store is taken away.
var errStoreGone = errors.New("target: the store was taken away")

// Do makes something happen to the target. A restart loses nothing, since the state is kept elsewhere. A
// reload takes the SPEC of another limit, or an empty one. A store is taken away until it is back, as it was.
func (t *Target) Do(action timeline.Action, limit string) error {
	switch action {
	case timeline.Restart:
		if t.fault.restartForgets {
			return t.forget()
		}
		return nil
	case timeline.Reload:
		return t.reload(limit)
	case timeline.StoreDown:
		t.down.Store(true)
		return nil
	case timeline.StoreUp:
		return t.storeUp()
	}
	return fmt.Errorf("action %q: the embedded target cannot do it", action)
}

// reload reads the configuration again. What partitions have used stays used.
func (t *Target) reload(text string) (err error) {
	var limit spec.Limit
	if text != "" {
		if limit, err = spec.Parse(text); err != nil {
			return err
		}
	}
	now := t.latest()
	switch {
	case t.fault.reloadIgnored:
		return nil
	case t.fault.reloadForgets && len(limit) == 0:
		return t.forget()
	case len(limit) == 0 || limit.String() == now.opts.Limit.String():
		return nil
	}
	next, err := t.sibling(limit)
	if err != nil {
		return err
	}
	if !t.fault.reloadForgets {
		next.decider = &carrying{old: now.decider, new: next.decider, was: now.opts.Limit.Full(),
			full:  limit.Full(),
			stale: t.fault.reloadKeepsLive, turn: make(chan struct{}, 1), known: map[string]bool{}}
	}
	t.next.Store(next)
	return nil
}

// countDenial counts a denial in the target's own count.
func (t *Target) countDenial(denied bool) {
	if denied && !t.fault.uncounted {
		t.denied.Add(1)
	}
}

// Denials returns how many requests the target has denied, by its own count.
func (t *Target) Denials() int64 { return t.denied.Load() }

func (t *Target) storeUp() error {
	if t.fault.staysOpen {
		return nil
	}
	t.down.Store(false)
	t.waiting.flush()
	if t.fault.outageForgets {
		return t.forget()
	}
	return nil
}

// forget starts every partition again, also those of rules.
func (t *Target) forget() error {
	for i := range t.rules {
		if l := t.rules[i].limited; l != nil && !t.rules[i].Barred {
			if err := l.forget(); err != nil {
				return err
			}
		}
	}
	next, err := t.sibling(t.latest().opts.Limit)
	if err != nil {
		return err
	}
	t.next.Store(next)
	return nil
}

// carrying is a decider that takes over from another one. What a partition had used of the old one is also
// used of the new one, at most all of it.
type carrying struct {
	old, new Decider
	// was and full are what a full start admits at once, in the old decider and in the new one.
	was, full int64
	// stale leaves the partitions that the old decider knows to it.
	stale bool
	// turn lets one goroutine at a time take a partition over. It is no mutex, since a decider may take its
	// time, and virtual time stands still while somebody waits for a mutex.
	turn chan struct{}
	// known are the partitions that were taken over, or that the old decider had never seen.
	known map[string]bool
}

// Decide takes a partition over at its first request. Decisions are not serialised.
func (c *carrying) Decide(ctx context.Context, key string, cost int64) (Ruling, error) {
	d, err := c.deciderOf(ctx, key)
	if err != nil {
		return Ruling{}, err
	}
	return d.Decide(ctx, key, cost)
}

// deciderOf returns the decider of a partition. It takes the partition over if that is due.
func (c *carrying) deciderOf(ctx context.Context, key string) (Decider, error) {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-c.turn }()
	if c.known[key] {
		return c.new, nil
	}
	if m, ok := c.old.(interface{ Knows(string) bool }); c.stale && (!ok || m.Knows(key)) {
		return c.old, nil
	}
	// A request of one unit shows what is left. A larger one might be denied, and denials may count, or ban.
	r, err := c.old.Decide(ctx, key, 1)
	if err != nil {
		return nil, err
	}
	left := r.Remaining
	if r.Allow {
		left++
	}
	if used := min(c.was-left, c.full); used > 0 {
		taken, err := c.new.Decide(ctx, key, used)
		if err != nil {
			return nil, err
		}
		if taken.Complete != nil { // what is in flight now completes at the old one
			taken.Complete(used)
		}
	}
	c.known[key] = true
	return c.new, nil
}

// NewControl returns a handler that makes something happen to t: POST /restart, /reload, /reload?limit=SPEC,
// /store-down and /store-up. GET /denials returns its own count of denials. It answers 200 when that is done,
// 400 for an invalid SPEC, 404 and 405 for anything else, and 500 for a failure.
func NewControl(t *Target) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		action := timeline.Action(strings.TrimPrefix(r.URL.Path, "/"))
		switch {
		case r.URL.Path == "/denials" && r.Method == http.MethodGet:
			writePlain(w, r, http.StatusOK, strconv.FormatInt(t.Denials(), 10)+"\n")
		case action == timeline.Count, !slices.Contains(timeline.Actions(), action):
			writePlain(w, r, http.StatusNotFound, "the events are /restart, /reload, /reload?limit=SPEC, "+
				"/store-down and /store-up; GET /denials counts denials\n")
		case r.Method != http.MethodPost:
			w.Header().Set("Allow", http.MethodPost)
			writePlain(w, r, http.StatusMethodNotAllowed, "an event is a POST\n")
		default:
			limit := r.URL.Query().Get("limit")
			err, status, said := t.Do(action, limit), http.StatusOK, "done"
			if err != nil {
				status, said = http.StatusInternalServerError, err.Error()
			}
			if err != nil && limit != "" {
				status = http.StatusBadRequest
			}
			writePlain(w, r, status, said+"\n")
		}
	})
}
