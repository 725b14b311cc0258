package timeline

import "encoding/json"

// interner keeps one copy of each text that repeats: names of partitions and phases, header fields.
type interner struct {
	last string
	all  map[string]string
	size int
}

const (
	// maxInterned is the longest text that is looked up.
	maxInterned = 512
	// maxInternedSize is how many bytes are kept before all texts are forgotten.
	maxInternedSize = 16 << 20
)

func (t *interner) get(text []byte) string {
	if string(text) == t.last {
		return t.last
	}
	if len(text) > maxInterned {
		return string(text)
	}
	s, known := t.all[string(text)]
	if !known {
		s = string(text)
		t.keep(s, s)
	}
	t.last = s
	return s
}

// unquote returns what a string of JSON means, and looks it up by its text with the quotes.
func (t *interner) unquote(raw []byte) (s string) {
	if s, known := t.all[string(raw)]; known {
		return s
	}
	_ = json.Unmarshal(raw, &s) // a sound string
	if len(raw) <= maxInterned {
		t.keep(string(raw), s)
	}
	return s
}

// keep adds a text.
func (t *interner) keep(key, s string) {
	if t.all == nil || t.size > maxInternedSize {
		t.all = make(map[string]string)
		t.size = 0
	}
	t.all[key] = s
	t.size += len(key) + 64 // about the cost of an entry
}

// seqSet is a set of numbers from 0, one bit each, in words of 64 bits. It is cheap for numbers that come
// nearly in order.
type seqSet struct {
	words map[int]uint64
	// word is the last word that was used, kept out of the map. key is its place.
	word uint64
	key  int
}

// insert adds n and returns whether it is new.
func (s *seqSet) insert(n int) bool {
	if key := n >> 6; key != s.key {
		if s.words == nil {
			s.words = make(map[int]uint64)
		}
		s.words[s.key] = s.word
		s.word = s.words[key]
		s.key = key
	}
	bit := uint64(1) << (n & 63)
	if s.word&bit != 0 {
		return false
	}
	s.word |= bit
	return true
}

// MostSlots is the number of Slots. A key keeps its number until so many others came after it.
const MostSlots = 1 << 12

// Slots gives numbers below MostSlots to keys that come again and again. A new key takes the place of the
// oldest. The zero value is empty.
type Slots[K comparable] struct {
	at   map[K]int
	keys [MostSlots]K
	next int
}

// Find returns the number of k. known=false: k got a new number.
func (s *Slots[K]) Find(k K) (n int, known bool) {
	if n, known = s.at[k]; known {
		return n, true
	}
	if s.at == nil {
		s.at = make(map[K]int, MostSlots)
	}
	n = s.next % MostSlots
	if s.next >= MostSlots {
		delete(s.at, s.keys[n])
	}
	s.at[k], s.keys[n] = n, k
	s.next++
	return n, false
}
