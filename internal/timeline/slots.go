package timeline

// MostSlots is how many Slots there are: a key has its number as long as not so many others came after it.
const MostSlots = 1 << 12

// Slots gives numbers below MostSlots to what comes again and again. A new key takes the place of the oldest.
// The zero value has none.
type Slots[K comparable] struct {
	at   map[K]int
	keys [MostSlots]K
	next int
}

// Find returns the number of k, or gives it one; known is false for that.
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
