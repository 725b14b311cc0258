package claim

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// deadline is the end of the wait that a denial states for its client.
type deadline struct {
	// due is when the wait is over, on the reading that is kindest to the client. date: a date says so.
	due  time.Duration
	date bool
	// said names it, with its field. unread: no client can read it by the rules.
	said   string
	unread bool
}

// told returns the wait that a denial states: that of Retry-After, or a shorter one in milliseconds. Where
// neither can be read, it is the shortest of what a wrong Retry-After, the resets of quotas and the body may
// mean. ok=false: nothing lies ahead.
func (c clock) told(d *timeline.Observation) (t deadline, ok bool) {
	value, has := d.Fields.Get("Retry-After")
	t = deadline{due: never, said: "Retry-After: " + value}
	ra, err := headers.ParseRetryAfter(value)
	if has && err == nil {
		t.due, t.date = c.dueOf(ra, d), ra.IsDate
	}
	if field, raw, w, ok := headers.MillisecondWait(d.Fields.Get); ok && d.FirstByte+w < t.due {
		t = deadline{due: d.FirstByte + w, said: field + ": " + raw}
	}
	if t.due < never {
		return t, t.due > d.FirstByte
	}
	if has {
		t.unread = true
		t.due = d.FirstByte + shortest(value)
	}
	if at, said := c.resets(d); t.due == d.FirstByte || at < t.due {
		t.due, t.said = at, said
	}
	if w, said := bodyWait(d); t.due == d.FirstByte || d.FirstByte+w < t.due {
		t.due, t.said = d.FirstByte+w, said
	}
	return t, t.due < never && t.due > d.FirstByte
}

// never is the end of a wait that is not known.
const never = time.Duration(1 << 61)

// dueOf returns when the wait of a Retry-After is over.
func (c clock) dueOf(ra headers.RetryAfter, d *timeline.Observation) time.Duration {
	if !ra.IsDate {
		return d.FirstByte + min(ra.Wait(time.Time{}), never-1-d.FirstByte)
	}
	return c.at(ra.Date, d)
}

// at returns when an instant that d states has come, on the clock of the recording or of its Date: whichever
// is earlier.
func (c clock) at(instant time.Time, d *timeline.Observation) time.Duration {
	due := never
	if !c.started.IsZero() {
		due = instant.Sub(c.started) - c.err
	}
	if sent, ok := Date(d); ok {
		due = min(due, d.FirstByte+instant.Sub(sent)) // Date is rounded down: never before the instant
		if c.started.IsZero() {
			due -= time.Second
		}
	}
	return due
}

// shortest returns the shortest wait that a Retry-After which breaks the rules may mean: that of the smallest
// number in it, cut to whole seconds. 0: it has none.
func shortest(value string) time.Duration {
	least := time.Duration(-1)
	for part := range strings.SplitSeq(value, ",") {
		part = strings.TrimSpace(part)
		digits := part[:len(part)-len(strings.TrimLeft(part, "0123456789"))]
		n, err := strconv.ParseInt(digits, 10, 32)
		if w := time.Duration(n) * time.Second; err == nil && (least < 0 || w < least) {
			least = w
		}
	}
	return max(0, least)
}

// resets returns the first reset ahead that the quotas of a denial state, and its name.
func (c clock) resets(d *timeline.Observation) (due time.Duration, said string) {
	due = never
	quotas, _ := headers.Quotas(d.Fields.Get, time.Time{})
	for _, q := range quotas {
		at := d.FirstByte + q.Reset
		if !q.HasReset && q.ResetAt.IsZero() {
			continue
		}
		if !q.Form.Relative() {
			at = c.at(q.ResetAt, d)
		}
		if at > d.FirstByte && at < due {
			due, said = at, fmt.Sprintf("reset (%s): %s", q.Dialect, Seconds(at-d.FirstByte,
				time.Millisecond))
		}
	}
	return due, said
}

// bodyWait returns the shortest wait that the body of a denial may mean, and its name. A number without a
// unit may count milliseconds.
func bodyWait(d *timeline.Observation) (w time.Duration, said string) {
	w = never
	members := headers.Members(d.Body)
	for _, name := range headers.BodyWaits {
		m, ok := members[name]
		n, isNumber := m.Number()
		if !ok || !isNumber || n <= 0 || n >= sinceEpoch {
			continue
		}
		if !m.InSeconds() {
			n /= 1000
		}
		if of := time.Duration(n * float64(time.Second)); of < w {
			w, said = of, fmt.Sprintf("%s: %s in its body", m.Name, m.Value)
		}
	}
	return w, said
}
