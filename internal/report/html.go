package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

// page is what the template of the HTML report is filled with. All texts are clean; the template escapes them.
type page struct {
	Run     *Run
	Style   template.CSS
	Policy  string // of the Content-Security-Policy
	Verdict badge
	Summary string
	Counts  string
	About   string
	Cards   []card
}

// badge is a verdict with the class that colours it.
type badge struct{ Word, Class string }

// card is one scenario.
type card struct {
	*Scenario
	Anchor   string
	Badge    badge
	Uncount  string // the kind, where a failure does not count
	Limit    string
	Worth    []worthRow
	Failures []quotedEvidence
	Troubles []troubleRow
	Time     []template.HTML
	Parts    []template.HTML
	PartNote string
	Witness  []template.HTML
	Latency  template.HTML
	Rows     []latencyCells
	Claims   []claimRow
	Counts   string
	Outcomes []string // allowed, denied, unknown
	Facts    []fact
}

// worthRow is one declared parameter and what was measured of it.
type worthRow struct {
	Declared, Measured string
	Bar                template.HTML
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

// writeHTML writes one self-contained page: no script, no request to anywhere, pictures as SVG. A Content-Security-Policy
// in the page forbids everything but its own style sheet.
func writeHTML(w io.Writer, r *Run, o Options) error {
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return err
	}
	clean := plainRun(r)
	sum := sha256.Sum256([]byte(pageStyle))
	p := page{
		Run: clean, Style: template.CSS(pageStyle), Verdict: badgeOf(clean.Verdict(o.Strict)), Summary: verdictText(clean),
		Policy: "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'",
		Counts: countsText(clean.sum()), About: provenance(clean),
	}
	for i := range clean.Scenarios {
		p.Cards = append(p.Cards, newCard(fmt.Sprintf("s%d", i+1), &r.Scenarios[i], &clean.Scenarios[i], o))
	}
	return t.Execute(w, p)
}

func badgeOf(v check.Verdict) badge {
	return badge{strings.ToUpper(v.String()), v.String()}
}

// newCard gathers what is shown of one scenario: texts from the clean copy, pictures from the raw one, whose names still
// agree with those in its timeline.
func newCard(anchor string, raw, s *Scenario, o Options) card {
	c := card{Scenario: s, Anchor: anchor, Badge: badgeOf(s.Verdict), Limit: limitText(s), Worth: worthRows(s),
		Counts: countsText(s.Counts), Outcomes: []string{thousands(s.Counts.Allowed), thousands(s.Counts.Denied), thousands(s.Counts.Unknown)},
		Facts: facts(s), Latency: latencyChart(anchor+"-l", s)}
	if s.Verdict == check.Fail && !s.counts(o.Strict) {
		c.Uncount, c.Badge.Class = s.Kind, check.Inconclusive.String()
	}
	if s.Verdict == check.Fail {
		for _, e := range shown(failures(raw)) {
			c.Failures = append(c.Failures, quotedEvidence{e.claim, e.sentence, e.span, e.hint, e.replay})
		}
	}
	for _, t := range troubles(s) {
		c.Troubles = append(c.Troubles, troubleRow{t.reason, t.detail, t.mend})
	}
	for i := range s.Claims {
		x := &s.Claims[i]
		text := x.Text
		if x.Verdict == check.Inconclusive {
			text = trouble{reason: string(x.Reason), detail: x.Text}.line()
		}
		c.Claims = append(c.Claims, claimRow{badgeOf(x.Verdict), x.ID, text})
	}
	one := Run{Scenarios: []Scenario{*s}}
	for _, l := range latencyRows(&one) {
		c.Rows = append(c.Rows, latencyCells{l.outcome, l.from, thousands(int(l.dist.Count)), l.values()})
	}
	if raw.Timeline != nil && len(raw.Timeline.Observations) > 0 {
		c.pictures(raw)
	}
	return c
}

// pictures draws the recording.
func (c *card) pictures(raw *Scenario) {
	axis := newClock(raw.Timeline)
	all := raw.Timeline.ByPartition()
	c.Time = append(c.Time, decisionsChart(c.Anchor+"-d", raw, axis, len(all)))
	if chart := answersChart(c.Anchor+"-a", raw, axis); chart != "" {
		c.Time = append(c.Time, chart)
	}
	found := conformanceFindings(raw)
	if drawn := slices.DeleteFunc(slices.Clone(all), func(p timeline.Part) bool { return len(chartLimit(raw, p)) == 0 }); len(drawn) > 0 {
		chosen := chosenPartitions(drawn, found)
		width := chartWidth
		if len(chosen) > 1 {
			width = (chartWidth - 16) / 2
		}
		for i, p := range chosen {
			c.Parts = append(c.Parts, partitionChart(fmt.Sprintf("%s-p%d", c.Anchor, i), under(raw, chartLimit(raw, p)), axis, p, width))
		}
		if len(all) > len(chosen) {
			c.PartNote = fmt.Sprintf("%d of %s partitions, those with a finding first", len(chosen), thousands(len(all)))
		}
	}
	for i := range found[:min(len(found), mostWitnesses)] {
		for _, p := range all {
			if p.Partition == found[i].Partition {
				c.Witness = append(c.Witness, witnessChart(fmt.Sprintf("%s-w%d", c.Anchor, i), axis, &found[i], p))
			}
		}
	}
	c.Witness = slices.DeleteFunc(c.Witness, func(h template.HTML) bool { return h == "" })
}

func worthRows(s *Scenario) []worthRow {
	var out []worthRow
	for _, line := range worthLines(s) {
		declared, measured, _ := strings.Cut(line.text, " (")
		row := worthRow{Declared: declared, Measured: strings.TrimSuffix(measured, ")")}
		switch {
		case line.note:
			row = worthRow{Declared: line.text}
		case line.seen != "":
			row = worthRow{Declared: line.text, Measured: "measured " + line.seen}
		case row.Measured == "":
			row.Measured = "not measured"
		}
		row.Bar = intervalBar(line.declared, line.most, line.measured)
		out = append(out, row)
	}
	return out
}

// intervalBar draws a measured interval beside the declared value, or the ends of a declared range; empty where an end is open.
func intervalBar(declared, most float64, v check.Interval) template.HTML {
	if v = finiteEnds(v); !v.LoSet || !v.HiSet || v.Lo > v.Hi {
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
func facts(s *Scenario) []fact {
	var out []fact
	add := func(name, value string) {
		if value != "" {
			out = append(out, fact{name, value})
		}
	}
	add("target", s.Target)
	add("origin", s.Origin)
	add("store", s.Store)
	add("fault", s.Fault)
	add("scenario file", s.File)
	add("source", s.Source)
	if s.Duration > 0 {
		add("duration", brief(s.Duration))
	}
	if h := s.Header; !h.Started.IsZero() {
		add("recording started", h.Started.UTC().Format(time.RFC3339Nano)+", target's clock ± "+brief(h.WallError))
	}
	add("clock error between observers", nonZero(s.Header.ClockError))
	add("target's clock ticks", nonZero(s.Header.Tick))
	add("generator", generatorText(s))
	// No command to replay what passed: phases may have limits of their own, or be judged less strictly than check judges.
	add("timeline", s.TimelinePath)
	return out
}

func nonZero(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return brief(d)
}
