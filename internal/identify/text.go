package identify

import (
	"fmt"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/text"
)

// About is what an answer needs beside the Result.
type About struct {
	// Target is the URL as it is shown; Partition is the value of --partition.
	Target, Partition string
	// Recording is the path of the recording.
	Recording string
	// Again is the command line that asks again. Run returns the command line of a run whose clients differ
	// in a partition; nil where there is none. Both can be pasted once the budget or the limit is appended.
	Again string
	Run   func(partition string) string
	// OwnRate tells that Again sets its own rate, so a faster one is not suggested.
	OwnRate bool
	Budget  Budget
}

// Budget is what may be sent: at most MaxRequests, at least Every apart, within MaxTime. All are above 0.
type Budget struct {
	MaxRequests int
	Every       time.Duration
	MaxTime     time.Duration
}

// Text is the answer for people: a sentence first, then the SPEC, what stands beside it, and what was not
// asked.
func (r *Result) Text(a About) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	switch r.Verdict {
	case Identified:
		line("IDENTIFIED  %s.", r.Found[0].Sentence())
		line("  SPEC: %s", r.Found[0].Limit)
	case None:
		line("NOT ONE OF THESE  no limit that was asked explains all answers: it is something else")
	default:
		for _, text := range r.open() {
			line("%s", text)
		}
	}
	for _, c := range r.Gone {
		line("  %s does not explain it; the nearest such limit is %s", c.Text, c.Limit)
		line("    %s", c.Against)
	}
	if len(r.Found) > 0 && len(r.Found[0].Class) > 1 {
		line("  cannot be told apart from outside: %s", strings.Join(text.Words(r.Found[0].Class), ", "))
	}
	if len(r.Out) > 0 && r.Verdict != None {
		line("  asked, and out: %s", strings.Join(r.Out, "; "))
	}
	if len(r.Found)+len(r.Gone) > 0 {
		line("  not asked: %s", notSought)
	}
	for _, text := range Told(r.Timeline) {
		line("  told, not measured: %s", text)
	}
	for _, text := range r.Also {
		line("  stated, but not tested: %s", text)
	}
	if r.Sharper != nil {
		line("  %s", r.Sharper.Sentence())
	}
	if len(r.Found) > 0 {
		line("  %s", r.unseen().sentence())
	}
	if r.Under != "" {
		line("  %s", r.Under)
	}
	if r.Next != "" {
		line("  this would tell more: %s", r.Next)
	}
	if r.Clients != nil {
		for _, text := range r.Clients.Lines() {
			line("  %s", text)
		}
	}
	return b.String() + r.ending(a)
}

// open returns the lines on what stands, where nothing is named.
func (r *Result) open() []string {
	if len(r.Found) == 0 {
		return append([]string{"OPEN  " + r.Stopped}, r.wide()...)
	}
	s := "OPEN  Most likely " + r.Found[0].Sentence()
	if n := len(r.Found) - 1 + len(r.Wide); n > 0 {
		s += fmt.Sprintf("; not excluded: %s", text.Plural(n, "other kind"))
	}
	out, width := []string{s + ".", "  why: " + r.Stopped}, 0
	for _, c := range r.Found {
		width = max(width, min(len(c.Limit.String()), widest))
	}
	out = append(out, "  what is left:")
	for _, c := range r.Found {
		out = append(out, fmt.Sprintf("    %-*s  %s", width, c.Limit, c.Worth()))
	}
	return append(out, r.wide()...)
}

// wide says of which kinds hardly anything was measured.
func (r *Result) wide() []string {
	if len(r.Wide) == 0 {
		return nil
	}
	return []string{"  not excluded, and hardly measured: " + strings.Join(r.Wide, "; ")}
}

// widest is the widest SPEC that shifts the column of what was measured.
const widest = 60

