package identify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Found is what tells clients apart.
type Found struct {
	// Rows has a row for each way: what was observed.
	Rows []result.Comparison
	// Stopped says why some ways were not asked about; empty: all were.
	Stopped string
	// Timeline is the recording of all rounds. Each way has a partition, except those that share the plain
	// one.
	Timeline *timeline.Timeline
}

// File is the name of the recording of Found, beside that of the limit.
const File = "clients.ndjson"

// What was observed of a way, in the words of timeline.Attributes. The other client draws on the quota of the
// plain client, has a quota of its own, or is not limited.
const (
	Shared    = "shared"
	Separate  = "separate"
	Unlimited = "unlimited"
	NotShown  = "not shown"
)

// Named returns the names of the ways with an observation; never nil.
func (f *Found) Named(observed string) []string {
	out := []string{}
	for _, row := range f.Rows {
		if row.Observed == observed {
			out = append(out, row.Attribute)
		}
	}
	return out
}

// Lines describes f for people.
func (f *Found) Lines() []string {
	var out []string
	say := func(format string, names []string) {
		if len(names) > 0 {
			out = append(out, fmt.Sprintf(format, strings.Join(names, ", ")))
		}
	}
	say("clients are told apart by: %s", f.Named(Separate))
	say("not told apart by: %s", f.Named(Shared))
	say("not limited with another: %s", f.Named(Unlimited))
	var reasons []string
	for _, row := range f.Rows {
		if row.Observed == NotShown && !slices.Contains(reasons, row.Detail) {
			reasons = append(reasons, row.Detail)
		}
	}
	for _, why := range reasons {
		var names []string
		for _, row := range f.Rows {
			if row.Observed == NotShown && row.Detail == why {
				names = append(names, row.Attribute)
			}
		}
		say("not known whether clients are told apart by: %s ("+strings.ReplaceAll(why, "%", "%%")+")", names)
	}
	return out
}

// Claim returns f as a claim of a scenario.
func (f *Found) Claim() result.Claim {
	out := result.Claim{ID: string(result.ClaimAttributes), Kind: result.ClaimAttributes,
		Verdict: result.Pass, Text: strings.Join(f.Lines(), "; "), Compared: f.Rows}
	if len(f.Named(NotShown)) == len(f.Rows) {
		out.Verdict, out.Reason = result.Inconclusive, result.TooFew
	}
	return out
}

// KeyField is the header field whose key tells clients apart, where the plain client has no key; empty where
// none was found.
func (f *Found) KeyField() string {
	for _, row := range f.Rows {
		name, header := strings.CutPrefix(row.Attribute, "header ")
		if header && row.Plain == NoKey && row.Observed == Separate {
			return name
		}
	}
	return ""
}

// JSONApart is Found for programs, as it stands in the identity document.
type JSONApart struct {
	ToldApartBy []string      `json:"told_apart_by"`
	NotBy       []string      `json:"not_by"`
	NotLimited  []string      `json:"not_limited"`
	Unknown     []JSONUnshown `json:"unknown"`
	Requests    int           `json:"requests"`
}

// JSONUnshown is a way of which nothing was shown.
type JSONUnshown struct {
	Attribute string `json:"attribute"`
	Why       string `json:"why"`
}

// JSON returns f for programs; nil for nil.
func (f *Found) JSON() *JSONApart {
	if f == nil {
		return nil
	}
	out := &JSONApart{ToldApartBy: f.Named(Separate), NotBy: f.Named(Shared), NotLimited: f.Named(Unlimited),
		Unknown: []JSONUnshown{}, Requests: len(f.Timeline.Observations)}
	for _, row := range f.Rows {
		if row.Observed == NotShown {
			out.Unknown = append(out.Unknown, JSONUnshown{row.Attribute, row.Detail})
		}
	}
	return out
}
