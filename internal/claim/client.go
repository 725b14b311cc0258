package claim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

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
