package result

import (
	"fmt"

	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// CountsText prints the numbers that must add up as two equations, such as 3 planned = 3 sent + 0 unsent; 3
// sent = 2 allowed + 1 denied + 0 unknown. An equation that does not hold has != in place of =.
func CountsText(c timeline.Counts) string {
	unsent := "unsent"
	if c.Lost > 0 {
		unsent = "unsent or not known"
	}
	planned := fmt.Sprintf("%s planned %s %s sent + %s %s", text.Thousands(c.Planned),
		equals(c.Planned == c.Sent+c.Unsent), text.Thousands(c.Sent), text.Thousands(c.Unsent),
		unsent)
	sent := fmt.Sprintf("%s sent %s %s allowed + %s denied + %s unknown", text.Thousands(c.Sent),
		equals(c.Sent == c.Allowed+c.Denied+c.Unknown), text.Thousands(c.Allowed),
		text.Thousands(c.Denied), text.Thousands(c.Unknown))
	return planned + "; " + sent
}

func equals(holds bool) string {
	if holds {
		return "="
	}
	return "!="
}

// Unsent says how many requests are missing from what was planned.
func Unsent(c timeline.Counts) string {
	if c.Lost > 0 {
		return fmt.Sprintf("%d of %d planned requests were not sent, or it is not known", c.Unsent, c.Planned)
	}
	return fmt.Sprintf("%d of %d planned requests were not sent", c.Unsent, c.Planned)
}
