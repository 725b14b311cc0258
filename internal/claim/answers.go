package claim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// judgeAnswers judges that the answers of a phase have one of the expected statuses, whatever they mean for
// the limit. If the target stops answering in that phase, no answer has one.
func judgeAnswers(r *Recording, b AnswerBound) result.Claim {
	id := result.ClaimAnswers.ID(b.Phase)
	asked := r.sent(b.Phase)
	answered := Only(asked, func(o *timeline.Observation) bool { return o.Answered })
	lost := Only(asked, func(o *timeline.Observation) bool { return !o.Answered })
	s, bad := statuses(answered, "answer", " of phase "+text.Quote(b.Phase), b.Status,
		result.AnsweredOtherwise)
	chances := result.Of(len(answered), "answers of phase "+text.Quote(b.Phase)+" whose status was read")
	switch {
	case bad != nil:
		return result.Settle(id, s, chances, bad...)
	case r.wentSilent(b.Phase, len(answered), lost):
		s = fmt.Sprintf("%d of %s of phase %s got no answer (%s), expected is status %s", len(lost),
			text.Plural(len(answered)+len(lost), "request"), text.Quote(b.Phase), lost[0].Error,
			OneOf(b.Status))
		return result.Settle(id, s, chances, Count(result.Unanswered, lost,
			s+", and all earlier requests were answered: "+Seqs(lost)))
	case len(lost) > 0 && len(answered) > 0:
		return TooFew(id, fmt.Sprintf("%s; %s not answered (%s)", s,
			text.Plural(len(lost), "request"), lost[0].Error))
	default:
		return result.Settle(id, s, chances)
	}
}

// statuses says how many of obs have one of the expected statuses, and returns the finding of those that do
// not, if there are any. noun names one of obs, and of says which they are.
func statuses(obs []*timeline.Observation, noun, of string, expected []int, kind result.Kind) (says string,
	found []result.Finding) {
	bad := Only(obs, func(o *timeline.Observation) bool { return !slices.Contains(expected, o.Status) })
	all := text.Plural(len(obs), noun) + of
	if len(bad) > 0 {
		found = []result.Finding{Count(kind, bad, fmt.Sprintf("%d of %s have status %s, expected is %s: %s",
			len(bad), all, OneOf(Statuses(bad)), OneOf(expected), Seqs(bad)))}
	}
	return fmt.Sprintf("%d of %s have status %s", len(obs)-len(bad), all, OneOf(expected)), found
}

// wentSilent tells whether a target stopped answering in a phase. At least half of its requests got no
// answer, although every earlier request was answered in time. Fewer requests may be lost on their way. A
// recorder that is late may be too busy to read. Requests that could not be sent to the target prove nothing
// about it.
func (r *Recording) wentSilent(phase string, answered int, lost []*timeline.Observation) bool {
	if len(lost) == 0 || len(lost) < answered || r.overloaded() != "" || slices.ContainsFunc(lost, ours) {
		return false
	}
	before := 0
	for i := range r.Observations {
		o := &r.Observations[i]
		if o.Phase == phase {
			return before > 0
		}
		if o.Origin {
			continue
		}
		if !o.Answered {
			return false
		}
		before++
	}
	return false
}

// ours tells whether a request got no answer for a reason that proves nothing about the target: the recording
// was stopped, or the way to it was barred or lost.
func ours(o *timeline.Observation) bool {
	return !timeline.NoAnswer(o.Error) && o.Error != "refused"
}

// Unheard returns the claim that fails a target which leaves unanswered exactly those requests of tl that
// limit denies.
func Unheard(tl *timeline.Timeline, limit string) result.Claim {
	var lost []*timeline.Observation
	for i := range tl.Observations {
		if o := &tl.Observations[i]; !o.Answered && !o.Origin {
			lost = append(lost, o)
		}
	}
	text := fmt.Sprintf("%d of %s got no answer (%s): exactly the requests that %s denies, and no "+
		"answer was a denial",
		len(lost), text.Plural(len(tl.Observations), "request"), lost[0].Error, limit)
	chances := result.Of(len(lost), "requests that the limit denies")
	c := result.Settle(string(result.ClaimAnswered), text, chances, Count(result.Unanswered, lost,
		text+": "+Seqs(lost)+"; if the target does that on purpose, declare denied: "+
			"{unanswered: true} (--set denied.unanswered=true)"))
	c.Kind = result.ClaimAnswered
	return c
}

