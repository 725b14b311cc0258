package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the style sheet and the templates
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
)

//go:embed page.css
var pageStyle string

//go:embed page.html
var pageText string

// pages has the templates of page.html: page, acceptance and beside. They escape every text.
var pages = sync.OnceValue(func() *template.Template {
	sum := sha256.Sum256([]byte(pageStyle))
	return template.Must(template.New("").Funcs(template.FuncMap{
		"style":      func() template.CSS { return template.CSS(pageStyle) },
		"liveScript": func() template.JS { return liveScript },
		// The page may use its own style sheet, and nothing else.
		"policy": func() string {
			return "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-" +
				base64.StdEncoding.EncodeToString(sum[:]) + "'"
		},
		"counts": result.CountsText, "limit": limitText, "answers": answersText, "frequencies": frequencies,
		"thousands": text.Thousands,
		"stepHead":  func() []string { return stepHead },
		"stepNote":  func() string { return stepNote },
	}).Parse(pageText))
})

// write writes one of some templates at once.
func write(w io.Writer, all interface {
	ExecuteTemplate(w io.Writer, name string, data any) error
}, name string, data any) error {
	var b bytes.Buffer
	if err := all.ExecuteTemplate(&b, name, data); err != nil {
		return err
	}
	_, err := b.WriteTo(w)
	return err
}

// page is the content of a page. All texts are clean.
type page struct {
	Run            *result.Run
	Verdict        badge
	Summary, About string
	// Measured says what the scenarios together measured, one line for each policy.
	Measured []string
	// Causes are what needs action, each once. Empty: one scenario says it all.
	Causes []causeBox
	// Cards are the scenarios: failures that count first, passed ones last, otherwise in the order of the
	// run.
	Cards []card
}

// causeBox is one thing to act on. Anchor is that of the scenario that shows it.
type causeBox struct {
	Badge       badge
	Who, Anchor string
	Lines       []string
}

// badge is a verdict, with the class that colours it.
type badge struct{ Word, Class string }

type card struct {
	*result.Scenario
	Anchor    string
	Badge     badge
	Uncount   string // the kind, if a failure does not count
	Worth     []worthRow
	Failures  []result.Failure
	Troubles  []Trouble
	Pictures  Pictures
	Latencies SVG
	Rows      [][]string // the latencies in numbers
	Claims    []claimRow
	Compared  []result.Comparison
	Steps     []stepRow
	Most      [][]string // the clients with the most denials
	Others    string     // how many clients are not listed
	Facts     []fact
	// Folded: the reader opens it. Next is the next scenario that did not pass.
	Folded bool
	Next   *card
}

// ClaimsOf returns the claims that --slo made, or all others.
func (c *card) ClaimsOf(slo bool) (out []claimRow) {
	for i, row := range c.Claims {
		if slo == (c.Scenario.Claims[i].Kind == result.ClaimSLO) {
			out = append(out, row)
		}
	}
	return out
}

// worthRow is one declared parameter and its measured interval.
type worthRow struct {
	Declared, Measured string
	Bar                SVG
}

type claimRow struct {
	Badge    badge
	ID, Text string
}

type stepRow struct {
	Badge badge
	Cells []string
}

type fact struct{ Name, Value string }

// writeHTML writes one self-contained page: no script, no request to anywhere, pictures as SVG. A
// Content-Security-Policy in the page forbids everything but its own style sheet.
func writeHTML(w io.Writer, r *result.Run, o Options) error {
	clean := cleanRun(r)
	p := page{
		Run: clean, Verdict: badge{clean.Word(o.Strict), clean.Verdict(o.Strict).String()},
		Summary: headline(clean, o.Strict, ""), Measured: measuredLines(clean),
		About: provenance(clean),
	}
	p.fill(r, clean, o)
	if o.Simulated { // which limit answered, instead of a verdict
		mark := badge{"SIMULATED", "none"}
		p.Verdict, p.Summary, p.Measured = mark, "what a correct limiter does; no endpoint was tested", nil
		for i := range p.Cards {
			c := &p.Cards[i]
			c.Badge, c.Uncount, c.Claims = mark, limitText(c.Scenario), nil
		}
	}
	return write(w, pages(), "page", p)
}

// measuredLines returns the lines below the verdict. One scenario measured something even if no scenarios
// were compared.
func measuredLines(r *result.Run) []string {
	out := evidenceAbout(r)
	if len(out) > 0 || len(r.Scenarios) != 1 {
		return out
	}
	s := &r.Scenarios[0]
	if s.Judgement == nil || s.Answer != "" {
		return nil
	}
	return s.Worth()
}

