package lab

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/rlcheck/rlcheck/internal/scenario"
)

// keyed wraps the embedded target so that it counts by the partition of the scenario. The target itself knows
// only a header field and the address. keyed copies a path, query parameter, cookie or body field into that
// header field.
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
	case scenario.ByBody:
		key = func(r *http.Request) string { return bodyField(r, p.Name) }
	default:
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("X-Api-Key", key(r))
		h.ServeHTTP(w, r)
	})
}

// priced wraps a target so that each request costs several units, unless it states a cost.
func priced(each int, h http.Handler) http.Handler {
	if each < 2 {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Cost") == "" {
			r.Header.Set("X-Cost", strconv.Itoa(each))
		}
		h.ServeHTTP(w, r)
	})
}

// mostBody is how many bytes of a body are read.
const mostBody = 64 << 10

// bodyField returns a field of the request body, which is a JSON object or a form. It is empty if there is no
// such field.
func bodyField(r *http.Request, name string) string {
	text, err := io.ReadAll(io.LimitReader(r.Body, mostBody))
	if err != nil {
		return ""
	}
	object := map[string]any{}
	if json.Unmarshal(text, &object) == nil {
		v, _ := object[name].(string)
		return v
	}
	form, err := url.ParseQuery(string(text))
	if err != nil {
		return ""
	}
	return form.Get(name)
}