const deniedStatusID = string(result.ClaimDeniedStatus)

// judgeDeniedStatus judges that every denial has one of the expected statuses. It leaves out denials without
// a status, which recordings of other tools may have.
func judgeDeniedStatus(r *Recording) result.Claim {
	obs := Only(Denied(r.Target), func(o *timeline.Observation) bool { return o.Status != 0 })
	if c, ok := r.Unheard(deniedStatusID); ok {
		return c
	}
	s, bad := statuses(obs, "denial", "", r.DeniedStatus, result.DeniedStatus)
	return result.Settle(deniedStatusID, s, result.Of(len(obs), "denials whose status was read"), bad...)
}

// judgeBarred judges that nothing of a phase was admitted, since its clients have a limit of nothing. Any
// other answer is no admission.
func judgeBarred(r *Recording, phase string) result.Claim {
	id := result.ClaimBarred.ID(phase)
	asked := r.sent(phase)
	lost := Only(asked, func(o *timeline.Observation) bool { return !o.Answered })
	admitted := Only(asked,
		func(o *timeline.Observation) bool { return o.Answered && o.Outcome == timeline.Allowed })
	s := fmt.Sprintf("%d of %s of phase %s were admitted, expected none", len(admitted),
		text.Plural(len(asked), "request"), text.Quote(phase))
	chances := result.Of(len(asked)-len(lost),
		"answers of phase "+text.Quote(phase)+", whose clients have no quota")
	switch {
	case len(admitted) > 0:
		return result.Settle(id, s, chances,
			Count(result.AdmittedBarred, admitted, s+": "+Seqs(admitted)))
	case len(lost) > 0:
		return TooFew(id, fmt.Sprintf("%s; %s not answered", s, text.Plural(len(lost), "request")))
	default:
		return result.Settle(id, s, chances)
	}
}

// judgeParity judges that the answers of one phase have the fields and statuses of another phase, as HEAD has
// those of GET (RFC 9110 section 9.3.2). What all answers of one outcome have in the other phase is expected
// of each answer in this one. Fields about the content, or about caches on the way, are not compared.
func judgeParity(r *Recording, e ParityExpect) result.Claim {
	id := result.ClaimParity.ID(e.Phase)
	var findings []result.Finding
	var names []string
	judged, asked, outcomes := 0, 0, 0
	for _, outcome := range []timeline.Outcome{timeline.Allowed, timeline.Denied} {
		of := func(phase string) []*timeline.Observation {
			return Only(r.Target, func(o *timeline.Observation) bool {
				return o.Phase == phase &&
					o.Outcome == outcome
			})
		}
		like, mine := of(e.Like), of(e.Phase)
		if len(like) == 0 {
			continue
		}
		if asked++; len(mine) == 0 {
			continue
		}
		judged, outcomes = judged+len(mine), outcomes+1
		for _, name := range common(like) {
			lacks := Only(mine, func(o *timeline.Observation) bool {
				_, ok := o.Fields.Get(name)
				return !ok
			})
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
			if len(lacks) > 0 {
				findings = append(findings, Count(result.FieldMissing, lacks,
					fmt.Sprintf("%s is in all %s of phase %s to %s requests (#%d), but missing in %d "+
						"of %d of phase %s: %s",
						name, text.Plural(len(like), "answer"), text.Quote(e.Like),
						outcome, like[0].Seq, len(lacks), len(mine), text.Quote(e.Phase),
						Seqs(lacks))))
			}
		}
		known := Statuses(like)
		if bad := Only(mine,
			func(o *timeline.Observation) bool { return !slices.Contains(known, o.Status) }); len(bad) > 0 {
			findings = append(findings, Count(result.AnsweredOtherwise, bad,
				fmt.Sprintf("%s requests of phase %s are answered %s, those of phase %s %s: %s", outcome,
					text.Quote(e.Like), OneOf(known), text.Quote(e.Phase),
					OneOf(Statuses(bad)), Seqs(bad))))
		}
	}
	slices.Sort(names)
	of := fmt.Sprintf("outcomes that both phase %s and phase %s have", text.Quote(e.Phase),
		text.Quote(e.Like))
	return result.Settle(id, fmt.Sprintf("%s of phase %s have what those of phase %s have: status, %s",
		text.Plural(judged, "answer"), text.Quote(e.Phase), text.Quote(e.Like),
		strings.Join(names, ", ")), result.Chances{Seen: outcomes, Demanded: asked, Of: of}, findings...)
}

