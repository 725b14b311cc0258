package audit

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rlcheck/rlcheck/internal/load/pacing"
)

// Lag is how late this process reads what has arrived. Every few milliseconds a byte is written to a pipe.
// The pipe is read as connections are: by a goroutine that sleeps in the network poller, and by each event
// loop.
//
//	write            wake-up            read
//	|--------------- lag ---------------|
//
// The interval of an answer that an event loop reads late still ends when the answer arrived, if the kernel
// has stamped it (eventloop.Handler). Elsewhere an interval ends with the read.
type Lag struct {
	clock pacing.Clock
	phase *atomic.Pointer[string]
	// called is when the last byte was written.
	called atomic.Int64

	mu      sync.Mutex
	longest map[string]time.Duration
}

// NewLag returns a Lag. phase holds the name of the current phase, nil before the first.
func NewLag(clock pacing.Clock, phase *atomic.Pointer[string]) *Lag {
	return &Lag{clock: clock, phase: phase, longest: map[string]time.Duration{}}
}

// Listen measures until ctx ends. knock makes readers that do not read the pipe, the event loops, call Heard.
func (l *Lag) Listen(ctx context.Context, knock func()) {
	from, to, err := os.Pipe()
	if err != nil {
		return // no descriptors are left: the connections will fail and say so
	}
	over := make(chan struct{})
	defer func() { <-over }()
	defer to.Close()
	go func() {
		defer close(over)
		defer from.Close()
		for b := make([]byte, 8); ; {
			if _, err := from.Read(b); err != nil {
				return
			}
			l.Heard()
		}
	}()
	for pacing.Rest(ctx, looks, nil) {
		l.called.Store(int64(l.clock.Now()))
		knock()
		if _, err := to.Write([]byte{0}); err != nil {
			return
		}
	}
}

// Heard is called by each reader when it has read what Listen wrote. It keeps the longest lag of the current
// phase.
func (l *Lag) Heard() {
	lag := l.clock.Now() - time.Duration(l.called.Load())
	name := l.phase.Load()
	if name == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.longest[*name] = max(l.longest[*name], lag)
}

// Of returns the longest lag of a phase.
func (l *Lag) Of(phase string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.longest[phase]
}
