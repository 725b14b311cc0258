package claim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// The kinds of findings.
const (
	EarlyRetry   result.Kind = "early-retry"
	NoJitter     result.Kind = "no-jitter"
	ManyAttempts result.Kind = "too-many-attempts"
	OverBudget   result.Kind = "over-budget"
	Storm        result.Kind = "storm"
	NoWait       result.Kind = "no-wait"
	ShortBackoff result.Kind = "short-backoff"
	OpenBreaker  result.Kind = "open-breaker"
)

// ClientOptions are what is known about the clients. The zero value is usable.
type ClientOptions struct {
	// Same is what all tries of one request have in common: SameURL, or a recorded header field whose values
	// differ between requests. The default is Idempotency-Key where it was sent. If nothing tells a retry
	// from a new request, no client is accused: several threads of a client may send equal requests.
	Same string
	// MaxAttempts is the most tries of one request, the first included; 0 is not judged.
	MaxAttempts int
	// Budget is the most retries of all clients together, in percent of the first tries; 0 is not judged.
	Budget int
	// Backoff and Breaker are what the clients say of their waits.
	Backoff Backoff
	Breaker Breaker
}

// SameURL says that requests with the same method and URL are tries of one request.
const SameURL = "url"

// findingsMax is the most findings of a claim for one client. The texts give the full number.
const findingsMax = 5

// JudgeClients judges the clients of a recording. The partitions of the judgement are the clients that were
// denied, ascending by name. Its verdict is the worst verdict of the claims. A claim of which nothing was
// seen is Inconclusive, too-few.
func JudgeClients(tl *timeline.Timeline, o ClientOptions) (*result.Judgement, []result.Claim) {
	all := requestsOf(tl, o.Same)
	clock := clockOf(&tl.Header)
	var waits []clientWait
	for i := range all {
		waits = append(waits, all[i].waits(clock)...)
	}
	s := &session{tl: tl, opts: o, requests: all, waits: waits}
	claims := []result.Claim{s.kept(), s.jitter()}
	if c, judged := s.storm(); judged {
		claims = append(claims, c)
	}
	if c, judged := s.backoff(); judged {
		claims = append(claims, c)
	}
	if o.Breaker != (Breaker{}) {
		claims = append(claims, s.breaker())
	}
	if o.MaxAttempts > 0 {
		claims = append(claims, s.attempts())
	}
	if o.Budget > 0 {
		claims = append(claims, s.budget())
	}
	for i := range claims {
		claims[i].Kind = result.KindOf(claims[i].ID)
	}
	return s.judgement(claims), claims
}

// session is one recording while it is judged.
type session struct {
	tl       *timeline.Timeline
	opts     ClientOptions
	requests []request
	waits    []clientWait
}

// judgement sums up the claims, overall and for each client that was denied.
func (s *session) judgement(claims []result.Claim) *result.Judgement {
	j := &result.Judgement{Verdict: result.Pass}
	for _, c := range claims {
		j.Verdict = result.Worst(j.Verdict, c.Verdict)
		if c.Verdict == result.Inconclusive && j.Reason == "" {
			j.Reason, j.Detail = c.Reason, string(c.Kind)+": "+c.Text
		}
	}
	if j.Verdict != result.Inconclusive {
		j.Reason, j.Detail = "", ""
	}
	for _, name := range s.denied() {
		j.Partitions = append(j.Partitions, s.partition(name, claims))
	}
	return j
}

// denied returns the clients that were denied, ascending.
func (s *session) denied() []string {
	out := map[string]bool{}
	for i := range s.tl.Observations {
		if o := &s.tl.Observations[i]; o.Outcome == timeline.Denied {
			out[o.Partition] = true
		}
	}
	return slices.Sorted(maps.Keys(out))
}

