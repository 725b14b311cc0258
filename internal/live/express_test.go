package live

import (
	"testing"
	"time"
)

// The memory store of express-rate-limit 8 keeps a count and a reset time for each key. The reset is one
// window after the request that found none. It counts denied requests too, which changes nothing in a window
// that is used up.
func TestExpressRateLimitIsAFixedWindowFromTheFirstRequest(t *testing.T) {
	t.Parallel()
	url := node(t, "express-rate-limit", 10, 400*time.Millisecond)
	const right = "express:windowMs=400,limit=10"
	for name, c := range map[string]trial{
		"burst": {scenario: "burst", url: url, right: right, wrong: []string{
			"fixed-window,rate=9/400ms,align=first", "fixed-window,rate=11/400ms,align=first",
		}},
		"steady": {scenario: "sustained", url: url, right: right, wrong: []string{
			"fixed-window,rate=9/400ms,align=first", "fixed-window,rate=11/400ms,align=first",
			"fixed-window,rate=10/320ms,align=first", "fixed-window,rate=10/480ms,align=first",
			"token-bucket,rate=10/400ms,burst=10", "sliding-window-log,rate=10/400ms",
			"sliding-window-counter,rate=10/400ms,align=first",
		}},
		"ten times its rate": {scenario: "overload-10x", url: url, right: right, wrong: []string{
			"fixed-window,rate=9/400ms,align=first", "fixed-window,rate=11/400ms,align=first",
			"fixed-window,rate=10/320ms,align=first", "fixed-window,rate=10/480ms,align=first",
			"token-bucket,rate=10/400ms,burst=10", "sliding-window-counter,rate=10/400ms,align=first",
		}},
		"the boundary of a window": {scenario: "boundary-double-burst", url: url, right: right,
			wrong: []string{
				"fixed-window,rate=9/400ms,align=first", "fixed-window,rate=11/400ms,align=first",
				"token-bucket,rate=10/400ms,burst=10", "sliding-window-log,rate=10/400ms",
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.judged(t)
		})
	}
}
