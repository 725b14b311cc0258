package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Beside is a recorded scenario, and what right limiters would have decided at the same times.
type Beside struct {
	result.Scenario
	// Right has the decision on each observation of the Timeline. It is Unknown if no limit counts the
	// request.
	Right []timeline.Outcome
}

// BesideFormats returns the formats of WriteBeside, the usual one first.
func BesideFormats() []string { return []string{"table", "html"} }

const besideMeaning = "A difference alone proves nothing. A request may be decided until its answer " +
	"comes, windows may begin elsewhere, and one difference changes what follows. Only the judge " +
	"proves a failure."

// WriteBeside writes recorded scenarios beside the decisions of right limiters, in one of BesideFormats.
// Errors: those of w.
func WriteBeside(w io.Writer, format string, all []Beside, o Options) error {
	if format == "html" {
		var cards []besideCard
		for i := range all {
			cards = append(cards, all[i].card(fmt.Sprintf("b%d", i+1)))
		}
		return write(w, pages(), "beside", map[string]any{"Meaning": besideMeaning, "Cards": cards})
	}
	s := newScreen(o)
	for i := range all {
		x := &all[i]
		s.wrapped(0, s.bold(text.Clean(x.ID))+": "+x.sentence())
		if o.Quiet {
			continue
		}
		s.line("\n%s", x.strips(min(s.width-20, 100)))
		head, rows := x.rows()
		align := "l" + strings.Repeat("r", len(head)-1)
		s.table(head, align, rows)
		s.line("")
	}
	if !o.Quiet {
		s.wrapped(0, besideMeaning)
	}
	return s.print(w)
}

// besideTally counts the differences of requests.
type besideTally struct {
	name string
	// compared is how many requests have both decisions. over is how many were admitted and a right limiter
	// denies. under is how many were denied and a right limiter admits.
	sent, compared, allowed, right, over, under int
	// first is when the first differing request was sent, -1 if none differs.
	first time.Duration
}

func (t *besideTally) add(o *timeline.Observation, right timeline.Outcome) {
	if t.sent++; o.Outcome == timeline.Unknown || right == timeline.Unknown {
		return
	}
	t.compared++
	if o.Outcome == timeline.Allowed {
		t.allowed++
	}
	if right == timeline.Allowed {
		t.right++
	}
	switch {
	case o.Outcome == right:
		return
	case right == timeline.Denied:
		t.over++
	default:
		t.under++
	}
	if t.first < 0 {
		t.first = o.Sent
	}
}

// tallies returns the tallies of the phases in their order, and then that of all requests.
func (x *Beside) tallies() []*besideTally {
	all := &besideTally{name: "all", first: -1}
	var out []*besideTally
	for i := range x.Timeline.Observations {
		o := &x.Timeline.Observations[i]
		at := slices.IndexFunc(out, func(t *besideTally) bool { return t.name == o.Phase })
		if at < 0 {
			at, out = len(out), append(out, &besideTally{name: o.Phase, first: -1})
		}
		out[at].add(o, x.Right[i])
		all.add(o, x.Right[i])
	}
	return append(out, all)
}

// sentence says how many requests were decided as a right limiter decides them.
func (x *Beside) sentence() string {
	all := x.tallies()
	t := all[len(all)-1]
	limit := cmp.Or(limitText(&x.Scenario), "a correct limiter in each phase")
	s := fmt.Sprintf("%s of %s decided as %s decides", text.Thousands(t.compared-t.over-t.under),
		text.Plural(t.compared, "request"), limit)
	if t.over+t.under > 0 {
		s += fmt.Sprintf("; it denies %s that were admitted, and admits %s that were denied",
			text.Thousands(t.over), text.Thousands(t.under))
	}
	if left := t.sent - t.compared; left > 0 {
		s += fmt.Sprintf("; %s not compared: no outcome, or no limit", text.Thousands(left))
	}
	return s + "; the judge: " + x.judged()
}

