package text

import (
	"encoding/json"
	"math/big"
	"strings"
)

// Units returns how many units a decimal number is. unit is the size of one, such as 0.00001; empty: 1. ok is
// false if either is no number, the number is negative, or it is no whole number of units below 2^40.
func Units(number, unit string) (units int64, ok bool) {
	n, ok := decimal(number)
	if !ok || n.Sign() < 0 {
		return 0, false
	}
	if unit != "" {
		one, ok := decimal(unit)
		if !ok || one.Sign() <= 0 {
			return 0, false
		}
		n.Quo(n, one)
	}
	if !n.IsInt() || n.Num().BitLen() > 40 {
		return 0, false
	}
	return n.Num().Int64(), true
}

// decimal reads a JSON number exactly.
func decimal(s string) (*big.Rat, bool) {
	s = strings.TrimSpace(s)
	if len(s) > 40 || !json.Valid([]byte(s)) || s == "" || strings.ContainsAny(s, `"[{tfn`) {
		return nil, false
	}
	if _, exponent, found := strings.Cut(strings.ToLower(s), "e"); found && len(exponent) > 3 {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}

// Event returns the value at a path (Members) of the last server-sent event of a stream that has one, and
// false if none has.
func Event(stream []byte, path string) (value string, found bool) {
	for line := range strings.Lines(string(stream)) {
		data, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "data:")
		if !ok {
			continue
		}
		if values := Members([]byte(data), path); len(values) > 0 && values[0] != "<nil>" {
			value, found = values[len(values)-1], true
		}
	}
	return value, found
}
