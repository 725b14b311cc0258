package transport

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Lag is how late this process reads what has arrived. Every few milliseconds a byte is written to a pipe.
// The pipe is read as connections are: by a goroutine that sleeps in the network poller, and by each event
// loop.
//
//	write            wake-up            read
//	|--------------- lag ---------------|
//
// The interval of an answer that an event loop reads late still ends when the answer arrived, if the kernel
// has stamped it (LoopHandler). Elsewhere an interval ends with the read.
type Lag struct {
	clock Clock
	phase *atomic.Pointer[string]

	mu sync.Mutex
	// called is when the last byte was written, in the phase during. unheard is how many readers have not
	// read it yet. It is negative while a reader is faster than the writer.
	called  time.Duration
	during  *string
	unheard int
	longest map[string]time.Duration
}

// NewLag returns a Lag. phase holds the name of the current phase, nil before the first.
func NewLag(clock Clock, phase *atomic.Pointer[string]) *Lag {
	return &Lag{clock: clock, phase: phase, longest: map[string]time.Duration{}}
}

// Listen measures until ctx ends. knock makes readers that do not read the pipe, the event loops, call Heard.
// It returns how many will.
func (l *Lag) Listen(ctx context.Context, knock func() int) {
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
	for Rest(ctx, looks, nil) {
		if !l.call() {
			continue
		}
		called := 1 + knock()
		if _, err := to.Write([]byte{0}); err != nil {
			return
		}
		l.await(called)
	}
}

// call begins a measurement. It reports false while a reader is still late: its lag goes on.
func (l *Lag) call() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unheard > 0 {
		return false
	}
	l.called, l.during = l.clock.Now(), l.phase.Load()
	return true
}

// await notes how many readers were called.
func (l *Lag) await(readers int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unheard += readers
}

// Heard is called by each reader when it has read what Listen wrote. It keeps the longest lag of the phase in
// which that was written, and of the current one.
func (l *Lag) Heard() {
	now, name := l.clock.Now(), l.phase.Load()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unheard--
	for _, phase := range []*string{l.during, name} {
		if phase != nil {
			l.longest[*phase] = max(l.longest[*phase], now-l.called)
		}
	}
}

// Of returns the longest lag of a phase.
func (l *Lag) Of(phase string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.longest[phase]
}