// judged returns the verdict of the judge in words.
func (x *Beside) judged() string {
	if x.Judgement == nil && len(x.Claims) == 0 {
		return "not judged with this limit (rlcheck check RECORDING --limit SPEC)"
	}
	return strings.ToUpper(x.Verdict.String())
}

// rows returns the phases as a table.
func (x *Beside) rows() (head []string, rows [][]string) {
	head = []string{"PHASE", "REQUESTS", "ADMITTED", "A CORRECT LIMITER", "ADMITTED, IT DENIES",
		"DENIED, IT ADMITS", "FIRST"}
	all := x.tallies()
	if len(all) == 2 {
		all = all[:1]
	}
	for _, t := range all {
		first := "-"
		if t.first >= 0 {
			first = text.Instant(t.first)
		}
		row := []string{clip(text.Clean(t.name), 24)}
		for _, n := range []int{t.sent, t.allowed, t.right, t.over, t.under} {
			row = append(row, text.Thousands(n))
		}
		rows = append(rows, append(row, first))
	}
	return head, rows
}

// strips draws the requests over time in n columns: the observed decisions, the right decisions, and where
// they differ.
func (x *Beside) strips(n int) string {
	end := max(x.Timeline.End(), 1)
	column := func(d time.Duration) int { return min(int(float64(max(d, 0))/float64(end)*float64(n)), n-1) }
	run, right, differ := make([]rune, n), make([]rune, n), make([]rune, n)
	for i := range x.Timeline.Observations {
		o := &x.Timeline.Observations[i]
		at := column(o.Sent)
		run[at], right[at] = stripMark(run[at], o.Outcome), stripMark(right[at], x.Right[i])
		if o.Outcome != x.Right[i] && o.Outcome != timeline.Unknown && x.Right[i] != timeline.Unknown {
			differ[at] = '^'
		}
	}
	s := func(marks []rune) string {
		return strings.Map(func(r rune) rune {
			if r == 0 {
				return ' '
			}
			return r
		}, string(marks))
	}
	to := text.Instant(end)
	return fmt.Sprintf("the run          |%s|\na correct limiter|%s|\nthey differ      "+
		"|%s|\n%18s%-*s%s\n%18s%s", s(run), s(right), s(differ), "", n-len(to), "0", to, "",
		"# admitted  . denied  % both  ? not known")
}

// stripMark returns the mark of a column with one more request.
func stripMark(mark rune, o timeline.Outcome) rune {
	one := map[timeline.Outcome]rune{timeline.Allowed: '#', timeline.Denied: '.', timeline.Unknown: '?'}[o]
	switch {
	case mark == 0 || mark == '?' || mark == one:
		return one
	case one == '?':
		return mark
	default:
		return '%'
	}
}

// besideCard is one scenario: the observed requests, those of right limiters on the same axes, and where they
// differ.
type besideCard struct {
	Badge                     badge
	ID, Sentence              string
	Observed, Correct, Differ SVG
	Head                      []string
	Rows                      [][]string
}

func (x *Beside) card(id string) besideCard {
	mark := badge{"NOT JUDGED", result.Inconclusive.String()}
	if x.Judgement != nil || len(x.Claims) > 0 {
		mark = badgeOf(x.Verdict)
	}
	right := x.Scenario
	right.Timeline = &timeline.Timeline{Header: x.Timeline.Header,
		Observations: slices.Clone(x.Timeline.Observations)}
	for i := range right.Timeline.Observations {
		right.Timeline.Observations[i].Outcome = x.Right[i]
	}
	right.Judgement, right.Claims, right.Counts = nil, nil, right.Timeline.Counts()
	head, rows := x.rows()
	return besideCard{mark, text.Clean(x.ID), x.sentence(), drawDecisions(id+"o", &x.Scenario),
		drawDecisions(id+"r", &right), drawDifferences(id+"d", x.sentence(), x.Timeline, x.Right), head, rows}
}

