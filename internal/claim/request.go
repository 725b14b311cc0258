package claim

import (
	"cmp"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// request is one request of a client, with its tries in order of arrival.
type request struct {
	client, name string
	// by says what its tries have in common.
	by string
	// sure tells that all tries belong to one request. Otherwise a later one may be another request.
	sure  bool
	tries []*timeline.Observation
}

// requestsOf divides a recording into requests, in the order of their first tries.
func requestsOf(tl *timeline.Timeline, same string) []request {
	var all []request
	at := map[[3]string]int{}
	for i := range tl.Observations {
		o := &tl.Observations[i]
		by, name, sure := identity(o, same)
		key := [3]string{o.Partition, by, name}
		n, known := at[key]
		if known && !sure && last(&all[n]).Outcome == timeline.Allowed {
			known = false // an admitted request is not tried again
		}
		if !known {
			n, at[key] = len(all), len(all)
			all = append(all, request{client: o.Partition, name: name, by: by, sure: sure})
		}
		all[n].tries = append(all[n].tries, o)
	}
	return all
}

func last(r *request) *timeline.Observation { return r.tries[len(r.tries)-1] }

// identity returns what distinguishes a request from others of its client, and its value. sure tells whether
// equal values mean the same request for certain.
func identity(o *timeline.Observation, same string) (by, name string, sure bool) {
	const methodAndURL = "method and URL"
	switch same {
	case SameURL:
		return methodAndURL + " (as declared)", url(o), true
	case "":
		if key := idempotency(o); key != "" {
			return "Idempotency-Key", key, true
		}
	default:
		if v, ok := o.Fields.Get(same); ok {
			return same, v, true
		}
	}
	return methodAndURL + " (it may be a new request, which accuses nobody)", url(o), false
}

// url returns the method and URL of a request. In a recording without them it returns the phase.
func url(o *timeline.Observation) string {
	method, _ := o.Fields.Get(":method")
	path, ok := o.Fields.Get(":path")
	if !ok {
		return o.Phase
	}
	return method + " " + path
}

// idempotency returns the key by which a client names a request; "" if it has none.
func idempotency(o *timeline.Observation) string {
	v, _ := o.Fields.Get("Idempotency-Key")
	w, _ := o.Fields.Get("X-Idempotency-Key")
	return cmp.Or(v, w)
}