// common returns the fields that all of obs have and that are not about the content, ascending.
func common(obs []*timeline.Observation) []string {
	var names []string
	for _, f := range obs[0].Fields {
		all := !slices.ContainsFunc(obs,
			func(o *timeline.Observation) bool { _, ok := o.Fields.Get(f.Name); return !ok })
		if all && !slices.Contains([]string{"Content-Type", "Via", "Age", "Expires"}, f.Name) {
			names = append(names, f.Name)
		}
	}
	return names
}

// judgeDenials judges that a phase has no more denials than its bound. Requests that were sent late, or
// decided late on a busy machine, come closer together than planned. So more denials are nobody's fault if a
// request of the phase was late. They are also nobody's fault if the limit explains them at some possible
// decision times.
func judgeDenials(r *Recording, b DenialBound) result.Claim {
	if b.Unlimited {
		return r.countedDenials(b)
	}
	return r.Alone(r.countedDenials(b))
}

// countedDenials is denials for partitions that nobody else uses.
func (r *Recording) countedDenials(b DenialBound) result.Claim {
	id := result.ClaimDenials.ID(b.Phase)
	var unclassified, unanswered int
	var denials []*timeline.Observation
	late, asked := time.Duration(0), r.sent(b.Phase)
	all := len(asked)
	for _, o := range asked {
		late = max(late, lateness(o))
		switch {
		case IsDenial(o):
			denials = append(denials, o)
		case !o.Answered:
			unanswered++
		case o.Outcome == timeline.Unknown:
			unclassified++
		}
	}
	s := fmt.Sprintf("%d of %s of phase %s were denied, expected at most %d", len(denials),
		text.Plural(all, "request"), text.Quote(b.Phase), b.Max)
	chances := result.Of(max(0, all-unanswered-unclassified-b.Max),
		fmt.Sprintf("decisions of phase %s beyond %d", text.Quote(b.Phase), b.Max))
	inconclusive := func(reason result.Reason, text string) result.Claim {
		return result.Claim{ID: id, Reason: reason, Text: text}
	}
	switch {
	case len(denials) > b.Max && late > r.latest() && !b.Unlimited:
		return inconclusive(result.ScheduleMissed,
			fmt.Sprintf("%s; but one was sent %s late, so they came closer together than planned", s,
				Millis(late)))
	case len(denials) > b.Max && !b.Unlimited && r.explained(denials):
		return inconclusive(result.ScheduleMissed,
			s+"; but they may have been decided so close together that the limit denies them")
	case len(denials) > b.Max:
		kind := result.DeniedInPhase
		if b.Unlimited {
			kind = result.DeniedUnlimited
		}
		return result.Settle(id, s, chances, Witness(result.Finding{Kind: kind,
			Seen:  int64(len(denials)),
			Bound: int64(b.Max), Text: s + ": " + Seqs(denials)}, denials...))
	case len(denials)+unclassified+unanswered <= b.Max:
		return result.Settle(id, s, chances)
	case unclassified > 0:
		return inconclusive(result.UnclassifiedStatus,
			fmt.Sprintf("%s; %s a status that no rule classifies", s, have(unclassified, "answer")))
	default:
		return inconclusive(result.TooFew,
			fmt.Sprintf("%s; %s had no answer", s, text.Plural(unanswered, "request")))
	}
}

