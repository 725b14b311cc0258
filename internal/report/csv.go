package report

import (
	"encoding/csv"
	"io"
	"strconv"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// csvHead has the names of the timeline format, and then the scenario.
var csvHead = []string{"seq", "partition", "phase", "at_ns", "sent_ns", "first_byte_ns", "done_ns", "status",
	"outcome", "cost", "error", "scenario"}

// writeCSV writes a row for each observation (RFC 4180). Times are integers in nanoseconds since the start of
// the recording. An empty cell: it is not known. Texts that a spreadsheet would take for formulas begin with
// an apostrophe.
func writeCSV(w io.Writer, r *result.Run, _ Options) error {
	recorded, err := recordings(r)
	if err != nil {
		return err
	}
	c := csv.NewWriter(w)
	c.UseCRLF = true
	c.Write(csvHead) // errors are kept until Flush
	row := make([]string, len(csvHead))
	for _, s := range recorded {
		id := text.MarkdownCell(text.Clean(s.ID))
		for o := range s.Timeline.All() {
			csvRow(row, o, id)
			if err := c.Write(row); err != nil {
				return err
			}
		}
	}
	c.Flush()
	return c.Error()
}

func csvRow(row []string, o *timeline.Observation, scenario string) {
	row[0] = strconv.Itoa(o.Seq)
	row[1], row[2] = text.MarkdownCell(text.Clean(o.Partition)), text.MarkdownCell(text.Clean(o.Phase))
	row[3], row[4] = nanos(o.At), nanos(o.Sent)
	row[5], row[6], row[7] = "", "", ""
	if o.Answered {
		row[5] = nanos(o.FirstByte)
	}
	if o.Done != 0 {
		row[6] = nanos(o.Done)
	}
	if o.Status != 0 {
		row[7] = strconv.Itoa(o.Status)
	}
	row[8], row[9] = o.Outcome.String(), strconv.FormatInt(o.Cost, 10)
	row[10], row[11] = text.MarkdownCell(text.Clean(o.Error)), scenario
}

func nanos(d time.Duration) string { return strconv.FormatInt(int64(d), 10) }
