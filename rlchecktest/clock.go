package rlchecktest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/rlcheck/rlcheck"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// mostReal is the longest real time that a look at the clock of a limiter takes.
const mostReal = 3 * time.Second

// otherClock tells that the limiter seems to read a clock that is not virtual, such as one that a goroutine
// outside of the bubble keeps, or one of the kernel, or runtime.nanotime by a linkname. It would then stand
// still while virtual hours pass. Empty: it comes back in virtual time, or not in real time either. A client
// uses up its quota and comes back:
//
//	virtual time passes: admitted -> ""
//	                     denied   -> a goroutine is outside, and the handler was built there, or
//	                                 real time passes: admitted -> its clock is real
//	                                                   denied   -> a goroutine is outside, or "", a fault
func (c *config) otherClock(h http.Handler) string {
	mark, ok := marker(c.partition)
	quota, fits := raceQuota(c.limit)
	if !ok || !fits || c.denial.byContent() {
		return c.outside()
	}
	asks := make([]ask, quota+3)
	for i := range asks {
		asks[i] = ask{r: c.request(), w: httptest.NewRecorder()}
		mark(asks[i].r, "198.51.100.77")
	}
	denied := func(part []ask) bool {
		all := c.sendAll(h, part, len(part), "")
		return all[len(all)-1].Outcome == rlcheck.Denied
	}
	var back time.Duration
	policies, _ := spec.Parse(c.limit.String()) // it was parsed before
	for _, p := range policies {
		back = max(back, 2*p.UntilRoom(1))
	}
	if !denied(asks[:quota+1]) {
		return c.outside()
	}
	if time.Sleep(2 * back); !denied(asks[quota+1 : quota+2]) {
		return ""
	}
	why := c.outside()
	if why != "" && c.before {
		return why
	}
	const reads = "the limiter reads a clock that is not virtual, such as runtime.nanotime or one that a " +
		"goroutine of the whole process keeps: a bubble cannot move it (serve the handler with " +
		"httptest.NewServer, and test that with rlchecktest.URL)"
	if back > mostReal {
		return fmt.Sprintf("a client has no quota after %s of virtual time: either it never has, or %s",
			2*back, reads)
	}
	c.real(back)
	if denied(asks[quota+2:]) {
		return why
	}
	return reads
}
