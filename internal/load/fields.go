package load

import (
	"encoding/binary"
	"sync"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// mostKept is how many sets of fields, and of values, are remembered before all are forgotten: those of a
// target that denies repeat, those of one that counts down do not.
const mostKept = 1 << 12

// fieldStore keeps one copy of the fields of answers that are alike. A recording of many requests consists of
// little else: each answer has some seven fields, of which most never change.
type fieldStore struct {
	mu     sync.Mutex
	sets   map[string]timeline.Fields
	values map[string]string
	key    []byte
}

func newFieldStore() *fieldStore {
	return &fieldStore{sets: map[string]timeline.Fields{}, values: map[string]string{}}
}

// keep returns the fields as they are recorded: f itself is not kept. nil for none.
func (s *fieldStore) keep(f timeline.Fields) timeline.Fields {
	if len(f) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := s.key[:0]
	for i := range f {
		key = binary.AppendUvarint(key, uint64(len(f[i].Name)))
		key = append(key, f[i].Name...)
		key = binary.AppendUvarint(key, uint64(len(f[i].Value)))
		key = append(key, f[i].Value...)
	}
	s.key = key
	if out, known := s.sets[string(key)]; known {
		return out
	}
	out := make(timeline.Fields, len(f))
	for i := range f {
		out[i] = timeline.Field{Name: s.text(f[i].Name), Value: s.text(f[i].Value)}
	}
	if len(s.sets) >= mostKept {
		clear(s.sets)
	}
	s.sets[string(key)] = out
	return out
}

// known returns a value as it was kept before, if it was.
func (s *fieldStore) known(v []byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own, known := s.values[string(v)]; known {
		return own
	}
	return string(v)
}

// text returns the copy of a name or a value that is kept. The lock is held.
func (s *fieldStore) text(v string) string {
	if own, known := s.values[v]; known {
		return own
	}
	if len(s.values) >= mostKept {
		clear(s.values)
	}
	s.values[v] = v
	return v
}
