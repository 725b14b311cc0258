package transport

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

const (
	// rows times inRow sets of fields are remembered, and as many values: a newer one takes the place of the
	// older ones of its row. The sets of a target that denies repeat, those of one that counts down do not.
	rows, inRow = 1 << 10, 2
)

// fieldStore keeps one copy of the fields of answers that are alike. A recording of many requests consists of
// little else: each answer has some seven fields, of which most never change.
type fieldStore struct {
	mu     sync.Mutex
	seed   maphash.Seed
	sets   [rows][inRow]timeline.Fields
	values [rows][inRow]string
}

func newFieldStore() *fieldStore { return &fieldStore{seed: maphash.MakeSeed()} }

// keep returns the fields as they are recorded: f itself is not kept. nil for none.
func (s *fieldStore) keep(f timeline.Fields) timeline.Fields {
	if len(f) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var sum uint64
	for i := range f {
		sum = sum*31 + maphash.String(s.seed, f[i].Value)
	}
	row := &s.sets[sum%rows]
	for _, own := range row {
		if slices.Equal(own, f) {
			return own
		}
	}
	out := make(timeline.Fields, len(f))
	for i := range f {
		out[i] = timeline.Field{Name: s.text(f[i].Name), Value: s.text(f[i].Value)}
	}
	row[1], row[0] = row[0], out
	return out
}

// known returns a value as it was kept before, if it was.
func (s *fieldStore) known(v []byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, own := range s.values[maphash.Bytes(s.seed, v)%rows] {
		if own == string(v) {
			return own
		}
	}
	return string(v)
}

// text returns the copy of a name or a value that is kept. The lock is held.
func (s *fieldStore) text(v string) string {
	row := &s.values[maphash.String(s.seed, v)%rows]
	for _, own := range row {
		if own == v {
			return own
		}
	}
	row[1], row[0] = row[0], strings.Clone(v)
	return row[0]
}