// writeAcceptance writes one page for a release (in the form of ITU-T Y.1564): a row for each step of the
// load, the measured values, and a place to sign.
func writeAcceptance(w io.Writer, r *result.Run, o Options) error {
	clean := cleanRun(r)
	p := page{Run: clean, Verdict: badgeOf(clean.Verdict(o.Strict)),
		Summary: headline(clean, o.Strict, ""), Measured: measuredLines(clean), About: provenance(clean)}
	for i := range clean.Scenarios {
		p.Cards = append(p.Cards, newCard(&r.Scenarios[i], &clean.Scenarios[i], o))
	}
	return write(w, pages(), "acceptance", p)
}

// mostOpen is how many scenarios that did not pass are unfolded, so that the page stays short if many fail.
const mostOpen = 3

// newCards returns the scenarios by their urgency, all folded unless there is only one. What a note says of a
// scenario is not said again.
func newCards(raw, clean *result.Run, o Options) (all []card, judged bool) {
	shown, judged := listed(clean, o.Strict)
	for _, s := range shown {
		i := 0
		for s != &clean.Scenarios[i] {
			i++
		}
		c := newCard(&raw.Scenarios[i], s, o)
		c.draw(fmt.Sprintf("s%d", i+1), &raw.Scenarios[i])
		c.Folded = len(clean.Scenarios) > 1
		if judged && c.Uncounted() {
			c.Badge = badge{"NOT JUDGED", "none"}
		}
		all = append(all, c)
	}
	return all, judged
}

// fill fills in the scenarios and the causes. Those scenarios are unfolded that show a cause best.
func (p *page) fill(raw, clean *result.Run, o Options) {
	cards, judged := newCards(raw, clean, o)
	p.Cards = cards
	anchors := map[string]string{}
	for i := range p.Cards {
		anchors[p.Cards[i].ID] = p.Cards[i].Anchor
	}
	open := 0
	unfold := func(c *card) {
		if c.Folded && open < mostOpen && c.Verdict != result.Pass && !(judged && c.Uncounted()) {
			c.Folded = false
			open++
		}
	}
	for _, x := range Causes(raw, clean, o.Strict) {
		if len(p.Cards) == 1 && !x.Remark {
			continue
		}
		word := badgeOf(x.Verdict)
		if x.Verdict == result.Fail && !x.Counts {
			word.Class = "uncounted"
		}
		p.Causes = append(p.Causes, causeBox{word, x.Who(), anchors[x.Witness], x.Lines()})
		if i := slices.IndexFunc(p.Cards, func(c card) bool { return c.ID == x.Witness }); i >= 0 {
			unfold(&p.Cards[i])
		}
	}
	for i := range p.Cards {
		unfold(&p.Cards[i])
		if i+1 < len(p.Cards) && p.Cards[i+1].Verdict != result.Pass && !p.Cards[i+1].Uncounted() {
			p.Cards[i].Next = &p.Cards[i+1]
		}
	}
}

func badgeOf(v result.Verdict) badge { return badge{strings.ToUpper(v.String()), v.String()} }

// newCard gathers what is said of one scenario.
func newCard(raw, s *result.Scenario, o Options) card {
	c := card{Scenario: s, Badge: badge{s.Word(), s.Verdict.String()}, Worth: worthRows(s), Facts: facts(s),
		Troubles: Troubles(s), Claims: claimRows(s), Compared: comparedBy(s)}
	if s.Verdict == result.Fail && !s.Weighs(o.Strict) {
		c.Uncount, c.Badge.Class = s.Kind, "uncounted"
	}
	if s.Verdict == result.Fail {
		c.Failures = result.FirstFailures(raw.Failures())
	}
	for _, x := range stepsOf(raw) {
		c.Steps = append(c.Steps, stepRow{badgeOf(x.verdict(raw)), x.row(raw)})
	}
	for _, l := range latencyRows(&result.Run{Scenarios: []result.Scenario{*s}}) {
		c.Rows = append(c.Rows, append([]string{l.outcome, l.from, text.Thousands(int(l.dist.Count))},
			l.values()...))
	}
	return c
}

// draw adds the pictures, and the clients with their nearness to the limit, which takes as long.
// They come from the raw scenario, whose names still agree with those in its timeline.
func (c *card) draw(anchor string, raw *result.Scenario) {
	c.Anchor, c.Latencies = anchor, drawLatency(anchor+"-l", c.Scenario)
	c.Most, c.Others = clientRows(raw)
	if raw.Timeline != nil && len(raw.Timeline.Observations) > 0 {
		c.Pictures = drawRecording(anchor, raw)
	}
}

