package trial

import (
	"net/http"

	"github.com/rlcheck/rlcheck/internal/scenario"
)

// keyed lets the embedded target, which counts by a header field or else by address, count by path or by a query parameter,
// as the scenario tells its clients apart.
func keyed(p scenario.Partition, h http.Handler) http.Handler {
	var key func(r *http.Request) string
	switch p.Kind {
	case scenario.ByPath:
		key = func(r *http.Request) string { return r.URL.Path }
	case scenario.ByQuery:
		key = func(r *http.Request) string { return r.URL.Query().Get(p.Name) }
	default:
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("X-Api-Key", key(r))
		h.ServeHTTP(w, r)
	})
}
