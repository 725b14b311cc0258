package lab

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// vanishing is a store in memory that stops answering once it is gone.
type vanishing struct{ gone *atomic.Bool }

func (v vanishing) Decider(limit spec.Limit) (Decider, error) {
	limiter, err := reference.NewLimit(limit)
	kept := NewMemory(Setup{Limiter: limiter, Limit: limit, Clock: NewClock(time.Now)})
	return decides(func(ctx context.Context, key string, cost int64) (Ruling, error) {
		if v.gone.Load() {
			return Ruling{}, errors.New("gone")
		}
		return kept.Decide(ctx, key, cost)
	}), err
}

func (vanishing) Close() error { return nil }

// decides is a decider made of a function.
type decides func(context.Context, string, int64) (Ruling, error)

func (d decides) Decide(ctx context.Context, key string, cost int64) (Ruling, error) {
	return d(ctx, key, cost)
}

// TestStoreTakenAway takes the store away from targets with each choice. Their answers say so in the body and
// tell no quota. A target can still be closed.
func TestStoreTakenAway(t *testing.T) {
	var gone atomic.Bool
	type choice struct {
		status int
		body   string
	}
	want := map[OnStoreError]choice{
		"":               {http.StatusInternalServerError, "the store of the limiter does not answer\n"},
		StoreErrorFails:  {http.StatusInternalServerError, "the store of the limiter does not answer\n"},
		StoreErrorAllows: {http.StatusOK, "allowed: the store of the limiter does not answer\n"},
		StoreErrorDenies: {http.StatusServiceUnavailable,
			"denied: the store of the limiter does not answer\n"},
	}
	targets := map[OnStoreError]*Target{}
	var told atomic.Int64
	for c := range want {
		targets[c] = open(t, Options{Limit: parse(t, "gcra,rate=1/1h,burst=5"), Store: vanishing{gone: &gone},
			OnStoreError: c, DenyStatus: 503, StoreFailed: func(error) { told.Add(1) }})
		if answer := ask(targets[c], request{}); answer.StatusCode != http.StatusOK ||
			answer.Header.Get("RateLimit") == "" {
			t.Fatalf("%q, before: got %d %v, want 200 with fields", c, answer.StatusCode, answer.Header)
		}
	}
	gone.Store(true)
	for c, want := range want {
		for range 2 {
			answer := ask(targets[c], request{})
			body, err := io.ReadAll(answer.Body)
			if got := (choice{answer.StatusCode, string(body)}); err != nil || got != want {
				t.Errorf("%q, after: got %v, %v, want %v", c, got, err, want)
			}
			for name := range answer.Header {
				if strings.Contains(name, "Ratelimit") || name == "Retry-After" {
					t.Errorf("%q, after: got %s, want no field of a quota", c, name)
				}
			}
		}
		if n := targets[c].StoreErrors(); n != 2 {
			t.Errorf("%q: got %d store errors, want 2", c, n)
		}
	}
	if told.Load() != 8 {
		t.Errorf("told of %d, want 8", told.Load())
	}
	if _, err := New(Options{Limit: parse(t, "gcra,rate=1/s,burst=5"), OnStoreError: "open"}); err == nil {
		t.Error(`a choice that does not exist: got no error`)
	}
}
