package result

// Sum returns the worst verdict of the claims that count, with the reason and detail of the first
// inconclusive one. Unpromised and moot claims do not count. The verdict is needs-failed if no claim counts,
// or if the target lacks the promise that the scenario is about. A claim that passes on too few chances
// becomes Inconclusive in claims itself.
func Sum(claims []Claim, about Promise) (v Verdict, r Reason, detail string) {
	if len(claims) == 0 {
		return Inconclusive, TooFew, "the scenario expects nothing"
	}
	v = Pass
	counted, missing := 0, -1
	for i := range claims {
		claims[i] = claims[i].weighed()
		c := &claims[i]
		if c.Unpromised != "" || c.Moot {
			if missing < 0 || c.Unpromised == about && claims[missing].Unpromised != about {
				missing = i
			}
			continue
		}
		counted++
		v = Worst(v, c.Verdict)
		if c.Verdict == Inconclusive && r == "" {
			r, detail = c.Reason, c.ID+": "+c.Text
		}
	}
	switch {
	case v == Fail:
		return v, "", ""
	case missing >= 0 && (counted == 0 || about != "" && claims[missing].Unpromised == about):
		return Inconclusive, NeedsFailed, claims[missing].ID + ": " + claims[missing].Text
	case v == Inconclusive:
		return v, r, detail
	default:
		return v, "", ""
	}
}
