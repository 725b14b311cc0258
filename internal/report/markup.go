package report

import (
	"fmt"
	"html"
	"strings"

	"github.com/rlcheck/rlcheck/internal/report/chart"
)

// markup is HTML that is safe to print: its texts are escaped.
//
// html/template is not used: it calls methods by their names, so the linker keeps every exported method of
// every type in the program. That made a third of the binary.
type markup string

// tag fills a format of HTML. It escapes every argument that is no markup, also for the value of an attribute
// in double quotes.
func tag(format string, args ...any) markup {
	for i, a := range args {
		switch x := a.(type) {
		case markup, chart.SVG:
		case string:
			args[i] = html.EscapeString(x)
		default:
			panic(fmt.Sprintf("report: tag: %T is neither a text nor markup", x))
		}
	}
	return markup(fmt.Sprintf(format, args...))
}

// each returns one element of a page for each item.
func each[T any](items []T, element func(T) markup) markup {
	var b strings.Builder
	for _, x := range items {
		b.WriteString(string(element(x)))
	}
	return markup(b.String())
}

// lines returns one element for each text.
func lines(format string, texts []string) markup {
	return each(texts, func(s string) markup { return tag(format, s) })
}

// some returns a format filled with a text, or nothing for an empty text.
func some(format, text string) markup {
	if text == "" {
		return ""
	}
	return tag(format, text)
}

// when returns m if a condition holds, and nothing otherwise.
func when(holds bool, m markup) markup {
	if !holds {
		return ""
	}
	return m
}

// badgeTag returns a verdict in its colour.
func badgeTag(b badge) markup { return tag(`<span class="badge %s">%s</span>`, b.Class, b.Word) }

// cells returns the cells of a row. The first is a text, the others are numbers.
func cells(element string, row []string) markup {
	var out markup
	for i, x := range row {
		class := markup("")
		if i > 0 {
			class = ` class="n"`
		}
		out += tag("<%s%s>%s</%s>", markup(element), class, x, markup(strings.Fields(element)[0]))
	}
	return out
}

// charts returns pictures, one below the other.
func charts(pictures []chart.SVG) markup {
	return each(pictures, func(m chart.SVG) markup { return tag("<div class=\"chart\">%s</div>\n", m) })
}

// claimTable returns the table of claims.
func claimTable(claims []claimRow, head markup) markup {
	return tag("<table class=\"claims\">\n<caption>Claims</caption>\n%s<tbody>%s</tbody></table>", head,
		each(claims, func(c claimRow) markup {
			return tag("<tr><td>%s</td><td><code>%s</code></td><td>%s</td></tr>\n", badgeTag(c.Badge),
				c.ID, c.Text)
		}))
}

// opening returns the head of a page, up to the style sheet.
func opening(title string) markup {
	return tag(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>%s</title>
<style>%s</style>
</head>
`, contentPolicy(), title, markup(pageStyle))
}
