package accesslog

import (
	"strings"

	"github.com/rlcheck/rlcheck/internal/headers"
)

// cacheTold finds in a log what package headers reads of an answer: where it is logged, the values that
// were sent to the client, and of nginx $upstream_cache_status, by which it says the same of its own cache.
type cacheTold struct{ slots map[string][]slot }

// newCacheTold gives slots to the fields in the names of a format. HAProxy numbers what it captures, and ALB
// logs no field: of them nothing is known.
func newCacheTold(f Format, t *table) cacheTold {
	c := cacheTold{map[string][]slot{}}
	for _, name := range headers.CacheFields() {
		for _, own := range answered(f, name) {
			c.slots[name] = append(c.slots[name], t.add(own))
		}
	}
	return c
}

// answered returns the names that a format has for a field of the answer.
func answered(f Format, name string) []string {
	switch f {
	case Nginx, NginxJSON:
		own := []string{"sent_http_" + snake(name)}
		if name == "X-Cache-Status" {
			own = append(own, "upstream_cache_status")
		}
		return own
	case Envoy:
		return []string{"RESP(" + strings.ToUpper(name) + ")"}
	case EnvoyJSON:
		return []string{snake(name)}
	case Caddy:
		return []string{"resp_headers." + name + ".0"}
	default:
		return nil
	}
}

// get returns the value of a field of the answer in a line, and whether it has it.
func (c cacheTold) get(v values) func(name string) (string, bool) {
	return func(name string) (string, bool) {
		for _, s := range c.slots[name] {
			if v[s] != nil {
				return string(v[s]), true
			}
		}
		return "", false
	}
}
