package report

import (
	"strings"

	"github.com/rlcheck/rlcheck/internal/report/evidence"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// markup returns the page of a run.
func (p *page) markup() markup {
	head := tag(`<body id="top">
<header class="top">
<p class="name">rlcheck</p>
<h1>%s %s</h1>
%s<p class="counts">%s</p>
<p class="about">%s</p>
</header>
<main>
<svg class="defs" aria-hidden="true"><pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" `+
		`patternTransform="rotate(45)"><path d="M0 0V5"/></pattern></svg>
`, badgeTag(p.Verdict), p.Summary, lines("<p class=\"policy\">%s</p>\n", p.Measured), p.Counts, p.About)
	overview := markup("<p>No scenario ran.</p>")
	if len(p.Cards) > 0 {
		overview = tag("\n<table "+
			"class=\"overview\">\n<caption>Scenarios</caption>\n<thead><tr>%s</tr></thead>\n"+
			"<tbody>\n%s</tbody>\n</table>\n", tag(overviewHead, p.Run.LimitWord()), each(p.Cards, card.row))
	}
	return opening(p.Verdict.Word+": rlcheck "+p.Run.ID) + head + each(p.Causes, causeBox.markup) +
		overview +
		each(p.Run.Notes(), func(n result.Note) markup {
			return tag("\n<p class=\"note\">note: %s</p>", n.String())
		}) + each(p.Cards, card.markup) +
		"\n</main>\n<footer><p>A FAIL is proved: no decision times, no order and no hidden start of " +
		"windows explain the recording. A PASS proves the measured intervals, no more. “Units in use” " +
		"is the reading kindest to the target: only what was certainly admitted counts.</p></footer>\n" +
		"</body>\n</html>\n"
}

const overviewHead = `<th scope="col">verdict</th><th scope="col">scenario</th>` +
	`<th scope="col">%s (measured)</th><th scope="col" class="n">allowed</th>` +
	`<th scope="col" class="n">denied</th><th scope="col" class="n">unknown</th>`

func (c causeBox) markup() markup {
	who := tag("%s", c.Who)
	if c.Anchor != "" {
		who = tag(`<a href="#%s">%s</a>`, c.Anchor, c.Who)
	}
	return tag("<div class=\"box %s\">\n<p class=\"sentence\">%s %s</p>\n%s</div>\n", c.Badge.Class,
		badgeTag(c.Badge), who, lines("<p>%s</p>\n", c.Lines))
}

// row returns the scenario in the overview.
func (c card) row() markup {
	worth := each(c.Worth, func(w worthRow) markup {
		return tag("%s%s<br>", w.Declared, some(" <small>(%s)</small>", w.Measured))
	})
	outcomes := each(c.Outcomes, func(o outcomeCell) markup {
		return tag(`<td class="n" data-of="%s">%s</td>`, o.Name, o.Count)
	})
	return tag("<tr><td>%s%s</td><td><a href=\"#%s\">%s</a><br><small>%s</small></td><td>%s</td>%s</tr>\n",
		badgeTag(c.Badge), some(" <small>%s</small>", c.Uncount), c.Anchor, c.ID, c.Title, worth, outcomes)
}

// markup returns the card: a section, which the reader opens if it is folded.
func (c card) markup() markup {
	name := tag(`<h2 id="%s-h">%s %s%s</h2>`, c.Anchor, badgeTag(c.Badge), c.ID,
		some(" <small>%s</small>", c.Uncount))
	next := markup("")
	if c.Next != nil {
		next = tag(`<a href="#%s">next: %s %s</a> `, c.Next.Anchor, c.Next.Badge.Word, c.Next.ID)
	}
	body := tag("%s\n<p class=\"jump\">%s<a href=\"#top\">to the top</a></p>\n</section>\n", c.body(), next)
	if c.Folded {
		return tag("\n<details class=\"card %s\"><summary>%s</summary>\n<section id=\"%s\" "+
			"aria-labelledby=\"%s-h\">\n%s</details>\n", c.Badge.Class, name, c.Anchor, c.Anchor, body)
	}
	return tag("\n<section class=\"card %s\" id=\"%s\" aria-labelledby=\"%s-h\">\n%s\n%s", c.Badge.Class,
		c.Anchor, c.Anchor, name, body)
}

// body returns the content of a card.
func (c card) body() markup {
	return tag("<p class=\"title\">%s%s</p>\n", c.Title, some(` <span class="kind">%s</span>`, c.Kind)) +
		each(c.Failures, quotedEvidence.markup) + each(c.Troubles, troubleRow.markup) + c.worth() +
		tag("\n<p class=\"counts\">%s</p>\n", c.Counts) + some("<p class=\"counts\">answers: %s</p>\n",
		c.Answers) +
		lines("<p class=\"counts\">%s</p>\n", c.Remarks()) + c.drawings() + c.latencies() +
		when(len(c.Claims) > 0, claimTable(c.Claims, "<thead><tr><th scope=\"col\">verdict</th>"+
			"<th scope=\"col\">claim</th><th scope=\"col\">what was seen</th></tr></thead>\n")) +
		c.compared() + c.tables() + "\n<details><summary>Where and how it ran</summary>\n<dl " +
		"class=\"facts\">" +
		each(c.Facts, func(f fact) markup {
			return tag("<div><dt>%s</dt><dd>%s</dd></div>\n", f.Name, f.Value)
		}) + "</dl></details>"
}

func (e quotedEvidence) markup() markup {
	claim := e.Claim
	if claim == evidence.Conformance {
		claim = ""
	}
	return tag("<div class=\"box fail\">\n<p class=\"sentence\">%s%s</p>\n%s%s%s\n</div>\n",
		some("<b>%s</b>: ", claim), e.Sentence, some("<p>%s</p>", e.Span), some("<p>perhaps: %s</p>",
			e.Hint),
		some("<p>replay: <code>%s</code></p>", e.Replay))
}

func (t troubleRow) markup() markup {
	between := ""
	if t.Reason != "" && t.Detail != "" {
		between = ": "
	}
	return tag("<div class=\"box inconclusive\">\n<p class=\"sentence\">%s%s%s</p>\n%s\n</div>\n",
		some("<b>%s</b>", t.Reason), between, t.Detail, some("<p>mend: %s</p>", t.Mend))
}

// worth returns what was declared, and what was measured of it.
func (c card) worth() markup {
	rows := each(c.Worth, func(w worthRow) markup {
		return tag("<div><dt>%s</dt><dd>%s %s</dd></div>\n", w.Declared, w.Measured, w.Bar)
	})
	return when(c.Limit != "", tag("<dl class=\"worth\">\n<div><dt>%s limit</dt>"+
		"<dd><code>%s</code></dd></div>\n%s</dl>", c.LimitWord(), c.Limit, rows))
}

// The legends of pictures.
const (
	legendOutcomes = `<span><i class="a"></i>allowed</span> <span><i class="d"></i>denied</span> ` +
		`<span><i class="u"></i>unknown</span>`
	legendLimit = `<span><i class="a"></i>admitted</span> ` +
		`<span><i class="boundline"></i>most possible</span> ` +
		`<span><i class="over"></i>too many</span> <span><i class="d"></i>a denial</span> ` +
		`<span><i class="hatched"></i>a window may begin</span>`
)

// drawings returns the pictures of the recording.
func (c card) drawings() markup {
	witness := when(len(c.Failures) > 0, ` <span><i class="witness"></i>witness</span>`)
	return when(len(c.Pictures.Time) > 0, tag("<figure>\n<figcaption>Requests over time <span "+
		"class=\"legend\">%s%s</span>"+
		"</figcaption>\n%s</figure>", markup(legendOutcomes), witness, charts(c.Pictures.Time))) +
		when(len(c.Pictures.Witness) > 0, tag("\n<figure>\n<figcaption>The witness, request by request "+
			"<span class=\"legend\">%s; faint: not needed for the proof</span></figcaption>\n%s</figure>",
			markup(legendOutcomes), charts(c.Pictures.Witness))) +
		when(len(c.Pictures.Parts) > 0, tag("\n<figure>\n<figcaption>Against the limit%s <span "+
			"class=\"legend\">%s</span>"+
			"</figcaption>\n<div class=\"parts\">%s</div></figure>", some(" <small>(%s)</small>",
			c.Pictures.Note),
			markup(legendLimit), charts(c.Pictures.Parts))) +
		lines("\n<p class=\"counts\">no chart against the limit, partitions: %s</p>",
			frequencies(c.Pictures.Left))
}

// headings returns the head of a table. Columns after the first n have numbers.
func headings(n int, names ...string) (out markup) {
	for i, name := range names {
		class := markup("")
		if i >= n {
			class = ` class="n"`
		}
		out += tag(`<th scope="col"%s>%s</th>`, class, name)
	}
	return out
}

func (c card) latencies() markup {
	rows := each(c.Rows, func(l latencyCells) markup {
		return tag("<tr><td>%s</td><td>%s</td><td class=\"n\">%s</td>%s</tr>\n", l.Outcome, l.From, l.Count,
			lines(`<td class="n">%s</td>`, l.Values))
	})
	return when(c.Latency != "", tag("<figure>\n<figcaption>Latency of allowed and denied "+
		"answers</figcaption>\n"+
		"<div class=\"chart\">%s</div>\n<div class=\"scroll\"><table>\n<caption>Latency in ms: from the "+
		"plan "+
		"(what a client felt) and from the send (what the target "+
		"took)</caption>\n<thead><tr>%s</tr></thead>\n"+
		"<tbody>%s</tbody></table></div></figure>\n", c.Latency,
		headings(2, "outcome", "from", "answers", "p50", "p90", "p99", "p99.9", "max"), rows))
}

// compared returns the table of the attributes in which two requests of a client differ.
func (c card) compared() markup {
	rows := each(c.Compared, func(x verdict.Comparison) markup {
		seen := tag("%s", x.Observed)
		if x.Failed() {
			seen = tag(`<span class="badge fail">%s</span>`, x.Observed)
		}
		return tag("<tr><td><code>%s</code></td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td>"+
			"</tr>\n",
			x.Attribute, x.Plain, x.Other, x.Expected, seen, x.Detail)
	})
	return when(len(c.Compared) > 0, tag("<div class=\"scroll\"><table>\n<caption>Attributes: two "+
		"requests of one client that differ in one attribute share one quota (shared) or have two "+
		"(separate)</caption>\n<thead><tr>%s</tr></thead>\n<tbody>%s</tbody></table></div>\n",
		headings(6, "attribute", "sent",
			"sent otherwise", "expected", "observed", "why"), rows))
}

// tables returns the phases and the clients, folded.
func (c card) tables() markup {
	rows := func(all [][]string) markup {
		return each(all, func(row []string) markup { return tag("<tr>%s</tr>\n", cells("td", row)) })
	}
	return when(len(c.Steps) > 1, tag("\n<details><summary>Phases</summary>\n<div "+
		"class=\"scroll\"><table>\n"+
		"<caption>%s</caption>\n<thead><tr>%s</tr></thead>\n<tbody>%s</tbody></table></div></details>",
		c.StepNote,
		cells(`th scope="col"`, c.StepHead), rows(c.Steps))) +
		when(len(c.Clients) > 0, tag("\n<details><summary>Clients</summary>\n<div "+
			"class=\"scroll\"><table>\n"+
			"<thead><tr>%s</tr></thead>\n<tbody>%s</tbody></table></div>\n%s</details>",
			headings(1, "client", "allowed", "denied", "of all denials", "first", "last",
				"nearness to the limit"),
			rows(c.Clients), some("<p class=\"counts\">%s</p>\n", c.Others)))
}

// markup returns the page that a release manager signs.
func (p *acceptance) markup() markup {
	boxes := strings.Repeat("_", 22)
	return opening(p.Verdict.Word+": acceptance, rlcheck "+p.Run.ID) +
		tag("<body>\n<header class=\"top\">\n<p class=\"name\">Acceptance of a rate limiter</p>\n<h1>%s "+
			"%s</h1>\n"+
			"<p class=\"about\">%s</p>\n</header>\n<main>\n%s<section class=\"card\">\n<h2>Release</h2>\n",
			badgeTag(p.Verdict), p.Summary, p.About, each(p.Scenarios, accepted.markup)) +
		tag("<p>&#9744; accepted &emsp; &#9744; accepted with reservations &emsp; &#9744; rejected</p>\n"+
			"<p>Reservations: %s</p>\n<p>Name: %s &emsp; Date: %s &emsp; Signature: "+
			"%s</p>\n</section>\n</main>\n",
			strings.Repeat("_", 64), boxes, boxes[:14], boxes) +
		"<footer><p>A FAIL is proved: no decision times, no order and no hidden start of windows " +
		"explain the recording. A PASS proves the measured intervals, no more. A step fails if one of " +
		"its requests is part of a proof.</p></footer>\n</body>\n</html>\n"
}

// markup returns one scenario of the page.
func (x accepted) markup() markup {
	steps := markup("<p>The recording is missing, so no step is shown.</p>")
	if len(x.Steps) > 0 {
		rows := each(x.Steps, func(s acceptedStep) markup {
			return tag("<tr><td>%s</td>%s</tr>\n", badgeTag(s.Badge), cells("td", s.Cells))
		})
		steps = tag("<div class=\"scroll\"><table>\n<caption>%s</caption>\n<thead><tr><th "+
			"scope=\"col\">verdict</th>"+
			"%s</tr></thead>\n<tbody>%s</tbody></table></div>", x.Note, cells(`th scope="col"`,
			x.Head), rows)
	}
	return tag("<section class=\"card %s\">\n<h2>%s %s</h2>\n<p class=\"title\">%s</p>\n<dl "+
		"class=\"facts\">"+
		"<div><dt>target</dt><dd>%s</dd></div>\n<div><dt>%s "+
		"limit</dt><dd><code>%s</code></dd></div>\n"+
		"%s<div><dt>requests</dt><dd>%s</dd></div></dl>\n%s\n%s\n</section>\n", x.Badge.Class,
		badgeTag(x.Badge),
		x.ID, x.Title, x.Target, x.LimitWord(), x.Limit, lines("<div><dt>measured</dt><dd>%s</dd></div>\n",
			x.Worth), x.Counts,
		steps, claimTable(x.Claims, ""))
}
