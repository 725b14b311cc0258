package result

import (
	"fmt"

	"github.com/rlcheck/rlcheck/internal/text"
)

// Chances says what a Pass rests on: how often the recording could have shown the fault that the claim is
// about. Unknown outcomes are no chances.
type Chances struct {
	// Seen counts them. Demanded is how many a Pass needs, 0: 1.
	Seen     int `json:"seen"`
	Demanded int `json:"demanded"`
	// Of names them in the plural: "denials whose fields were read".
	Of string `json:"of"`
}

// Of returns n chances of which a Pass needs one.
func Of(n int, of string) Chances { return Chances{Seen: n, Demanded: 1, Of: of} }

// Short says that there were fewer chances than a Pass needs. Empty: there were enough.
func (c Chances) Short() string {
	need := max(1, c.Demanded)
	switch {
	case c.Of == "":
		return "nothing is known that could have shown a fault"
	case c.Seen == 0:
		return fmt.Sprintf("there are no %s, and a PASS needs %d", c.Of, need)
	case c.Seen < need:
		return fmt.Sprintf("there are only %d %s, and a PASS needs %d", c.Seen, c.Of, need)
	default:
		return ""
	}
}

// Basis says what a Pass rests on: rests on 80 chances (denials whose fields were read). Empty: c is no Pass.
func (c *Claim) Basis() string {
	if c.Verdict != Pass || c.Chances.Of == "" {
		return ""
	}
	return fmt.Sprintf("rests on %s (%s)", text.Plural(c.Chances.Seen, "chance"), c.Chances.Of)
}

// Settle returns a claim that was judged. It is a Fail with at least one finding, a Pass with none, and
// Inconclusive (too-few) with none and fewer chances than a Pass needs. text says what was seen.
func Settle(id, text string, chances Chances, findings ...Finding) Claim {
	c := Claim{ID: id, Verdict: Pass, Text: text, Findings: findings, Chances: chances}
	if len(findings) > 0 {
		c.Verdict = Fail
	}
	return c.weighed()
}

// weighed returns c. A Pass that rests on too few chances is Inconclusive (too-few).
func (c Claim) weighed() Claim {
	if short := c.Chances.Short(); c.Verdict == Pass && short != "" {
		c.Verdict, c.Reason, c.Text = Inconclusive, TooFew, short+" ("+c.Text+")"
	}
	return c
}
