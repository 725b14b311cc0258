package spec

import (
	"fmt"
	"strings"
)

// AnyPrefix begins a SPEC that names a number and no algorithm: any:rate=100/1m.
const AnyPrefix = "any:"

// anyKinds are the kinds of limit that admit a quota in a window, the most usual first. What they have in
// common is all that a promise of "100 a minute" says. UNITS are those of the rate, BURST those of a bucket.
var anyKinds = []string{
	"token-bucket,rate=RATE,burst=BURST",
	"fixed-window,rate=RATE,align=unknown",
	"fixed-window,rate=RATE,align=first",
	"sliding-window-log,rate=RATE",
	"sliding-window-log,rate=RATE,boundary=closed",
	"sliding-window-counter,rate=RATE,align=unknown",
	"sliding-window-counter,rate=RATE,align=unknown,rounding=nearest",
	"sliding-window-counter,rate=RATE,align=unknown,rounding=up",
	"sliding-window-counter,rate=RATE,align=first",
	"sliding-window-log,rate=RATE,count=all",
	"token-bucket,rate=RATE,burst=BURST,refill=interval,fill=UNITS",
}

// Any returns the limits of each kind that a SPEC of the form any:rate=N/PERIOD stands for, the most usual
// first: a recording keeps the promise if at least one of them explains it. Buckets have a burst of N, unless
// the SPEC has a burst, which may be a range. is=false: spec has another form, and is for Parse.
func Any(spec string) (kinds []Limit, is bool, err error) {
	words, is := strings.CutPrefix(strings.TrimSpace(spec), AnyPrefix)
	if !is {
		return nil, false, nil
	}
	rate, burst := "", ""
	for pair := range strings.SplitSeq(words, ",") {
		key, value, _ := strings.Cut(pair, "=")
		switch key, value = strings.TrimSpace(key), strings.TrimSpace(value); {
		case key == "rate" && rate == "":
			rate = value
		case key == "burst" && burst == "":
			burst = value
		default:
			return nil, true, fmt.Errorf("limit %q: %q: after %s stand a rate and perhaps a burst, each "+
				"once (write %srate=100/1m)", spec, pair, AnyPrefix, AnyPrefix)
		}
	}
	if rate == "" {
		return nil, true, fmt.Errorf("limit %q: the rate is missing (write %srate=100/1m)", spec, AnyPrefix)
	}
	units, _, _ := strings.Cut(rate, "/")
	if burst == "" {
		burst = units
	}
	for _, kind := range anyKinds {
		limit, err := Parse(strings.NewReplacer("RATE", rate, "BURST", burst, "UNITS", units).Replace(kind))
		if err != nil {
			return nil, true, fmt.Errorf("limit %q: %w", spec, err)
		}
		kinds = append(kinds, limit)
	}
	return kinds, true, nil
}
