package headers

import "time"

// skewFrom is how far a Date may be from our clock, beyond its own second. Farther away, the two clocks count
// as different.
const skewFrom = time.Second

// AnnouncedReset returns when an answer says that quota comes back. wait is counted from received, the wall
// time at which the answer arrived, and is never negative. unit is how far the true instant may be from it in
// either direction, because of the notation. ok is false if the answer announces nothing, or an instant that
// is past.
//
// Of several announcements the finest counts. Of equally fine ones the order is RateLimit, RateLimit-Reset,
// X-RateLimit-Reset, Retry-After. Of several policies the one with the least remaining counts. An instant is
// taken on our clock, which is finer than a Date. It is taken on the clock of the Date field if that is more
// than a second off ours.
func AnnouncedReset(get func(name string) (string, bool), received time.Time) (wait, unit time.Duration,
	ok bool) {
	base, slack := received, time.Duration(0)
	if v, has := get("Date"); has {
		if date, err := ParseDate(v); err == nil {
			base, slack = answerClock(date, received)
		}
	}
	quotas, _ := Quotas(get, base)
	var best *Quota
	for i := len(quotas) - 1; i >= 0; i-- {
		q := &quotas[i]
		if q.HasReset && q.Reset > -resolution(q, slack) && (best == nil || better(q, best)) {
			best = q
		}
	}
	if best != nil {
		return max(0, best.Reset), resolution(best, slack), true
	}
	v, has := get("Retry-After")
	if !has {
		return 0, 0, false
	}
	ra, err := ParseRetryAfter(v)
	if err != nil || ra.Past(base) {
		return 0, 0, false
	}
	return ra.Wait(base), time.Second + slack, true
}

// answerClock returns the instant from which absolute announcements count, and how far off that may be.
func answerClock(date, received time.Time) (base time.Time, slack time.Duration) {
	if age := received.Sub(date); age >= -skewFrom && age < time.Second+skewFrom {
		return received, 0
	}
	// The Date is cut to the second. Its middle is off by at most half a second.
	return date.Add(time.Second / 2), time.Second / 2
}

// resolution is how far from the truth a reset may be: by its notation, and for an instant also by the
// clocks.
func resolution(q *Quota, slack time.Duration) time.Duration {
	if q.Form.Relative() {
		return q.Unit
	}
	return q.Unit + slack
}

// better tells whether a says more than b. b comes later in the order of the dialects.
func better(a, b *Quota) bool {
	if a.Unit != b.Unit {
		return a.Unit < b.Unit
	}
	if a.Dialect != b.Dialect || a.HasRemaining != b.HasRemaining {
		return false
	}
	return a.Remaining <= b.Remaining
}
