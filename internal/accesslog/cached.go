package accesslog

import (
	"strings"

	"github.com/rlcheck/rlcheck/internal/headers"
)

// cacheTold finds in a log what package headers reads of an answer. It reads the values that were sent to the
// client and, for nginx, $upstream_cache_status, which says the same of its own cache.
type cacheTold struct{ slots map[string][]slot }

// newCacheTold gives slots to the fields in the names of a format. HAProxy numbers the fields that it
// captures, and ALB logs none, so nothing is known of these.
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

// get returns the value of a field of the answer in a line, and whether the line has it.
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