// claimRows returns the claims of a scenario, with a reason if they stayed open.
func claimRows(s *result.Scenario) (out []claimRow) {
	for i := range s.Claims {
		x := &s.Claims[i]
		text := x.Text
		if x.Verdict == result.Inconclusive {
			text = Trouble{Reason: string(x.Reason), Detail: x.Text}.Line()
		} else if basis := x.Basis(); basis != "" {
			text += "; " + basis
		}
		out = append(out, claimRow{badgeOf(x.Verdict), x.ID, text})
	}
	return out
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
		case row.Measured == "not known":
			row.Measured = "not known: the declared limit does not hold"
		}
		row.Bar = drawInterval(line.Declared, line.Most, line.Measured)
		out = append(out, row)
	}
	return out
}

// facts returns what a reader needs to know of where a scenario ran.
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
		add("duration", text.Brief(s.Duration))
	}
	if h := s.Header; !h.Started.IsZero() {
		add("recording started", h.Started.UTC().Format(time.RFC3339Nano)+", target's clock ± "+
			text.Brief(h.WallError))
	}
	add("clock error between observers", nonZero(s.Header.ClockError))
	add("target's clock ticks", nonZero(s.Header.Tick))
	add(recorder(s), generatorText(s))
	// There is no command to replay a PASS: phases may have their own limits, or be judged less strictly than
	// check judges.
	add("timeline", s.TimelinePath)
	return out
}

func nonZero(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return text.Brief(d)
}

// Live is what a browser shows of a run while it goes on. The zero value shows no scenario. It is for one
// goroutine at a time.
type Live struct {
	// cards are in the order in which the scenarios began. Those with pictures are being recorded.
	cards []card
}

// mostLive is how many recordings are drawn at the same time.
const mostLive = 3

// Show replaces what is shown of a scenario. Its recording so far is drawn, unless others fill the page. word
// stands for the verdict until there is one; empty: there is.
func (l *Live) Show(s *result.Scenario, word string) {
	i, drawn := -1, 0
	for k := range l.cards {
		if l.cards[k].ID == s.ID {
			i = k
		} else if len(l.cards[k].Pictures.Time) > 0 {
			drawn++
		}
	}
	if i < 0 {
		i, l.cards = len(l.cards), append(l.cards, card{})
	}
	c := newCard(s, &cleanRun(&result.Run{Scenarios: []result.Scenario{*s}}).Scenarios[0], Options{})
	if c.Anchor = fmt.Sprintf("s%d", i+1); word != "" {
		c.Badge, c.Worth = badge{word, "none"}, nil
		if drawn < mostLive && s.Timeline != nil && len(s.Timeline.Observations) > 0 {
			c.Pictures = drawRecording(c.Anchor, s)
		}
	}
	c.Timeline, c.Judgement = nil, nil // they belong to the caller
	l.cards[i] = c
}

// Write writes what is shown now of a run of so many scenarios, as the content of the page. Errors: those of
// w.
func (l *Live) Write(w io.Writer, scenarios int) error {
	judged := 0
	p := page{Verdict: badge{"RUNNING", "none"}, Cards: slices.Clone(l.cards)}
	for i := range p.Cards {
		if p.Cards[i].Badge.Class != "none" {
			judged++
		}
	}
	p.Run = &result.Run{}
	p.Summary = fmt.Sprintf("%d of %s judged", judged, text.Plural(scenarios, "scenario"))
	return write(w, pages(), "live", p)
}

// liveScript puts what the server sends into the page: its content, and at the end the report instead of it.
const liveScript = `const from = new EventSource("events")
from.onmessage = e => document.querySelector("main").innerHTML = JSON.parse(e.data)
from.addEventListener("report", e => {
  from.close(); document.open(); document.write(JSON.parse(e.data)); document.close()
})
from.onerror = () => {
  from.close(); document.querySelector("h1").append(" (the run is over: see its report)")
}`

// LivePage returns the page that shows a Live. It reads server-sent events from ./events. The data of each is
// a string in JSON: what Live.Write writes, or in the event "report" the page of the report. policy is the
// Content-Security-Policy that it needs.
func LivePage() (page []byte, policy string) {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	var b bytes.Buffer
	_ = pages().ExecuteTemplate(&b, "livepage", nil) // it has no data, and the buffer takes all
	return b.Bytes(), "default-src 'none'; base-uri 'none'; form-action 'none'; connect-src 'self'; " +
		"style-src " + hash(pageStyle) + "; script-src " + hash(liveScript)
}