// ending returns the lines on what was used and what comes next.
func (r *Result) ending(a About) string {
	counts := r.Timeline.Counts()
	trip := "" // not measured without an answer
	if counts.Allowed+counts.Denied > 0 {
		trip = "; answers take " + text.Brief(r.Trip)
	}
	s := fmt.Sprintf("recorded %d allowed, %d denied, %d unknown%s\n", counts.Allowed, counts.Denied,
		counts.Unknown, trip)
	if r.Recorded {
		s = fmt.Sprintf("  read %s, sent none; ", text.Plural(counts.Sent, "request")) + s
	} else {
		s = fmt.Sprintf("  used %d of %d requests%s, %s of %s; ", r.Sent(), a.Budget.MaxRequests,
			r.aside(), text.Brief(r.Used), text.Short(a.Budget.MaxTime)) + s
	}
	switch {
	case r.Verdict == Open && !r.Recorded && (len(r.Found)+len(r.Wide) > 0 || counts.Sent == counts.Allowed):
		return s + r.again(a)
	case r.Verdict != Identified:
		return s
	case r.Recorded:
		return s + fmt.Sprintf("  next: rlcheck check %s --limit '%s'\n", a.Recording, r.Found[0].Limit)
	}
	if a.Run == nil {
		return s
	}
	return s + fmt.Sprintf("  next: %s --limit '%s'\n", a.Run(r.partition(a)), r.Found[0].Limit)
}

// longestNext is the longest run that is advised.
const longestNext = time.Hour

// again returns the lines on what to do next where the answer is open: the budget that is needed, once, or
// that none would help.
func (r *Result) again(a About) string {
	believed := ""
	if len(r.Found) > 0 && r.Found[0].Stated && a.Run != nil {
		believed = fmt.Sprintf("  to believe what answers state: %s --limit '%s'\n", a.Run(r.partition(a)),
			r.Found[0].Limit)
	}
	next := r.Raised
	if a.OwnRate {
		next.Every = a.Budget.Every
		if slow := 2 * time.Duration(next.MaxRequests) * next.Every; slow > next.MaxTime {
			next.MaxTime = (slow + time.Minute - 1).Truncate(time.Minute)
		}
	}
	if next.MaxTime > longestNext && believed != "" {
		return believed
	}
	if next.MaxRequests == 0 || next == a.Budget {
		return "  next: a larger budget would not tell more from here; ask from nearer, or with --limit " +
			"and rlcheck run\n" + believed
	}
	s := fmt.Sprintf("  next: %s --budget requests=%d,time=%s", a.Again, next.MaxRequests,
		text.Short(next.MaxTime))
	if next.Every < a.Budget.Every {
		s += " --max-rate " + perSecond(next.Every)
	}
	return s + fmt.Sprintf("\n    (at most %s, in at most %s)\n",
		text.Plural(next.MaxRequests, "request"), text.Short(next.MaxTime)) + believed
}

// perSecond is the rate of requests that are every apart, in whole requests a second if possible.
func perSecond(every time.Duration) string {
	if every <= time.Second {
		return fmt.Sprintf("%d/s", (time.Second+every-1)/every)
	}
	return "1/" + text.Short(every)
}

// partition is what the clients of a run must differ in. It is the partition of the command line. Where that
// is none, it is a header whose key was seen to have a limit of its own.
func (r *Result) partition(a About) string {
	if r.Clients == nil || a.Partition != "none" {
		return a.Partition
	}
	if name := r.Clients.KeyField(); name != "" {
		return "header:" + name
	}
	return a.Partition
}

// aside counts the requests that are not in Timeline, for people; empty where all are.
func (r *Result) aside() string {
	var parts []string
	if r.Before > 0 {
		parts = append(parts, fmt.Sprintf("%d before it started again", r.Before))
	}
	if n := r.Sent() - r.Before - len(r.Timeline.Observations); n > 0 {
		parts = append(parts, fmt.Sprintf("%d to tell clients apart", n))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// Listed lists what is left; of many kinds the first ones.
func (r *Result) Listed() string {
	var left []string
	const most = 3
	for i, c := range r.Found {
		if i == most && len(r.Found) > most+1 {
			left = append(left, text.Plural(len(r.Found)-most, "other kind"))
			break
		}
		left = append(left, c.Limit.String()+" ("+c.Worth()+")")
	}
	return strings.Join(left, ", or ")
}

// Summary is the answer in a sentence.
func (r *Result) Summary() string {
	switch left := r.Listed(); {
	case r.Verdict == Identified:
		out := r.Found[0].Sentence()
		if r.Sharper != nil {
			out += "; " + r.Sharper.Sentence()
		}
		return out + "; " + r.unseen().sentence()
	case left != "":
		return string(r.Verdict) + ": " + left
	case r.Verdict == Open && r.Stopped != "":
		return string(r.Verdict) + ": " + r.Stopped
	}
	return string(r.Verdict) + ": no limit that is looked for explains all answers"
}

// notSought is what a SPEC can state and no kind covers.
const notSought = "several limits at once; bans; limiters that forget clients, fill in batches or start low"
