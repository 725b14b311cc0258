package report

import (
	"fmt"

	"github.com/rlcheck/rlcheck/internal/quantity"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// countsText prints the numbers that must add up, as two equations; one that does not hold shows it.
func countsText(c timeline.Counts) string {
	planned := fmt.Sprintf("%s planned %s %s sent + %s unsent", quantity.Thousands(c.Planned),
		equals(c.Planned == c.Sent+c.Unsent),
		quantity.Thousands(c.Sent), quantity.Thousands(c.Unsent))
	sent := fmt.Sprintf("%s sent %s %s allowed + %s denied + %s unknown", quantity.Thousands(c.Sent),
		equals(c.Sent == c.Allowed+c.Denied+c.Unknown), quantity.Thousands(c.Allowed),
		quantity.Thousands(c.Denied), quantity.Thousands(c.Unknown))
	return planned + "; " + sent
}

func equals(holds bool) string {
	if holds {
		return "="
	}
	return "!="
}

// limitText prints the declared limit of s as a SPEC; empty where none is declared.
func limitText(s *result.Scenario) string {
	if len(s.Limit) == 0 {
		return ""
	}
	return plain(s.Limit.String())
}
