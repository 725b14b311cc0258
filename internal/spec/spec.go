package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rlcheck/rlcheck/internal/text"
)

// example is the SPEC that errors show.
const example = "token-bucket,rate=10/s,burst=20"

// Parse reads a SPEC: ALGORITHM,key=value,... for one policy, several joined by "+". Spaces around words,
// commas and plus signs are free. The keys are those of Build. The configuration of a product may stand in
// place of a policy (nginx:rate=10r/s,burst=20; see Product). The error is a *ParseError with every
// mistake in the SPEC.
func Parse(spec string) (Limit, error) {
	var (
		limit    Limit
		problems []SpecError
		at       int
	)
	for text := range strings.SplitSeq(spec, "+") {
		policies, wrong := parsePart(text)
		for _, w := range wrong {
			w.Column += at
			problems = append(problems, w)
		}
		limit = append(limit, policies...)
		at += len(text) + 1
	}
	alone := func(key, which string, has func(Policy) bool) {
		if len(limit) > 1 && slices.ContainsFunc(limit, has) {
			problems = append(problems, SpecError{Problem{fmt.Sprintf("key %q", key),
				"a limit " + which + " is judged alone, and this one has several parts", ""}, 1})
		}
	}
	alone("growth", "whose bans grow", func(p Policy) bool { return p.Growth > 0 })
	alone("clear", "that a success clears", func(p Policy) bool { return p.Clear > 0 })
	if problems != nil {
		slices.SortStableFunc(problems, func(a, b SpecError) int { return a.Column - b.Column })
		return nil, &ParseError{Spec: spec, Problems: problems}
	}
	return limit, nil
}

// String returns l as a canonical SPEC: Parse of it gives l again.
func (l Limit) String() string {
	texts := make([]string, len(l))
	for i, p := range l {
		texts[i] = p.String()
	}
	return strings.Join(texts, " + ")
}

// MarshalText returns String, the empty text for no limit.
func (l Limit) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText is Parse. The empty text is no limit.
func (l *Limit) UnmarshalText(text []byte) (err error) {
	if *l = nil; len(text) > 0 {
		if *l, err = Parse(string(text)); err != nil {
			err = fmt.Errorf("limit %q: %w", text, err)
		}
	}
	return err
}

// RateText returns the rate of p as a SPEC has it: 10/s, 9..11/s or 100/50s..1m10s.
func (p Policy) RateText() string {
	if p.PerTo != 0 {
		return counts(p.Rate.N, p.RateTo) + "/" + durationText(p.Rate.Per) + ".." + durationText(p.PerTo)
	}
	_, per, _ := strings.Cut(p.Rate.String(), "/")
	return counts(p.Rate.N, p.RateTo) + "/" + per
}

// FullText returns Full, or its range: 20, or 18..22.
func (p Policy) FullText() string {
	_, loose := p.Ends()
	if most := loose.Full(); most != p.Full() {
		return counts(p.Full(), most)
	}
	return counts(p.Full(), 0)
}

// counts prints a whole number, or a range if to is not 0.
func counts(from, to int64) string {
	if to == 0 {
		return strconv.FormatInt(from, 10)
	}
	return strconv.FormatInt(from, 10) + ".." + strconv.FormatInt(to, 10)
}

// word is a piece of a SPEC and where it starts, in bytes from 0.
type word struct {
	text string
	at   int
}

// trim returns w without the spaces around it.
func (w word) trim() word {
	left := strings.TrimLeft(w.text, " \t")
	return word{text: strings.TrimRight(left, " \t"), at: w.at + len(w.text) - len(left)}
}

// split returns the trimmed pieces of w between commas.
func (w word) split() []word {
	var all []word
	at := w.at
	for text := range strings.SplitSeq(w.text, ",") {
		all = append(all, word{text, at}.trim())
		at += len(text) + len(",")
	}
	return all
}

