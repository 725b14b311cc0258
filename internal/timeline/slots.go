package timeline

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
