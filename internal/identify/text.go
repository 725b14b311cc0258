package identify

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
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

// Sentence says in words what limit c is and what was measured of it.
func (c Candidate) Sentence() string {
	var parts []string
	for _, p := range c.Limit {
		parts = append(parts, inWords(p, c.Cost > 1 && !p.InFlight()))
	}
	s := strings.Join(parts, ", and ")
	if c.Cost > 1 {
		s += fmt.Sprintf(", of which each request costs %d", c.Cost)
	}
	if c.Limit[0].InFlight() {
		return s
	}
	return s + "; " + c.Worth()
}

// times prints the times from least to most, with one unit if both have it: 4.98..5.02 s.
func times(least, most time.Duration) string {
	from, to := text.Brief(least), text.Brief(most)
	if n, unit, ok := strings.Cut(from, " "); ok && strings.HasSuffix(to, " "+unit) {
		return n + ".." + to
	}
	return from + ".." + to
}

// inWords says what a policy admits, in units or in requests.
func inWords(p spec.Policy, units bool) string {
	full, window := p.Full(), lasting(p.Rate.Per)
	word := "request"
	if units {
		word = "unit"
	}
	requests := text.Plural(int(full), word)
	var s string
	switch {
	case p.InFlight():
		return requests + " in flight at once"
	case p.Queued():
		s = fmt.Sprintf("%d per %s, while %s wait", p.Rate.N, window,
			text.Plural(int(p.Queue), "more "+word))
	case p.Fixed() && p.Align == spec.AlignFirst:
		s = fmt.Sprintf("%s in %s, counted from the first one", requests, amount(p.Rate.Per))
	case p.Fixed():
		s = fmt.Sprintf("%s in each %s of a clock", requests, window)
	case p.Weighs():
		s = fmt.Sprintf("%s in %s, the window before counted by the share that is left of it", requests,
			amount(p.Rate.Per))
		if p.Align == spec.AlignFirst {
			s += ", from the first request on"
		}
	case p.Windowed() || p.HasWindow():
		s = fmt.Sprintf("%s in any %s", requests, window)
	default:
		s = fmt.Sprintf("%s at once, then %d per %s", requests, p.Rate.N, window)
	}
	switch {
	case p.Refresh == spec.RefreshAll:
		s += ", started anew by each request"
	case p.Refresh == spec.RefreshAdmitted:
		s += ", started anew by each admitted request"
	case p.Count == spec.CountAll:
		s += ", denied ones included"
	}
	if p.TickSet && p.Tick == time.Second {
		s += ", by a clock of whole seconds"
	}
	return s
}

// lasting prints a time after "each" or "per": second, 5 seconds.
func lasting(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		switch n := d / u.unit; {
		case d == u.unit:
			return u.name
		case d%u.unit == 0 && (n < 1000):
			return fmt.Sprintf("%d %ss", n, u.name)
		}
	}
	return text.Brief(d)
}

// amount prints a time: 1 second, 5 seconds.
func amount(d time.Duration) string {
	if text := lasting(d); !strings.Contains(text, " ") {
		return "1 " + text
	}
	return lasting(d)
}

// Schema names the format of the identity document.
const Schema = "rlcheck.identity/v1"

// jsonIdentity is the identity document, an API (rlcheck schema identity).
type jsonIdentity struct {
	Schema       string           `json:"schema"`
	Verdict      Verdict          `json:"verdict"`
	Spec         string           `json:"spec,omitempty"`
	Sentence     string           `json:"sentence,omitempty"`
	Class        []spec.Algorithm `json:"class,omitempty"`
	Alternatives []string         `json:"alternatives"`
	Measured     *jsonWorth       `json:"measured,omitempty"`
	Assuming     *jsonSteady      `json:"assuming,omitempty"`
	Sharper      *jsonSharper     `json:"sharper,omitempty"`
	Unseen       *jsonBound       `json:"unseen_above,omitempty"`
	Wide         []string         `json:"hardly_measured,omitempty"`
	Told         []string         `json:"told,omitempty"`
	Also         []string         `json:"told_beside,omitempty"`
	Stopped      string           `json:"stopped,omitempty"`
	Next         string           `json:"next,omitempty"`
	Against      []jsonRefuted    `json:"refuted,omitempty"`
	Clients      *JSONApart       `json:"clients,omitempty"`
	Partition    string           `json:"partition"`
	Requests     int              `json:"requests"`
	Before       int              `json:"requests_before,omitempty"`
	Seconds      float64          `json:"seconds"`
	Recording    string           `json:"recording"`
}

type jsonWorth struct {
	Burst [2]float64 `json:"burst"`
	Rate  [2]float64 `json:"rate_per_s"`
}

type jsonSteady struct {
	Floor   float64 `json:"path_s"`
	Fastest float64 `json:"fastest_s"`
	Answers int     `json:"answers"`
}

type jsonSharper struct {
	RoundTrip float64 `json:"round_trip_s"`
	Requests  int     `json:"requests"`
	Seconds   float64 `json:"seconds"`
}

type jsonBound struct {
	Requests int64   `json:"requests"`
	Seconds  float64 `json:"seconds"`
}

type jsonRefuted struct {
	Spec    string `json:"spec"`
	Witness string `json:"witness"`
}

// Form is the type that JSON marshals.
func Form() reflect.Type { return reflect.TypeFor[jsonIdentity]() }

// JSON is the answer for programs.
func (r *Result) JSON(a About) ([]byte, error) {
	j := jsonIdentity{Schema: Schema, Verdict: r.Verdict, Alternatives: []string{},
		Told: Told(r.Timeline), Also: r.Also, Wide: r.Wide,
		Stopped: r.Stopped, Next: r.Next, Partition: a.Partition,
		Requests: r.Sent(), Before: r.Before, Seconds: r.Timeline.End().Seconds(), Recording: a.Recording,
		Clients: r.Clients.JSON()}
	for _, c := range r.Found {
		if r.Verdict == Identified {
			j.Spec, j.Class, j.Measured = c.Limit.String(), c.Class, measured(c.Measured)
			continue
		}
		j.Alternatives = append(j.Alternatives, c.Limit.String())
	}
	if len(r.Found) > 0 {
		j.Sentence = r.Found[0].Sentence()
	}
	if b := r.unseen(); r.Verdict == Identified {
		j.Unseen = &jsonBound{b.requests, b.within.Seconds()}
	}
	if s := r.Sharper; s != nil {
		j.Sharper = &jsonSharper{s.Trip.Seconds(), s.Requests, s.Time.Seconds()}
	}
	for _, c := range r.Gone {
		j.Against = append(j.Against, jsonRefuted{c.Limit.String(), c.Against})
	}
	out, err := json.MarshalIndent(j, "", "  ")
	return append(out, '\n'), err
}

func measured(m result.Measured) *jsonWorth {
	return &jsonWorth{Burst: [2]float64{m.Burst.Lo, m.Burst.Hi}, Rate: [2]float64{m.Rate.Lo, m.Rate.Hi}}
}