// explained tells whether the denials of one phase, at least one, may be right under its limit: no proof was
// found that one of them is wrong. It reads all requests of their partitions that this limit counts.
func (r *Recording) explained(denials []*timeline.Observation) bool {
	limit := r.LimitOf(denials[0])
	if len(limit) == 0 {
		return false
	}
	concerned := map[string]bool{}
	for _, o := range denials {
		concerned[o.Partition] = true
	}
	tl := &timeline.Timeline{Header: r.Header}
	for i := range r.Observations {
		if o := &r.Observations[i]; concerned[o.Partition] && slices.Equal(r.LimitOf(o), limit) {
			tl.Observations = append(tl.Observations, *o)
		}
	}
	j, err := check.Judge(tl, limit, check.Options{SkipMeasure: true})
	if err != nil {
		return true // what cannot be judged accuses nobody
	}
	for _, p := range j.Partitions {
		for _, f := range p.Findings {
			if concerned[p.Partition] && f.Kind != result.OverAdmission {
				return false
			}
		}
	}
	return true
}

// have prints 1 answer has, 2 answers have.
func have(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " has"
	}
	return text.Plural(n, noun) + " have"
}

// judgeErrors judges that at most so many requests had neither an admission nor a denial for an answer: a
// status that is neither, or no answer from a target that was reached. Requests that did not reach the target
// accuse nobody. Neither do answers that a busy recorder may have missed.
func judgeErrors(r *Recording, most int) result.Claim {
	id := result.ClaimSLO.ID("errors")
	sent, unread := 0, 0
	var bad []*timeline.Observation
	for i := range r.Observations {
		o := &r.Observations[i]
		if o.Origin {
			continue
		}
		sent++
		switch {
		case o.Outcome != timeline.Unknown:
		case o.Answered, !ours(o) && r.overloaded() == "":
			bad = append(bad, o)
		default:
			unread++
		}
	}
	s := fmt.Sprintf("%s of %s had an error, bound %s", text.Thousands(len(bad)),
		text.Plural(sent, "request"), text.Thousands(most))
	chances := result.Of(sent, "requests that were sent")
	switch {
	case len(bad) > most:
		finding := Count(result.Errors, bad, s+": "+Seqs(bad))
		finding.Bound = int64(most)
		return result.Settle(id, s, chances, finding)
	case len(bad)+unread > most:
		return TooFew(id, fmt.Sprintf("%s; %s did not reach the target, or rlcheck was too late to read the "+
			"answer", s, text.Plural(unread, "more request")))
	}
	return result.Settle(id, s, chances)
}

// judgeOwnCount compares the denials that the target counted with the denials that it sent, between each two
// counts. It may or may not have counted a request without an answer, or with an answer that no rule
// classifies. A higher count may include the denials of others.
func judgeOwnCount(r *Recording) result.Claim {
	const id = string(result.ClaimOwnCount)
	counts := r.Header.Counted
	var found []result.Finding
	total, counted, more := 0, int64(0), int64(0)
	for i, phases := range r.Counted {
		if i+1 >= len(counts) {
			return TooFew(id, fmt.Sprintf("the target reported its count %d of %d times", len(counts),
				len(r.Counted)+1))
		}
		n := counts[i+1] - counts[i]
		if n < 0 {
			return TooFew(id, fmt.Sprintf("the target's count fell from %d to %d: it was reset",
				counts[i], counts[i+1]))
		}
		denials, doubtful := r.deniedIn(phases)
		total, counted = total+len(denials), counted+n
		if over := n - int64(len(denials)+doubtful); over > 0 {
			more += over
		}
		if n < int64(len(denials)) {
			text := fmt.Sprintf("the target counted %d of %s (its count went from %d to %d)", n,
				text.Plural(len(denials), "denial"), counts[i], counts[i+1])
			found = append(found, Witness(result.Finding{Kind: result.CountedOtherwise,
				Seen: int64(len(denials)), Bound: n, Text: text}, denials...))
		}
	}
	text := fmt.Sprintf("the target counted %d of %s", counted, text.Plural(total, "denial"))
	if len(found) == 0 && more > 0 {
		return result.Claim{ID: id, Reason: result.ForeignTraffic, Text: fmt.Sprintf("%s, %d more than it "+
			"answered to us: others were denied too, or it counts twice", text, more)}
	}
	return result.Settle(id, text, result.Of(total, "denials between two counts of the target"), found...)
}

