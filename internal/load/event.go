package load

import "time"

// event is a phase in which something happens to the target.
type event struct{ p *phase }

func (e event) run(begin time.Duration) time.Duration {
	r := e.p.r
	if !r.pause(begin) {
		return r.clock.now()
	}
	if err := r.o.Do(r.sending, e.p.plan.Event); err != nil && r.sending.Err() == nil {
		r.halt("stopped: " + e.p.plan.Name + ": " + plain(err.Error()))
	}
	return r.clock.now()
}
