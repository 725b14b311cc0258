package reference

import (
	"github.com/rlcheck/rlcheck/internal/spec"
	"time"
)

// tokenBucket holds at most capacity tokens. A request takes one for each unit of its cost, or is denied.
//
//	tokens' = min(capacity, tokens + rate * time);  admitted when tokens' >= cost
//
// Tokens are counted in quota units times the window in nanoseconds (see refill). A denied request that is
// counted takes what is there, at most its cost.
type tokenBucket struct {
	refill        refill
	burst         int64
	per, capacity uint64
	// missing are the tokens that the bucket lacks at the start.
	missing uint64
	all     bool
}

type tokenState struct {
	last   time.Duration
	tokens uint64
	into   uint64
}

func newTokenBucket(p spec.Policy) *tokenBucket {
	return &tokenBucket{
		refill: newRefill(p), burst: p.Burst, per: uint64(p.Rate.Per),
		capacity: uint64(p.Burst) * uint64(p.Rate.Per),
		missing:  uint64(p.Missing()) * uint64(p.Rate.Per), all: p.Count == spec.CountAll,
	}
}

func (b *tokenBucket) open(at time.Duration) tokenState {
	return tokenState{last: at, tokens: b.capacity - b.missing}
}

func (b *tokenBucket) advance(s tokenState, at time.Duration) tokenState {
	past := since(at, s.last)
	if past == 0 {
		return s
	}
	gain, into := b.refill.over(past, s.into, b.capacity-s.tokens)
	return tokenState{last: at, tokens: s.tokens + gain, into: into}
}

func (b *tokenBucket) wait(s tokenState, cost int64) time.Duration {
	if cost > b.burst {
		return Never
	}
	need := uint64(cost) * b.per
	if need <= s.tokens {
		return 0
	}
	return b.refill.until(need-s.tokens, s.into)
}

func (b *tokenBucket) charge(s tokenState, cost int64, allow bool) (tokenState, time.Duration) {
	if allow || b.all {
		s.tokens -= min(s.tokens, uint64(min(cost, b.burst))*b.per)
	}
	return s, 0
}

func (b *tokenBucket) view(s tokenState) (int64, time.Duration) {
	return int64(s.tokens / b.per), b.refill.until(b.capacity-s.tokens, s.into)
}