// deniedIn returns the denials of some phases, and how many other requests of these phases may be denials.
func (r *Recording) deniedIn(phases []string) (denials []*timeline.Observation, doubtful int) {
	for _, o := range r.sent(phases...) {
		switch {
		case IsDenial(o):
			denials = append(denials, o)
		case !o.Answered || o.Outcome == timeline.Unknown:
			doubtful++
		}
	}
	return denials, doubtful
}

// herdWidth is how close together the requests of a herd are.
const herdWidth = 10 * time.Millisecond

// judgeStorm says what the retries of a phase cost: how many requests were in vain, how long it took until
// each client was admitted, and how many came at once. If the phase must drain, clients that were never
// admitted are a failure if one of their denials was wrong. A client that waits too long, or gives up, is not
// the limiter's fault.
func judgeStorm(r *Recording, e StormExpect) result.Claim { return r.Alone(r.retried(e)) }

// retried is storm for partitions that nobody else uses.
func (r *Recording) retried(e StormExpect) result.Claim {
	id := result.ClaimStorm.ID(e.Phase)
	obs := Only(r.Target, func(o *timeline.Observation) bool { return o.Phase == e.Phase })
	admitted := Only(obs, func(o *timeline.Observation) bool { return o.Outcome == timeline.Allowed })
	refused := Denied(obs)
	chances := result.Of(len(refused),
		"denials of phase "+text.Quote(e.Phase)+", after which clients retried")
	s := fmt.Sprintf("%d of %s admitted with %s, %d in vain", len(admitted),
		text.Plural(e.Clients, "client"), text.Plural(len(obs), "request"), len(refused))
	if len(admitted) > 0 {
		s += ", the last after " + Seconds(admitted[len(admitted)-1].FirstByte-obs[0].Sent,
			time.Millisecond)
	}
	s += fmt.Sprintf("; after the first, at most %d came within %s", herd(obs[min(e.Clients, len(obs)):]),
		Millis(herdWidth))
	left := e.Clients - len(admitted)
	switch {
	case !e.Drained || left <= 0, len(refused) == 0:
		return result.Settle(id, s, chances)
	case r.Header.Interrupted:
		return result.Claim{ID: id, Reason: result.Interrupted,
			Text: s + "; but the recording stopped before its plan was done"}
	case r.overloaded() != "":
		return result.Claim{ID: id, Reason: result.ScheduleMissed, Text: s + "; but " + r.overloaded()}
	case r.explained(refused):
		return TooFew(id, s+
			"; but the limit explains all of them: the clients did not come when there was room")
	default:
		last := refused[len(refused)-1]
		return result.Settle(id, s, chances, Witness(result.Finding{Kind: result.NotDrained,
			Seen: int64(left),
			Text: fmt.Sprintf("%s never admitted; the last denial is #%d", text.Plural(left, "client"),
				last.Seq)},
			refused[max(0, len(refused)-MostFindings):]...))
	}
}

// herd returns the most requests of obs, ascending by Sent, that were sent within herdWidth.
func herd(obs []*timeline.Observation) int {
	most, from := 0, 0
	for i := range obs {
		for obs[i].Sent-obs[from].Sent > herdWidth {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}
