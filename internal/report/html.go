package report

import (
	"crypto/sha256"
	_ "embed" // the style sheet
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

//go:embed page.css
var pageStyle string

// page is what the HTML report says. All texts are clean; tag escapes them.
type page struct {
	Run     *result.Run
	Verdict badge
	Summary string
	Counts  string
	About   string
	// Measured says what the scenarios together measured, a line a policy.
	Measured []string
	// Causes are what needs action, each once; none where one scenario says it all.
	Causes []causeBox
	// Cards are the scenarios: failures that count first, what passed last, else in the order of the run.
	Cards []card
}

// causeBox is one thing to act on.
type causeBox struct {
	Badge  badge
	Who    string
	Anchor string // of the scenario that shows it
	Lines  []string
}

// badge is a verdict with the class that colours it.
type badge struct{ Word, Class string }

// card is one scenario.
type card struct {
	*result.Scenario
	Anchor   string
	Badge    badge
	Uncount  string // the kind, where a failure does not count
	Limit    string
	Worth    []worthRow
	Failures []quotedEvidence
	Troubles []troubleRow
	Time     []markup
	Parts    []markup
	PartNote string
	Left     []string // why partitions are not drawn
	Witness  []markup
	Latency  markup
	Rows     []latencyCells
	Claims   []claimRow
	Compared []verdict.Comparison
	StepHead []string
	StepNote string
	Steps    [][]string
	Clients  [][]string
	Others   string // how many clients are not listed
	Counts   string
	Answers  string // how many answers had which status
	Outcomes []outcomeCell
	Facts    []fact
	// Folded: the reader opens it. Next is the next scenario that did not pass.
	Folded bool
	Next   *card
}

// outcomeCell is how many requests had one outcome.
type outcomeCell struct{ Name, Count string }

// worthRow is one declared parameter and what was measured of it.
type worthRow struct {
	Declared, Measured string
	Bar                markup
}

type quotedEvidence struct{ Claim, Sentence, Span, Hint, Replay string }

type troubleRow struct{ Reason, Detail, Mend string }

type latencyCells struct {
	Outcome, From, Count string
	Values               []string
}

type claimRow struct {
	Badge    badge
	ID, Text string
}

type fact struct{ Name, Value string }

// writeHTML writes one self-contained page: no script, no request to anywhere, pictures as SVG. A
// Content-Security-Policy in the page forbids everything but its own style sheet.
func writeHTML(w io.Writer, r *result.Run, o Options) error {
	clean := plainRun(r)
	p := page{
		Run: clean, Verdict: badgeOf(clean.Verdict(o.Strict)),
		Summary: headline(clean, o.Strict), Measured: aboutRun(clean),
		Counts: result.CountsText(clean.Sum()), About: provenance(clean),
	}
	p.fill(r, clean, o)
	if o.Simulated {
		p.simulated()
	}
	_, err := io.WriteString(w, string(p.markup()))
	return err
}

// simulated says of each scenario which limit answered, in place of a verdict.
func (p *page) simulated() {
	mark := badge{"SIMULATED", verdict.Inconclusive.String()}
	p.Verdict, p.Summary, p.Measured = mark, "what a right limiter does; no endpoint was asked", nil
	for i := range p.Cards {
		p.Cards[i].Badge, p.Cards[i].Uncount, p.Cards[i].Claims = mark, p.Cards[i].Limit, nil
	}
}

// contentPolicy is the Content-Security-Policy of a page: its own style sheet, and nothing else.
func contentPolicy() string {
	sum := sha256.Sum256([]byte(pageStyle))
	return "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// mostOpen is how many scenarios that did not pass are unfolded: the page stays short where all of many fail.
const mostOpen = 3

// fill fills in the scenarios and the causes. What passed is folded, unless it is alone, and of what did not
// all but those that show a cause best.
func (p *page) fill(raw, clean *result.Run, o Options) {
	anchors := map[string]string{}
	for i := range clean.Scenarios {
		c := newCard(fmt.Sprintf("s%d", i+1), &raw.Scenarios[i], &clean.Scenarios[i], o)
		c.Folded = len(clean.Scenarios) > 1
		anchors[c.ID] = c.Anchor
		p.Cards = append(p.Cards, c)
	}
	byUrgency := func(a, b card) int { return urgency(a.Scenario, o.Strict) - urgency(b.Scenario, o.Strict) }
	slices.SortStableFunc(p.Cards, byUrgency)
	open := 0
	unfold := func(c *card) {
		if c.Folded && open < mostOpen && c.Verdict != verdict.Pass {
			c.Folded = false
			open++
		}
	}
	for _, x := range causesOf(raw, clean, o.Strict) {
		if len(p.Cards) == 1 && !x.remark {
			continue
		}
		word := badgeOf(x.verdict)
		if x.verdict == verdict.Fail && !x.counts {
			word.Class = verdict.Inconclusive.String()
		}
		p.Causes = append(p.Causes, causeBox{word, x.who(), anchors[x.witness], x.lines()})
		if i := slices.IndexFunc(p.Cards, func(c card) bool { return c.ID == x.witness }); i >= 0 {
			unfold(&p.Cards[i])
		}
	}
	for i := range p.Cards {
		unfold(&p.Cards[i])
		if i+1 < len(p.Cards) && p.Cards[i+1].Verdict != verdict.Pass {
			p.Cards[i].Next = &p.Cards[i+1]
		}
	}
}

func badgeOf(v verdict.Verdict) badge {
	return badge{strings.ToUpper(v.String()), v.String()}
}

// newCard gathers what is shown of one scenario: texts from the clean copy, pictures from the raw one, whose
// names still agree with those in its timeline.
func newCard(anchor string, raw, s *result.Scenario, o Options) card {
	c := card{Scenario: s, Anchor: anchor, Badge: badgeOf(s.Verdict), Limit: limitText(s),
		Worth:  worthRows(s),
		Counts: result.CountsText(s.Counts), Answers: answersText(s), Facts: facts(s),
		Latency: latencyChart(anchor+"-l", s)}
	c.Outcomes = []outcomeCell{{"allowed", quantity.Thousands(s.Counts.Allowed)},
		{"denied", quantity.Thousands(s.Counts.Denied)}, {"unknown", quantity.Thousands(s.Counts.Unknown)}}
	if s.Verdict == verdict.Fail && !s.Weighs(o.Strict) {
		c.Uncount, c.Badge.Class = s.Kind, verdict.Inconclusive.String()
	}
	if s.Verdict == verdict.Fail {
		for _, e := range shown(failures(raw)) {
			c.Failures = append(c.Failures, quotedEvidence{e.claim, e.sentence, e.span, e.hint, e.replay})
		}
	}
	for _, t := range troubles(s) {
		c.Troubles = append(c.Troubles, troubleRow{t.reason, t.detail, t.mend})
	}
	c.Claims, c.Compared = claimRows(s), comparedBy(s)
	for _, x := range stepsOf(raw) {
		c.Steps = append(c.Steps, x.row(raw))
	}
	c.StepHead, c.StepNote = stepHead, stepNote
	c.Clients, c.Others = clientRows(raw)
	one := result.Run{Scenarios: []result.Scenario{*s}}
	for _, l := range latencyRows(&one) {
		c.Rows = append(c.Rows, latencyCells{l.outcome, l.from, quantity.Thousands(int(l.dist.Count)),
			l.values()})
	}
	if raw.Timeline != nil && len(raw.Timeline.Observations) > 0 {
		c.pictures(raw)
	}
	return c
}

// claimRows are the claims of a scenario, what stayed open with its reason.
func claimRows(s *result.Scenario) (out []claimRow) {
	for i := range s.Claims {
		x := &s.Claims[i]
		text := x.Text
		if x.Verdict == verdict.Inconclusive {
			text = trouble{reason: string(x.Reason), detail: x.Text}.line()
		}
		out = append(out, claimRow{badgeOf(x.Verdict), x.ID, text})
	}
	return out
}

// pictures draws the recording.
func (c *card) pictures(raw *result.Scenario) {
	axis := newClock(raw.Timeline)
	all := raw.Timeline.ByPartition()
	found := raw.Findings()
	if sides, ok := raw.AttributeFindings(); ok {
		all, found = wholeClients(all), sides
	}
	c.witnesses(raw, axis, all, found)
	if raw.Excerpt != "" { // of a part, no sum up to an instant would be true
		return
	}
	c.Time = append(c.Time, decisionsChart(c.Anchor+"-d", raw, axis, len(all)))
	if chart := answersChart(c.Anchor+"-a", raw, axis); chart != "" && raw.Timed() {
		c.Time = append(c.Time, chart)
	}
	c.partitions(raw, axis, all, found)
}

// witnesses draws the first findings.
func (c *card) witnesses(raw *result.Scenario, axis clock, all []timeline.Part, found []verdict.Finding) {
	for i := range found[:min(len(found), mostWitnesses)] {
		for _, p := range all {
			if p.Partition == found[i].Partition {
				id := fmt.Sprintf("%s-w%d", c.Anchor, i)
				c.Witness = append(c.Witness, witnessChart(id, axis, &found[i], p, drawnWindows(raw, p)))
			}
		}
	}
	c.Witness = slices.DeleteFunc(c.Witness, func(h markup) bool { return h == "" })
}

// partitions draws some partitions against their limits, and of one with a short witness the time of that.
func (c *card) partitions(raw *result.Scenario, axis clock, all []timeline.Part, found []verdict.Finding) {
	lefts := map[string]int{}
	var drawn []timeline.Part
	for _, p := range all {
		if _, left := chartLimit(raw, p); left != "" {
			lefts[left]++
		} else {
			drawn = append(drawn, p)
		}
	}
	chosen := chosenPartitions(drawn, found)
	views, width := make([]*view, len(chosen)), chartWidth
	for i, p := range chosen {
		l, _ := chartLimit(raw, p)
		views[i] = viewOf(raw, l, p)
		if _, ok := views[i].near(axis); ok || len(chosen) > 1 {
			width = (chartWidth - 16) / 2
		}
	}
	for i, v := range views {
		id := fmt.Sprintf("%s-p%d", c.Anchor, i)
		c.Parts = append(c.Parts, v.chart(id, axis, width, false))
		if near, ok := v.near(axis); ok {
			c.Parts = append(c.Parts, v.chart(id+"z", near, width, true))
		}
	}
	if len(chosen) > 0 && len(all) > len(chosen) {
		c.PartNote = fmt.Sprintf("%d of %s partitions, those with a finding first",
			len(chosen), quantity.Thousands(len(all)))
	}
	for _, why := range frequencies(lefts) {
		c.Left = append(c.Left, "no chart against the limit, partitions: "+why)
	}
}

func worthRows(s *result.Scenario) []worthRow {
	var out []worthRow
	for _, line := range s.WorthLines() {
		declared, measured, _ := strings.Cut(line.Text, " (")
		row := worthRow{Declared: declared, Measured: strings.TrimSuffix(measured, ")")}
		switch {
		case line.Note:
			row = worthRow{Declared: line.Text}
		case line.Seen != "":
			row = worthRow{Declared: line.Text, Measured: "measured " + line.Seen}
		case row.Measured == "":
			row.Measured = "not measured"
		}
		row.Bar = intervalBar(line.Declared, line.Most, line.Measured)
		out = append(out, row)
	}
	return out
}

// intervalBar draws a measured interval beside the declared value, or the ends of a declared range; empty
// where an end is open.
func intervalBar(declared, most float64, v verdict.Interval) markup {
	if v = result.FiniteEnds(v); !v.LoSet || !v.HiSet || v.Lo > v.Hi {
		return ""
	}
	d := &drawing{}
	d.b.WriteString(`<svg class="bar" viewBox="0 0 160 18" aria-hidden="true">`)
	lo, hi := min(v.Lo, declared), max(v.Hi, most)
	pad := max((hi-lo)*0.3, declared*0.02, 1e-9)
	x := scale{lo: lo - pad, hi: hi + pad, from: 4, to: 156}
	d.line("axis", 0, 9, 160, 9)
	from, to := x.at(v.Lo), x.at(v.Hi)
	d.rect("interval", from-2, 5, to-from+4, 8, "")
	d.line("declared", x.at(declared), 1, x.at(declared), 17)
	if most > declared {
		d.line("declared", x.at(most), 1, x.at(most), 17)
	}
	return d.html()
}

// facts are what a reader needs to know of where a scenario ran.
func facts(s *result.Scenario) []fact {
	var out []fact
	add := func(name, value string) {
		if value != "" {
			out = append(out, fact{name, value})
		}
	}
	add("target", s.Target)
	add("protocol", protocolText(s))
	add("origin", s.Origin)
	add("store", s.Store)
	add("fault", s.Fault)
	add("scenario file", s.File)
	add("source", s.Source)
	if s.Duration > 0 {
		add("duration", quantity.Brief(s.Duration))
	}
	if h := s.Header; !h.Started.IsZero() {
		add("recording started", h.Started.UTC().Format(time.RFC3339Nano)+", target's clock ± "+
			quantity.Brief(h.WallError))
	}
	add("clock error between observers", nonZero(s.Header.ClockError))
	add("target's clock ticks", nonZero(s.Header.Tick))
	add(recorder(s), generatorText(s))
	// No command to replay what passed: phases may have limits of their own, or be judged less strictly than
	// check judges.
	add("timeline", s.TimelinePath)
	return out
}

func nonZero(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return quantity.Brief(d)
}