// parsePart reads the text between two plus signs: one policy, or a preset, which may be several. Columns
// count from 1 at the beginning of text.
func parsePart(text string) (Limit, []SpecError) {
	if _, _, ok := CutPreset(text); !ok {
		p, wrong := parsePolicy(text)
		return Limit{p}, wrong
	}
	made, wrong := ExpandPreset(text)
	if wrong != nil {
		return nil, wrong
	}
	var limit Limit
	for one := range strings.SplitSeq(made, "+") {
		p, of := parsePolicy(one)
		for _, w := range of { // a value that no limit may have
			wrong = append(wrong, SpecError{Problem{strings.TrimSpace(text), w.Error(), ""}, 1})
		}
		limit = append(limit, p)
	}
	return limit, wrong
}

// parsePolicy reads one policy. Columns count from 1 at the beginning of text.
func parsePolicy(text string) (Policy, []SpecError) {
	var wrong []SpecError
	add := func(at int, p Problem) { wrong = append(wrong, SpecError{Problem: p, Column: at + 1}) }
	if strings.TrimSpace(text) == "" {
		add(0, Problem{fmt.Sprintf("limit %q", text), "a limit is ALGORITHM,key=value,...",
			"write " + strconv.Quote(example)})
		return Policy{}, wrong
	}
	words := word{text, 0}.split()
	algorithm, rest := words[0], words[1:]
	if strings.Contains(algorithm.text, "=") {
		add(algorithm.at, Problem{strconv.Quote(algorithm.text), "a limit begins with its algorithm",
			"write " + strconv.Quote(example)})
		algorithm.text, rest = "", words
	}
	var (
		pairs        []Pair
		keys, values []int
	)
	for _, w := range rest {
		key, value, found := strings.Cut(w.text, "=")
		if !found {
			p := Problem{What: strconv.Quote(w.text), Why: "after the algorithm each part is key=value"}
			if w.text == "" {
				p.Mend = "remove the comma"
			}
			add(w.at, p)
			continue
		}
		k, v := word{key, w.at}.trim(), word{value, w.at + len(key) + 1}.trim()
		pairs = append(pairs, Pair{k.text, v.text})
		keys, values = append(keys, k.at), append(values, v.at)
	}
	policy, bad := build(algorithm.text, pairs, wrong != nil)
	for _, b := range bad {
		switch {
		case b.Pair < 0 && familyOf(Algorithm(algorithm.text)) != 0: // where the key is to be added
			add(len(text)-1, b.Problem)
		case b.Pair < 0:
			add(algorithm.at, b.Problem)
		case b.InValue:
			add(values[b.Pair], b.Problem)
		default:
			add(keys[b.Pair], b.Problem)
		}
	}
	return policy, wrong
}

// Problem is one mistake in a SPEC, or in a part of one.
type Problem text.Problem

// Error returns "what: why (mend)".
func (p *Problem) Error() string { return (*text.Problem)(p).Error() }

// KeyError is a mistake at one of the pairs given to Build.
type KeyError struct {
	Problem
	// Pair is the index of the wrong pair. -1: the algorithm is wrong, or a pair is missing.
	Pair int
	// InValue: the value of the pair is wrong, otherwise its key is.
	InValue bool
}

// SpecError is a mistake at one place of a SPEC.
type SpecError struct {
	Problem
	// Column is the place, in bytes from 1.
	Column int
}

// ParseError is the error of Parse: every mistake of one SPEC.
type ParseError struct {
	Spec string
	// Problems ascend by Column; never empty.
	Problems []SpecError
}

// mostProblems is how many problems Error prints.
const mostProblems = 10

// Error returns one line for each problem, "limit:COLUMN: what: why (mend)". It prints at most ten, and then
// how many were left out.
func (e *ParseError) Error() string {
	var b strings.Builder
	for i := range e.Problems {
		if i > 0 {
			b.WriteByte('\n')
		}
		if i == mostProblems {
			fmt.Fprintf(&b, "limit: %d more problems", len(e.Problems)-mostProblems)
			break
		}
		fmt.Fprintf(&b, "limit:%d: %s", e.Problems[i].Column, e.Problems[i].Error())
	}
	return b.String()
}

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
	burst = cmp.Or(burst, units)
	for _, kind := range anyKinds {
		limit, err := Parse(strings.NewReplacer("RATE", rate, "BURST", burst, "UNITS", units).Replace(kind))
		if err != nil {
			return nil, true, fmt.Errorf("limit %q: %w", spec, err)
		}
		kinds = append(kinds, limit)
	}
	return kinds, true, nil
}
