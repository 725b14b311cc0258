package target

import (
	"net/http"
	"strconv"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// NewControl returns a handler that lets something happen to t: POST /restart, /reload, /reload?limit=SPEC,
// /store-down and /store-up; GET /denials tells its own count of denials. It answers 200 when that is done,
// 400 for a SPEC that is none, 404 and 405 for anything else, and 500 for what failed.
func NewControl(t *Target) http.Handler {
	events := map[string]func(*http.Request) (int, error){
		"/restart": func(*http.Request) (int, error) { return http.StatusInternalServerError, t.Restart() },
		"/reload": func(r *http.Request) (int, error) {
			text := r.URL.Query().Get("limit")
			if text == "" {
				return http.StatusInternalServerError, t.Reload(nil)
			}
			limit, err := spec.Parse(text)
			if err != nil {
				return http.StatusBadRequest, err
			}
			return http.StatusBadRequest, t.Reload(limit)
		},
		"/store-down": func(*http.Request) (int, error) { t.StoreDown(); return 0, nil },
		"/store-up": func(*http.Request) (int, error) {
			return http.StatusInternalServerError,
				t.StoreUp()
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		event := events[r.URL.Path]
		switch {
		case r.URL.Path == "/denials" && r.Method == http.MethodGet:
			writePlain(w, r, http.StatusOK, strconv.FormatInt(t.Denials(), 10)+"\n")
		case event == nil:
			writePlain(w, r, http.StatusNotFound,
				"the events are /restart, /reload, /reload?limit=SPEC, /store-down and /store-up; "+
					"GET /denials counts denials\n")
		case r.Method != http.MethodPost:
			w.Header().Set("Allow", http.MethodPost)
			writePlain(w, r, http.StatusMethodNotAllowed, "an event is a POST\n")
		default:
			if status, err := event(r); err != nil {
				writePlain(w, r, status, err.Error()+"\n")
				return
			}
			writePlain(w, r, http.StatusOK, "done\n")
		}
	})
}
