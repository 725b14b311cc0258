package lab

import (
	"context"
	"sync"

	"github.com/rlcheck/rlcheck/internal/fleet"
)

const (
	// maxFlights is how many exchanges with the server are under way at once. While there are fewer, a call
	// is sent at once. Otherwise calls wait for the next exchange and share it.
	maxFlights = 2
	// maxCalls is the most calls that share an exchange.
	maxCalls = 256
)

// flights sends scripts to a Redis server. Calls that wait at the same time share one exchange.
type flights struct {
	client       fleet.RedisClient
	hash, source string
	// atOnce is maxFlights, most is maxCalls.
	atOnce, most int

	mu      sync.Mutex
	flying  int
	waiting []*flight
}

// call has the arguments of a script: KEYS, of which there are keys, and then ARGV.
type call struct {
	keys int
	args []any
}

// flight is a call under way.
type flight struct {
	call
	command *fleet.RedisCommand
	done    chan struct{}
}

func newFlights(client fleet.RedisClient, hash, source string) *flights {
	return &flights{client: client, hash: hash, source: source, atOnce: maxFlights, most: maxCalls}
}

// run runs the script once. It returns its answer or the error.
func (f *flights) run(c call) *fleet.RedisCommand {
	mine := &flight{call: c, done: make(chan struct{})}
	f.mu.Lock()
	f.waiting = append(f.waiting, mine)
	lead := f.flying < f.atOnce
	if lead {
		f.flying++
	}
	f.mu.Unlock()
	if lead {
		f.fly()
	}
	<-mine.done
	return mine.command
}

// fly sends the waiting calls, and makes sure that calls which come meanwhile are sent too.
func (f *flights) fly() {
	batch := f.next()
	f.send(batch)
	f.mu.Lock()
	more := len(f.waiting) > 0
	if !more {
		f.flying--
	}
	f.mu.Unlock()
	if more {
		go f.fly()
	}
}

// next removes and returns the calls of an exchange.
func (f *flights) next() []*flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := min(len(f.waiting), f.most)
	batch := append([]*flight(nil), f.waiting[:n]...)
	f.waiting = append(f.waiting[:0], f.waiting[n:]...)
	clear(f.waiting[len(f.waiting) : len(f.waiting)+n])
	return batch
}

// send runs the script for all of batch by its digest. It sends the text of the script if a server does not
// know it.
func (f *flights) send(batch []*flight) {
	ctx, cancel := context.WithTimeout(context.Background(), fleet.RedisTimeout)
	defer cancel()
	f.exchange(ctx, batch, "evalsha", f.hash)
	var unknown []*flight
	for _, b := range batch {
		if fleet.UnknownScript(b.command.Err()) {
			unknown = append(unknown, b)
		}
	}
	// A script that a server does not know has not run.
	f.exchange(ctx, unknown, "eval", f.source)
	for _, b := range batch {
		close(b.done)
	}
}

// exchange sends a command for each of batch and waits for all answers. Errors are those of the commands.
func (f *flights) exchange(ctx context.Context, batch []*flight, verb, script string) {
	for _, b := range batch {
		b.command = fleet.NewRedisCommand(ctx, append([]any{verb, script, b.keys}, b.args...)...)
		b.command.SetFirstKeyPos(3)
	}
	switch len(batch) {
	case 0:
	case 1:
		_ = f.client.Process(ctx, once{batch[0].command})
	default:
		pipe := f.client.Pipeline()
		for _, b := range batch {
			_ = pipe.Process(ctx, once{b.command})
		}
		_, _ = pipe.Exec(ctx)
	}
}

// once is a command that is never sent again after a lost answer, since it would count its request twice. It
// follows a redirection to another node of a cluster, where it has not run yet.
type once struct{ *fleet.RedisCommand }

// NoRetry tells the client library not to retry.
func (once) NoRetry() bool { return true }
