package lab

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

func TestParseRule(t *testing.T) {
	for text, want := range map[string]Rule{
		"/login fixed-window,rate=3/10s": {Path: "/login",
			Limit: parse(t, "fixed-window,rate=3/10s")},
		" PUT  /items:x  none": {Method: "PUT", Path: "/items:x"},
		"X-Tier:gold X-Zone:a:b " +
			"token-bucket,rate=1/s,burst=2": {Header: map[string]string{"X-Tier": "gold", "X-Zone": "a:b"},
			Limit: parse(t, "token-bucket,rate=1/s,burst=2")},
		"X-Tier:barred zero": {Header: map[string]string{"X-Tier": "barred"}, Barred: true},
		"/a token-bucket,rate=1/s,burst=2 + fixed-window,rate=9/m": {Path: "/a",
			Limit: parse(t, "token-bucket,rate=1/s,burst=2 + fixed-window,rate=9/m")},
	} {
		got, err := ParseRule(text)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%q: got %v %s", text, err, d)
		}
	}
	for text, want := range map[string]string{
		"fixed-window,rate=3/10s": "a rule says first whom it is for", "": "a rule says first",
		"/a":         "a rule says first",
		"/a /b none": `"/b"`, "GET PUT none": `"PUT"`, "login fixed-window,rate=3/10s": `"login"`,
		"/a fixed-windows,rate=3/10s": "fixed-windows",
	} {
		if got, err := ParseRule(text); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "rule ") {
			t.Errorf("%q: got %v, %v, want an error that says %q", text, got, err, want)
		}
	}
}

// ordering sends an event to the control of the target, and returns the status of the answer.
func ordering(method, path string) step {
	return func(s *session) string {
		return ask(NewControl(s.h.(*Target)), request{method: method, path: path}).Status[:3]
	}
}

func TestControlLetsEventsHappen(t *testing.T) {
	for name, c := range map[string]struct {
		fault string
		steps []step
		want  string
	}{
		"restart": {"restart-forgets", do(burst(20), ordering("POST", "/restart"), burst(20)),
			"10, 200, 10"},
		"reload": {"reload-forgets", do(burst(20), ordering("POST", "/reload"), burst(20)),
			"10, 200, 10"},
		"reload with a limit": {"", do(ordering("POST", "/reload?limit=fixed-window,rate=5/10s"), burst(20)),
			"200, 5"},
		"reload with no limit": {"", do(ordering("POST", "/reload?limit=nonsense"), burst(20)), "400, 10"},
		"an outage": {"",
			do(ordering("POST", "/store-down"), one, status, ordering("POST", "/store-up"), burst(20)),
			"200, 500, 200, 10"},
		"anything": {"", do(ordering("GET", "/restart"), ordering("POST", "/"), burst(20)),
			"405, 404, 10"},
	} {
		synctest.Test(t, func(t *testing.T) {
			if got := run(open(t, Options{Limit: parse(t, window), Fault: c.fault}),
				c.steps...); got != c.want {
				t.Errorf("%s: got %s, want %s", name, got, c.want)
			}
		})
	}
}
