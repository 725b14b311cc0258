package transport

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
)

// noteBook has what is told of a target and of the run.
type noteBook struct {
	mu    sync.Mutex
	notes []string
	// words are those of notes of which one is enough. protocols are what the target answered in.
	words, protocols map[string]bool
}

// remember keeps the first error of each word as a note.
func (b *noteBook) remember(w string, err error) {
	if err != nil && w != CauseInterrupted {
		b.once(w, CauseFirst(w, CausePlain(err)))
	}
}

// once adds a note, unless one of the same word exists.
func (b *noteBook) once(w, note string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.words[w] {
		b.words[w] = true
		b.notes = append(b.notes, note)
	}
}

// Note adds a sentence to the header of the timeline.
func (b *noteBook) Note(format string, args ...any) {
	b.mu.Lock()
	b.notes = append(b.notes, fmt.Sprintf(format, args...))
	b.mu.Unlock()
}

// Notes returns the notes so far, oldest first. The caller must not change the slice.
func (b *noteBook) Notes() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.notes
}

// speaks remembers that the target answered on nc in this version of HTTP. Answers of the origin do not
// count.
func (b *noteBook) speaks(p *Pool, nc net.Conn, http string) {
	if p.origin {
		return
	}
	if secure, ok := nc.(*tls.Conn); ok {
		http += ", " + tls.VersionName(secure.ConnectionState().Version)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.protocols[http] = true
}

// hungUp tells whether connections were ended, or got an answer that is not HTTP.
func (b *noteBook) hungUp() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for w := range b.words {
		if CauseHungUp(w) {
			return true
		}
	}
	return false
}

// Protocols returns the versions of HTTP that the target answered in, with those of TLS, in ascending order.
func (b *noteBook) Protocols() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.protocols))
}
