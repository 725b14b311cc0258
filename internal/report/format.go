package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/result"
)

// Options say what a format needs to know of its reader. The zero value is good.
type Options struct {
	// Color lets table use colours. Width is the width of the terminal in columns; 0: 80.
	Color bool
	Width int
	// Strict lets recommended scenarios count.
	Strict bool
	// Verbose lets table print each finding of each scenario, the latencies, and how well the generator kept
	// its plan.
	Verbose bool
	// Quiet lets table print only the line of the verdict.
	Quiet bool
	// InconclusiveIsError makes junit write an error for an inconclusive claim, instead of a skipped test.
	InconclusiveIsError bool
	// Simulated tells html that a right limiter answered in virtual time, so nothing has a verdict.
	Simulated bool
}

type format struct {
	name string
	// about says in a sentence what it is for.
	about string
	write func(io.Writer, *result.Run, Options) error
	// told: the format can show a failure of the run only as one of its scenarios.
	told bool
}

// formats are in the order of the documentation. The table is never written after init.
var formats = []format{
	{"table", "For a terminal: the verdict, the measured limit, and what proves a FAIL.", writeTable, true},
	{"json", "For programs. rlcheck schema report (verdict, compare, identity) describes it.",
		writeDocument, false},
	{"junit", "For CI: one test case for each claim.", writeJUnit, true},
	{"ctrf", "For CI, in the Common Test Report Format (ctrf.io): an INCONCLUSIVE claim is other.",
		writeCTRF, true},
	{"markdown", "For a pull request or a step summary.", writeMarkdown, true},
	{"github", "Annotations of GitHub Actions.", writeGitHub, true},
	{"html", "One page without scripts: the requests, the witness and the limit as pictures.",
		writeHTML, true},
	{"acceptance", "One page to print and sign before a release: one row for each step of the load.",
		writeAcceptance, true},
	{"ndjson", "The timeline of one scenario, one observation in each line.", writeNDJSON, false},
	{"csv", "The timeline as a table.", writeCSV, false},
	{"clients", "What happened to each client, as CSV: the client with the most denials first.",
		writeClients, false},
	{"hlog", "The latencies of one scenario, as an HdrHistogram log.", writeHlog, false},
	{"openmetrics", "Counters, latencies and verdicts for Prometheus.", writeOpenMetrics, false},
}

// Formats returns the names that Write knows, in the order of the documentation.
func Formats() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.name
	}
	return names
}

// About says in a sentence what a format of Formats is for.
func About(name string) string {
	return formats[slices.IndexFunc(formats, func(f format) bool { return f.name == name })].about
}

// Write writes r to w in the named format. Errors: an unknown format (the text lists the known ones), a
// format that needs recordings which r does not have, and those of w.
func Write(w io.Writer, name string, r *result.Run, o Options) error {
	i := slices.IndexFunc(formats, func(f format) bool { return f.name == name })
	if i < 0 {
		return fmt.Errorf("format %q: no such format (one of %s)", name, strings.Join(Formats(), ", "))
	}
	if formats[i].told {
		r = WithContradiction(r, o.Strict)
	}
	if err := formats[i].write(w, r, o); err != nil {
		return fmt.Errorf("report %s: %w", name, err)
	}
	return nil
}
