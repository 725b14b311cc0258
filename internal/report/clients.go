package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
)

// mostClients is how many clients of a scenario a reader sees. Programs get all.
const mostClients = 10

// clientHead has the heads of the columns of clientRow.
var clientHead = []string{"CLIENT", "ALLOWED", "DENIED", "SHARE", "FIRST", "LAST", "NEARNESS"}

func clientRow(c *result.Client) []string {
	first, last, share := "-", "-", "-"
	if c.Denied > 0 {
		first, last = text.Instant(*c.FirstDenial), text.Instant(*c.LastDenial)
		share = percent(c.DenialShare)
	}
	near := "-"
	if c.Nearness != nil {
		near = percent(*c.Nearness)
	}
	return []string{clipFront(text.Clean(c.Partition), 40), text.Thousands(c.Allowed),
		text.Thousands(c.Denied), share, first, last, near}
}

// percent prints a share: 42 %, 0.3 %.
func percent(share float64) string {
	if share > 0 && share < 0.0095 {
		return fmt.Sprintf("%.2g %%", share*100)
	}
	return fmt.Sprintf("%.0f %%", share*100)
}

// clientRows returns the rows of the first clients, and a sentence on the others. nil: there is only one.
func clientRows(s *result.Scenario) (rows [][]string, rest string) {
	all := chartedClients(s)
	if len(all) < 2 {
		return nil, ""
	}
	for i := range all[:min(len(all), mostClients)] {
		rows = append(rows, clientRow(&all[i]))
	}
	if n := len(all) - mostClients; n > 0 {
		rest = "and " + text.Plural(n, "client") + " more (-o clients lists all)"
	}
	return rows, rest
}

// clients writes the clients that were denied most.
func (s *screen) clients(raw *result.Scenario) {
	rows, rest := clientRows(raw)
	if len(rows) == 0 {
		return
	}
	s.line("")
	head := append([]string{"CLIENT of " + clip(text.Clean(raw.ID), 24)}, clientHead[1:]...)
	s.fitting(head, "lrrrrrr", rows, "FIRST", "LAST")
	if rest != "" {
		s.wrapped(0, rest)
	}
}

// clientsHead has the names of rlcheck.report/v1, and then the scenario.
var clientsHead = []string{"partition", "sent", "allowed", "denied", "unknown", "first_denial_ns",
	"last_denial_ns", "denial_share", "nearness", "scenario"}

// writeClients writes a row for each client (RFC 4180), the most denied first. Instants are nanoseconds since
// the start of the recording. An empty cell: it is not known.
func writeClients(w io.Writer, r *result.Run, _ Options) error {
	c := csv.NewWriter(w)
	c.UseCRLF = true
	c.Write(clientsHead) // errors are kept until Flush
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		all := chartedClients(s)
		for k := range all {
			x := &all[k]
			first, last, share, near := "", "", "0", ""
			if x.Denied > 0 {
				first, last = strconv.FormatInt(int64(*x.FirstDenial), 10),
					strconv.FormatInt(int64(*x.LastDenial), 10)
				share = decimal(x.DenialShare)
			}
			if x.Nearness != nil {
				near = decimal(*x.Nearness)
			}
			c.Write([]string{text.MarkdownCell(text.Clean(x.Partition)), strconv.Itoa(x.Sent),
				strconv.Itoa(x.Allowed), strconv.Itoa(x.Denied), strconv.Itoa(x.Unknown), first, last,
				share, near, text.MarkdownCell(text.Clean(s.ID))})
		}
	}
	c.Flush()
	return c.Error()
}

func decimal(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }

// chartedClients returns the clients of a scenario, in its order, with their nearness to the limit as in the
// charts, as far as its recording shows it. May be empty.
func chartedClients(s *result.Scenario) []result.Client {
	out := append([]result.Client{}, s.Clients...)
	tl := s.Whole()
	if tl == nil {
		return out
	}
	if len(out) == 0 {
		out = result.ClientsOf(tl)
	}
	near := map[string]float64{}
	for _, part := range tl.ByPartition() {
		if share, known := nearness(s, part); known {
			near[part.Partition] = share
		}
	}
	for i := range out {
		if share, known := near[out[i].Partition]; known {
			out[i].Nearness = &share
		}
	}
	return out
}
