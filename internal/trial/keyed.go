package trial

import (
	"net/http"

	"github.com/rlcheck/rlcheck/internal/scenario"
)

// keyed lets the embedded target, which counts by a header field or else by address, count by path, by a
// query parameter or by a cookie, as the scenario tells its clients apart.
func keyed(p scenario.Partition, h http.Handler) http.Handler {
	var key func(r *http.Request) string
	switch p.Kind {
	case scenario.ByPath:
		key = func(r *http.Request) string { return r.URL.Path }
	case scenario.ByQuery:
		key = func(r *http.Request) string { return r.URL.Query().Get(p.Name) }
	case scenario.ByCookie:
		key = func(r *http.Request) string {
			c, err := r.Cookie(p.Name)
			if err != nil {
				return ""
			}
			return c.Value
		}
	default:
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("X-Api-Key", key(r))
		h.ServeHTTP(w, r)
	})
}
