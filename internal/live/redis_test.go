package live

import "testing"

// The embedded target keeps its state in a real Redis, with one script per decision.
func TestRedisKeepsTheLimit(t *testing.T) {
	t.Parallel()
	redis := "redis://" + start(t, program{
		binary: "redis-server", template: "redis.conf.tmpl",
		args: func(config string, _ int) []string { return []string{config} },
	})
	for name, c := range map[string]trial{
		"token bucket, burst": {scenario: "burst", right: "token-bucket,rate=50/s,burst=20", wrong: []string{
			"token-bucket,rate=50/s,burst=19", "token-bucket,rate=50/s,burst=21",
		}},
		"token bucket, overload": {scenario: "overload-10x", right: "token-bucket,rate=50/s,burst=20",
			wrong: []string{
				"token-bucket,rate=40/s,burst=20", "token-bucket,rate=60/s,burst=20",
				"fixed-window,rate=20/400ms",
			}},
		"gcra, burst": {scenario: "burst", right: "gcra,rate=50/s,burst=20", wrong: []string{
			"gcra,rate=50/s,burst=19", "gcra,rate=50/s,burst=21",
		}},
		"fixed window, burst": {scenario: "burst", right: "fixed-window,rate=20/1s", wrong: []string{
			"fixed-window,rate=19/1s", "fixed-window,rate=21/1s",
		}},
		"sliding log, overload": {scenario: "overload-10x", right: "sliding-window-log,rate=20/400ms",
			wrong: []string{
				"sliding-window-log,rate=19/400ms", "sliding-window-log,rate=21/400ms",
				"token-bucket,rate=50/s,burst=20",
			}},
		"sliding counter, burst": {scenario: "burst", right: "sliding-window-counter,rate=20/400ms",
			wrong: []string{
				"sliding-window-counter,rate=18/400ms", "sliding-window-counter,rate=22/400ms",
				"fixed-window,rate=20/400ms",
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.url, c.redis = "builtin", redis
			if r := c.judged(t); r.Store != "redis" {
				t.Errorf("got the store %q, want redis", r.Store)
			}
		})
	}
}