// partition returns the verdict on one client, from its findings and from the waits that it kept.
func (s *session) partition(name string, claims []result.Claim) result.PartitionVerdict {
	p := result.PartitionVerdict{Partition: name, Verdict: result.Pass}
	for _, c := range claims {
		for _, f := range c.Findings {
			if f.Partition == name {
				p.Findings = append(p.Findings, f)
				p.Verdict = result.Fail
			}
		}
	}
	n := tally(s.waits, name)
	p.Judged = n.kept + n.early
	switch {
	case p.Verdict == result.Fail:
	case n.doubtful > 0:
		p.Verdict, p.Reason, p.Detail = result.Inconclusive, result.TooFew, n.doubt()
	case n.kept == 0:
		p.Verdict, p.Reason = result.Inconclusive, result.TooFew
		p.Detail = "it was denied, and no retry after a denial with a wait was seen"
	}
	return p
}

// finding returns a finding with the observations that prove it, ascending by Seq. Its partition is "" if
// they have several.
func finding(kind result.Kind, seen, bound int64, text string, of ...*timeline.Observation) result.Finding {
	f := result.Finding{Kind: kind, Seen: seen, Bound: bound, Text: text, Partition: of[0].Partition,
		From: of[0].Sent}
	for _, o := range of {
		if o.Partition != f.Partition {
			f.Partition = ""
		}
		f.From, f.To = min(f.From, o.Sent), max(f.To, o.Sent)
		f.Observations = append(f.Observations, o.Seq)
	}
	slices.Sort(f.Observations)
	return f
}

// ClientSummary counts requests and retries in a sentence, and says how retries were recognised.
func ClientSummary(tl *timeline.Timeline, o ClientOptions) string {
	retries, most := 0, 1
	clients, by := map[string]bool{}, map[string]bool{}
	all := requestsOf(tl, o.Same)
	for i := range all {
		r := &all[i]
		retries, most = retries+len(r.tries)-1, max(most, len(r.tries))
		clients[r.client] = true
		if len(r.tries) > 1 {
			by[r.by] = true
		}
	}
	text := fmt.Sprintf("%s of %s, %d further tries, at most %d of one request",
		text.Plural(len(all), "request"), text.Plural(len(clients), "client"), retries, most-1)
	if retries > 0 {
		text += "; a retry has the same " + strings.Join(slices.Sorted(maps.Keys(by)), ", or the same ")
	}
	return text
}

// request is one request of a client, with its tries in order of arrival.
type request struct {
	client string
	// by says what its tries have in common.
	by string
	// sure tells that all tries belong to one request. Otherwise a later one may be another request.
	sure  bool
	tries []*timeline.Observation
}

// requestsOf divides a recording into requests, in the order of their first tries.
func requestsOf(tl *timeline.Timeline, same string) []request {
	var all []request
	at := map[[3]string]int{}
	for i := range tl.Observations {
		o := &tl.Observations[i]
		by, name, sure := identity(o, same)
		key := [3]string{o.Partition, by, name}
		n, known := at[key]
		if known && !sure && last(&all[n]).Outcome == timeline.Allowed {
			known = false // an admitted request is not tried again
		}
		if !known {
			n, at[key] = len(all), len(all)
			all = append(all, request{client: o.Partition, by: by, sure: sure})
		}
		all[n].tries = append(all[n].tries, o)
	}
	return all
}

func last(r *request) *timeline.Observation { return r.tries[len(r.tries)-1] }

// identity returns what distinguishes a request from others of its client, and its value. sure tells whether
// equal values mean the same request for certain.
func identity(o *timeline.Observation, same string) (by, name string, sure bool) {
	const methodAndURL = "method and URL"
	switch same {
	case SameURL:
		return methodAndURL + " (as declared)", url(o), true
	case "":
		if key := idempotency(o); key != "" {
			return "Idempotency-Key", key, true
		}
	default:
		if v, ok := o.Fields.Get(same); ok {
			return same, v, true
		}
	}
	return methodAndURL + " (it may be a new request, which accuses nobody)", url(o), false
}

// url returns the method and URL of a request. In a recording without them it returns the phase.
func url(o *timeline.Observation) string {
	method, _ := o.Fields.Get(":method")
	path, ok := o.Fields.Get(":path")
	if !ok {
		return o.Phase
	}
	return method + " " + path
}

// idempotency returns the key by which a client names a request; "" if it has none.
func idempotency(o *timeline.Observation) string {
	v, _ := o.Fields.Get("Idempotency-Key")
	w, _ := o.Fields.Get("X-Idempotency-Key")
	return cmp.Or(v, w)
}

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