// drawDifferences draws how many requests of a recording were decided otherwise than in right, one bar for
// each bin. right has an outcome for each observation; Unknown: none is known. desc says in a sentence what
// the picture shows.
func drawDifferences(id, desc string, t *timeline.Timeline, right []timeline.Outcome) SVG {
	c := newClock(t)
	width := time.Duration(max(1, niceStep(c.of(c.end)/mostBins)*c.one))
	over, under := make([]int, int(c.end/width)+1), make([]int, int(c.end/width)+1)
	most := 1
	for i := range t.Observations {
		o, k := &t.Observations[i], min(int(max(t.Observations[i].Sent, 0)/width), len(over)-1)
		switch {
		case o.Outcome == right[i] || o.Outcome == timeline.Unknown || right[i] == timeline.Unknown:
		case right[i] == timeline.Denied:
			over[k]++
		default:
			under[k]++
		}
		most = max(most, over[k]+under[k])
	}
	f := frame{plotLeft, 22, fullWidth - plotLeft - plotRight, 70}
	d := newDrawing(id, "Where they differ", desc, fullWidth, 128)
	y := scale{lo: 0, hi: float64(most) * 1.08, from: f.y + f.h, to: f.y}
	at := c.scale(f)
	d.yAxis(f, y, 3)
	d.phases(f, at, c, t, false)
	w := max(1.5, at.at(c.of(width))-at.at(0)-0.6)
	for i := range over {
		left, from := at.at(c.of(time.Duration(i)*width)), y.at(float64(over[i]))
		if over[i] > 0 {
			d.rect("over", left, from, w, y.at(0)-from, fmt.Sprintf("%d admitted, it denies", over[i]))
		}
		if under[i] > 0 {
			top := y.at(float64(over[i] + under[i]))
			d.rect("d", left, top, w, from-top, fmt.Sprintf("%d denied, it admits", under[i]))
		}
	}
	d.xAxis(f, at, 10, c.unit)
	d.text("label", f.x, 12, "start", "requests decided otherwise per "+span(width))
	return d.svg()
}

// WriteSimulation writes simulated scenarios for a terminal: a row for each phase with what a right limiter
// admits and denies, and below it the clients that it denies most. Errors: those of w.
func WriteSimulation(w io.Writer, r *result.Run, o Options) error {
	s := newScreen(o)
	for i := range r.Scenarios {
		x := &r.Scenarios[i]
		if i > 0 && !o.Quiet {
			s.line("")
		}
		s.wrapped(0, s.bold(text.Clean(x.ID))+": "+limitText(x)+" admits "+
			text.Thousands(x.Counts.Allowed)+" of "+
			text.Plural(x.Counts.Sent, "request")+", denies "+text.Thousands(x.Counts.Denied)+" ("+
			percent(float64(x.Counts.Denied)/float64(max(x.Counts.Sent, 1)))+")")
		if o.Quiet {
			continue
		}
		for _, note := range []string{x.Unfit, result.CacheNote(x.Header.Notes)} {
			if note != "" {
				s.wrapped(2, "note: "+text.Clean(note))
			}
		}
		if rows := phaseRows(x); len(rows) > 1 || o.Verbose && len(rows) > 0 {
			s.line("")
			head := []string{"PHASE", "REQUESTS", "ADMITTED", "DENIED", "FROM", "TO", "FIRST DENIAL"}
			align := "lrrrrrr"
			s.table(head, align, rows)
		}
		s.clients(x)
	}
	return s.print(w)
}

// phaseRows returns the phases of a recording in their order: what was sent when, and how it was answered.
func phaseRows(s *result.Scenario) (rows [][]string) {
	for _, x := range stepsOf(s) {
		first := "-"
		if x.firstDenial >= 0 {
			first = text.Instant(x.firstDenial)
		}
		rows = append(rows, []string{clip(text.Clean(x.name), 32), text.Thousands(x.sent),
			text.Thousands(x.allowed), text.Thousands(x.denied), text.Instant(x.begin), text.Instant(x.end),
			first})
	}
	return rows
}
