package live

import "testing"

// The embedded target keeps its state in a real Redis, one script a decision.
func TestRedisKeepsTheLimit(t *testing.T) {
	t.Parallel()
	addr := start(t, program{
		binary: "redis-server", template: "redis.conf.tmpl",
		args: func(config string, _ int) []string { return []string{config} },
	})
	for name, c := range map[string]struct{ scenario, spec, less, more string }{
		"token bucket, burst":       {"burst", "token-bucket,rate=100/s,burst=20", "token-bucket,rate=100/s,burst=19", "token-bucket,rate=100/s,burst=21"},
		"token bucket, overload":    {"overload-10x", "token-bucket,rate=100/s,burst=20", "token-bucket,rate=80/s,burst=20", "token-bucket,rate=120/s,burst=20"},
		"gcra, burst":               {"burst", "gcra,rate=100/s,burst=20", "gcra,rate=100/s,burst=19", "gcra,rate=100/s,burst=21"},
		"fixed window, burst":       {"burst", "fixed-window,rate=20/400ms", "fixed-window,rate=19/400ms", "fixed-window,rate=21/400ms"},
		"sliding log, overload":     {"overload-10x", "sliding-window-log,rate=20/200ms", "sliding-window-log,rate=19/200ms", "sliding-window-log,rate=21/200ms"},
		"sliding counter, overload": {"overload-10x", "sliding-window-counter,rate=20/200ms", "sliding-window-counter,rate=18/200ms", "sliding-window-counter,rate=22/200ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sets []string
			if c.scenario == "overload-10x" {
				sets = quiet
			}
			r := run(t, read(t, c.scenario, "builtin", c.spec, sets...), "redis://"+addr)
			mustPass(t, r)
			if r.Store != "redis" {
				t.Errorf("got the store %q, want redis", r.Store)
			}
			mustFail(t, again(t, r, c.less, sets...))
			mustFail(t, again(t, r, c.more, sets...))
		})
	}
}
