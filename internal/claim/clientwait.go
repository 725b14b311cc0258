package claim

import (
	"fmt"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// timerSlack is how much too early a wait may end and still count as kept: the timers of clients are that
// coarse.
const timerSlack = 20 * time.Millisecond

// clock places dates in a recording: its wall time at the start, and the error of that.
type clock struct {
	started time.Time
	err     time.Duration
}

func clockOf(h *timeline.Header) clock { return clock{h.Started, h.WallError + h.ClockError} }

// clientWait is the time between a denial and the next try.
type clientWait struct {
	denial, retry *timeline.Observation
	// try is the number of the denial among the tries of its request, from 1.
	try int
	// told: the denial stated a wait, which is wait.
	told bool
	wait deadline
	// sure tells that the retry is a retry for certain, and was sent after the denial arrived.
	sure bool
}

// gap is how long the server saw the client wait: at least as long as the client did.
func (w *clientWait) gap() time.Duration { return w.retry.Sent - w.denial.FirstByte }

func (w *clientWait) length() time.Duration { return w.wait.due - w.denial.FirstByte }

// early is by how much the retry came too early. It is 0 or negative if it did not.
func (w *clientWait) early() time.Duration {
	if !w.told {
		return 0
	}
	return w.wait.due - timerSlack - w.retry.Sent
}

func (r *request) waits(c clock) []clientWait {
	var out []clientWait
	for i := 1; i < len(r.tries); i++ {
		d, next := r.tries[i-1], r.tries[i]
		if d.Outcome != timeline.Denied || !d.Answered || next.Sent < d.FirstByte {
			continue
		}
		w := clientWait{denial: d, retry: next, try: i}
		w.wait, w.told = c.told(d)
		// A request that was sent while the denial was under way is not a retry. That way is taken to be no
		// longer than the server needed for the denial.
		w.sure = r.sure && w.gap() > d.FirstByte-d.Sent
		out = append(out, w)
	}
	return out
}

// tallied counts the waits of one client, or of all.
type tallied struct{ kept, dates, early, doubtful, untold, unread int }

// tally counts the waits of a client, or of all clients for "".
func tally(waits []clientWait, client string) (n tallied) {
	for i := range waits {
		w := &waits[i]
		if w.wait.unread {
			n.unread++
		}
		switch {
		case client != "" && w.denial.Partition != client:
		case !w.told:
			n.untold++
		case w.early() > 0 && w.sure:
			n.early++
		case w.early() > 0:
			n.doubtful++
		default:
			n.kept++
			if w.wait.date {
				n.dates++
			}
		}
	}
	return n
}

// doubt says why early requests prove nothing.
func (n tallied) doubt() string {
	return fmt.Sprintf("%s before the time that a denial stated; it may be a retry or a new request "+
		"(send an Idempotency-Key with each request, or, if each request has its own URL, use "+
		"--same-request url)", came(n.doubtful))
}

func came(n int) string {
	if n == 1 {
		return "1 request with the same method and URL came"
	}
	return text.Thousands(n) + " requests with the same method and URL came"
}

func (s *session) kept() result.Claim {
	const id = string(result.ClaimClientWaits)
	n := tally(s.waits, "")
	words := fmt.Sprintf("kept %d of %s that denials stated", n.kept,
		text.Plural(n.kept+n.early+n.doubtful, "wait"))
	if n.dates > 0 {
		words += fmt.Sprintf(", %d of them dates", n.dates)
	}
	if n.untold > 0 {
		words += fmt.Sprintf("; %s where a denial stated none", text.Plural(n.untold, "wait"))
	}
	unread := ""
	if n.unread > 0 {
		unread = fmt.Sprintf("; %s had a Retry-After that no client can read, and its shortest reading "+
			"counts", text.Plural(n.unread, "denial"))
	}
	words += unread
	var found []result.Finding
	per := map[string]int{}
	for i := range s.waits {
		w := &s.waits[i]
		if w.early() <= 0 || !w.sure {
			continue
		}
		if per[w.denial.Partition]++; per[w.denial.Partition] <= findingsMax {
			found = append(found, w.finding())
		}
	}
	switch {
	case len(found) > 0: // the claim fails
	case n.doubtful > 0:
		return TooFew(id, words+"; "+n.doubt())
	case n.kept == 0:
		return TooFew(id, "no retry after a denial with a wait was seen"+unread)
	}
	return result.Settle(id, words, result.Of(n.kept+n.early, "retries after a stated wait"), found...)
}

// finding returns the proof that a retry came too early.
func (w *clientWait) finding() result.Finding {
	text := fmt.Sprintf("%s, #%d, came %s after denial #%d, which said %s: %s too early",
		url(w.retry), w.retry.Seq, text.Seconds(w.gap()), w.denial.Seq, w.wait.said,
		text.Seconds(w.wait.due-w.retry.Sent))
	f := finding(EarlyRetry, w.gap().Milliseconds(), w.length().Milliseconds(), text, w.denial, w.retry)
	if w.wait.date {
		f.Rule = "RA-ALL-DATES"
	}
	return f
}
