package accesslog

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/headers"
)

// cacheTold finds in a log what package headers reads of an answer. It reads the values that were sent to the
// client and, for nginx, $upstream_cache_status, which says the same of its own cache.
type cacheTold struct {
	slots map[string][]slot
	all   []slot
}

// newCacheTold gives slots to the fields in the names of a server. Of a log without them nothing is known.
func newCacheTold(row *server, t *table) cacheTold {
	c := cacheTold{slots: map[string][]slot{}}
	if row.answered == "" {
		return c
	}
	for _, name := range headers.CacheFields() {
		own := []string{fieldIn(row.answered, name)}
		if own[0] == "sent_http_x_cache_status" {
			own = append(own, "upstream_cache_status")
		}
		for _, one := range own {
			c.all = append(c.all, t.add(one))
			c.slots[name] = append(c.slots[name], c.all[len(c.all)-1])
		}
	}
	return c
}

// get returns the value of a field of the answer in a line, and whether the line has it.
func (c cacheTold) get(v values) func(name string) (string, bool) {
	if !slices.ContainsFunc(c.all, func(s slot) bool { return v[s] != nil }) { // as in most lines
		return func(string) (string, bool) { return "", false }
	}
	return func(name string) (string, bool) {
		for _, s := range c.slots[name] {
			if v[s] != nil {
				return string(v[s]), true
			}
		}
		return "", false
	}
}
