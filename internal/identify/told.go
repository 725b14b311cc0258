package identify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/verdict"
)

// ClientsFile is the name of the recording of Clients, beside that of the limit.
const ClientsFile = "clients.ndjson"

// named are the ways of which something was observed.
func (c *Clients) named(observed string) []string {
	out := []string{}
	for _, row := range c.Rows {
		if row.Observed == observed {
			out = append(out, row.Attribute)
		}
	}
	return out
}

// lines say it for people.
func (c *Clients) lines() []string {
	var out []string
	say := func(format string, names []string) {
		if len(names) > 0 {
			out = append(out, fmt.Sprintf(format, strings.Join(names, ", ")))
		}
	}
	say("clients are told apart by: %s", c.named(separate))
	say("not told apart by: %s", c.named(shared))
	say("not limited with another: %s", c.named(unlimited))
	var reasons []string
	for _, row := range c.Rows {
		if row.Observed == notShown && !slices.Contains(reasons, row.Detail) {
			reasons = append(reasons, row.Detail)
		}
	}
	for _, why := range reasons {
		var names []string
		for _, row := range c.Rows {
			if row.Observed == notShown && row.Detail == why {
				names = append(names, row.Attribute)
			}
		}
		say("not known whether clients are told apart by: %s ("+strings.ReplaceAll(why, "%", "%%")+")", names)
	}
	return out
}

// Claim is the same as a claim of a scenario.
func (c *Clients) Claim() verdict.Claim {
	out := verdict.Claim{ID: string(verdict.ClaimAttributes), Kind: verdict.ClaimAttributes,
		Verdict: verdict.Pass, Text: strings.Join(c.lines(), "; "), Compared: c.Rows}
	if len(c.named(notShown)) == len(c.Rows) {
		out.Verdict, out.Reason = verdict.Inconclusive, verdict.TooFew
	}
	return out
}

// jsonApart is Clients for programs.
type jsonApart struct {
	ToldApartBy []string      `json:"told_apart_by"`
	NotBy       []string      `json:"not_by"`
	NotLimited  []string      `json:"not_limited"`
	Unknown     []jsonUnshown `json:"unknown"`
	Requests    int           `json:"requests"`
}

type jsonUnshown struct {
	Attribute string `json:"attribute"`
	Why       string `json:"why"`
}

func (c *Clients) json() *jsonApart {
	if c == nil {
		return nil
	}
	out := &jsonApart{ToldApartBy: c.named(separate), NotBy: c.named(shared),
		NotLimited: c.named(unlimited), Unknown: []jsonUnshown{}, Requests: len(c.Timeline.Observations)}
	for _, row := range c.Rows {
		if row.Observed == notShown {
			out.Unknown = append(out.Unknown, jsonUnshown{row.Attribute, row.Detail})
		}
	}
	return out
}
