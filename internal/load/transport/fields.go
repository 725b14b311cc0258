package transport

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

const (
	// rows times inRow sets of fields are remembered, and as many values. A new entry replaces the oldest one
	// of its row. The sets of a target that denies repeat. Those of a target that counts down do not.
	rows, inRow = 1 << 10, 2
)

// fieldStore keeps one copy of equal answer fields. A recording of many requests consists of little else:
// each answer has some seven fields, most of which never change.
type fieldStore struct {
	mu     sync.Mutex
	seed   maphash.Seed
	sets   [rows][inRow]set
	values [rows][inRow]value
	// sums are the hashes of the values in the current call of keep.
	sums []uint64
}

// set and value are remembered entries with the hashes of their texts. An entry with another hash need not be
// compared.
type (
	set struct {
		sum    uint64
		fields timeline.Fields
	}
	value struct {
		sum  uint64
		text string
	}
)

func newFieldStore() *fieldStore { return &fieldStore{seed: maphash.MakeSeed()} }

// keep returns the fields as they are recorded; nil for none. It does not retain f or its texts.
func (s *fieldStore) keep(f timeline.Fields) timeline.Fields {
	if len(f) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var all uint64
	s.sums = s.sums[:0]
	for i := range f {
		sum := maphash.String(s.seed, f[i].Value)
		s.sums = append(s.sums, sum)
		all = all*31 + sum
	}
	row := &s.sets[all%rows]
	for i := range row {
		if row[i].sum == all && slices.Equal(row[i].fields, f) {
			return row[i].fields
		}
	}
	out := make(timeline.Fields, len(f))
	for i := range f {
		out[i].Name = s.text(f[i].Name, maphash.String(s.seed, f[i].Name))
		out[i].Value = s.text(f[i].Value, s.sums[i])
	}
	row[1], row[0] = row[0], set{all, out}
	return out
}

// text returns the kept copy of a name or a value with hash sum. The lock is held.
func (s *fieldStore) text(v string, sum uint64) string {
	row := &s.values[sum%rows]
	for i := range row {
		if row[i].sum == sum && row[i].text == v {
			return row[i].text
		}
	}
	row[1], row[0] = row[0], value{sum, strings.Clone(v)}
	return row[0].text
}
