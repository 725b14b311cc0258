package timeline

import (
	"slices"
	"strings"
)

// Part is the observations of one partition, in the order of the timeline.
type Part struct {
	Partition    string
	Observations []Observation
}

// ByPartition splits the observations by their partition, ascending by its name; nil if there are none. With
// one partition, the observations are those of t and not a copy. Otherwise it copies each observation once.
// The cost is linear, and p log p for p partitions.
func (t *Timeline) ByPartition() []Part {
	obs := t.Observations
	if len(obs) == 0 {
		return nil
	}
	if onePartition(obs) {
		return []Part{{Partition: obs[0].Partition, Observations: obs}}
	}
	names, which, counts := partitions(obs)
	order := make([]int, len(names))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(names[a], names[b]) })

	copies := make([]Observation, len(obs))
	parts := make([]Part, len(names))
	place := make([]int, len(names)) // where the next observation of a partition goes
	at := 0
	for i, k := range order {
		place[k] = at
		end := at + counts[k]
		parts[i] = Part{Partition: names[k], Observations: copies[at:end:end]}
		at = end
	}
	for i := range obs {
		k := which[i]
		copies[place[k]] = obs[i]
		place[k]++
	}
	return parts
}

func onePartition(obs []Observation) bool {
	for i := range obs {
		if obs[i].Partition != obs[0].Partition {
			return false
		}
	}
	return true
}

// partitions numbers the partitions in the order in which they appear. It returns their names, the number of
// each observation's partition, and how many observations each partition has.
func partitions(obs []Observation) (names []string, which []int32, counts []int) {
	numbers := make(map[string]int32)
	which = make([]int32, len(obs))
	last := int32(-1)
	for i := range obs {
		name := obs[i].Partition
		if last < 0 || names[last] != name {
			k, known := numbers[name]
			if !known {
				k = int32(len(names))
				numbers[name] = k
				names = append(names, name)
				counts = append(counts, 0)
			}
			last = k
		}
		which[i] = last
		counts[last]++
	}
	return names, which, counts
}
