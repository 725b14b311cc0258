package timeline

import (
	"maps"
	"slices"
)

// Part is the observations of one partition, in the order of the timeline.
type Part struct {
	Partition    string
	Observations []Observation
}

// ByPartition splits the observations by their partition, ascending by its name; nil if there are none. With
// one partition, the observations are those of t and not a copy. Otherwise it copies each observation once.
// The cost is linear, and p log p for p partitions.
func (t *Timeline) ByPartition() (parts []Part) {
	place := map[string]int{} // at first how many observations a partition has, then the place of its part
	for i := range t.Observations {
		place[t.Observations[i].Partition]++
	}
	if len(place) == 1 {
		return []Part{{t.Observations[0].Partition, t.Observations}}
	}
	copies := make([]Observation, len(t.Observations))
	for _, name := range slices.Sorted(maps.Keys(place)) {
		n := place[name]
		place[name] = len(parts)
		parts = append(parts, Part{name, copies[:0:n]})
		copies = copies[n:]
	}
	for i := range t.Observations {
		p := &parts[place[t.Observations[i].Partition]]
		p.Observations = append(p.Observations, t.Observations[i])
	}
	return parts
}
