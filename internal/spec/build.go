package spec

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/text"
)

// Pair is one key and its value as text.
type Pair struct{ Key, Value string }

// Keys returns the keys that a SPEC of algorithm a may have, in canonical order. If a is no algorithm, it
// returns all keys.
func Keys(a Algorithm) []string {
	in := familyOf(a)
	if in == 0 {
		in = inAll
	}
	var names []string
	for _, k := range keys {
		if k.in&in != 0 {
			names = append(names, k.name)
		}
	}
	return names
}

// Build makes a policy of its algorithm and of separate keys and values, as they stand in a scenario file or
// in a SPEC. Each key of Keys may stand where it has a meaning for the algorithm. It returns a complete
// policy, or every mistake: those at pairs in their order.
func Build(algorithm string, pairs []Pair) (Policy, []KeyError) {
	return build(algorithm, pairs, false)
}

// Plain returns the policy of an algorithm with a rate and a Full. Every other key has its default.
func Plain(algorithm Algorithm, rate Rate, full int64) Policy {
	b := builder{policy: blank(algorithm)}
	b.policy.Rate, b.policy.Burst = rate, full
	b.complete(familyOf(algorithm))
	return b.policy.WithFull(full)
}

// blank returns a policy of an algorithm, of which nothing has been read yet.
func blank(algorithm Algorithm) Policy {
	return Policy{Algorithm: algorithm, Start: StartFull, Count: CountAdmitted, Refill: RefillContinuous,
		Rounding: RoundNone, Boundary: HalfOpen}
}

// builder collects a policy and its mistakes.
type builder struct {
	policy Policy
	// given maps a key to its first pair; bad holds the keys that are already known to be wrong.
	given map[string]int
	bad   map[string]bool
	wrong []KeyError
	slots int64 // of a window; see inSlots
}

// build is Build. partial: parts of the SPEC were already refused, so no key is called missing.
func build(algorithm string, pairs []Pair, partial bool) (Policy, []KeyError) {
	b := builder{policy: blank(Algorithm(algorithm)), given: map[string]int{}, bad: map[string]bool{}}
	in := familyOf(b.policy.Algorithm)
	if in == 0 && !(partial && algorithm == "") {
		b.wrong = append(b.wrong, KeyError{Pair: -1, Problem: unknownAlgorithm(algorithm)})
	}
	for i, pair := range pairs {
		b.read(i, pair, in)
	}
	if in != 0 {
		b.complete(in)
		if !partial {
			b.checkMissing(in)
		}
		b.checkTogether(in)
		b.inSlots()
		b.policy.Burst = b.policy.Full()
		b.policy = settledStart(b.policy)
	}
	if b.wrong != nil {
		slices.SortStableFunc(b.wrong, func(x, y KeyError) int { return x.Pair - y.Pair })
		return Policy{}, b.wrong
	}
	return b.policy, nil
}

// complete sets the keys that the algorithm has and that were not given to their defaults.
func (b *builder) complete(in family) {
	p := &b.policy
	if in&inWindows != 0 && p.Align == "" {
		p.Align = AlignClock
	}
	if in&inFixedWindow != 0 && p.Refresh == "" {
		p.Refresh = RefreshNone
	}
	if p.Unit == UnitCost {
		p.Unit = ""
	}
	if in&inCharged != 0 && p.Charge == "" {
		p.Charge = ChargeDecision
		if p.Reserve > 0 {
			p.Charge = ChargeCompletion
		}
	}
	if in&inConcurrency != 0 {
		p.Rate.Per = servedIn(*p)
	}
}

// unknownAlgorithm is the problem of a word that names no algorithm.
func unknownAlgorithm(name string) Problem {
	words := text.Words(Algorithms())
	mend := map[string]Algorithm{"leaky-bucket-meter": LeakyBucket, "sliding-window": SlidingWindowLog,
		"sliding-log": SlidingWindowLog, "window": FixedWindow, "bucket": TokenBucket,
		"queue":     LeakyBucketQueue,
		"in-flight": Concurrency, "concurrent-requests": Concurrency, "limit-conn": Concurrency}[name]
	p := Problem{What: fmt.Sprintf("algorithm %q", name),
		Why: "the algorithms are " + strings.Join(words, ", ")}
	p.Mend = text.Suggest(name, words)
	if _, err := ParseRate(name); err == nil {
		p.Mend = fmt.Sprintf("write \"token-bucket,rate=%s,burst=N\"", name)
	} else if mend != "" {
		p.Mend = fmt.Sprintf("did you mean %q?", string(mend))
	} else if product, known := FindProduct(name); known {
		p.Mend = fmt.Sprintf("did you mean %q?", product.Written())
	}
	return p
}

// fail records a problem of the key: at its pair if it has one, at the algorithm otherwise.
func (b *builder) fail(name string, inValue bool, p Problem) {
	at, found := b.given[name]
	if !found {
		at, inValue = -1, false
	}
	b.bad[name] = true
	b.wrong = append(b.wrong, KeyError{Pair: at, InValue: inValue, Problem: p})
}

// read reads one pair. in is empty for an unknown algorithm, which may have every key.
func (b *builder) read(i int, pair Pair, in family) {
	at := slices.IndexFunc(keys, func(k key) bool { return k.name == pair.Key })
	add := func(why, mend string) {
		b.wrong = append(b.wrong,
			KeyError{Pair: i, Problem: Problem{fmt.Sprintf("key %q", pair.Key), why, mend}})
	}
	if at < 0 {
		own := Keys(b.policy.Algorithm)
		mend := text.Suggest(pair.Key, own)
		if pair.Key == "quota" {
			mend = `did you mean "rate"?`
		}
		if _, meant, found := strings.Cut(mend, `"`); found {
			b.bad[strings.TrimSuffix(meant, `"?`)] = true // it is misspelt, not missing
		}
		who := string(b.policy.Algorithm)
		if in == 0 {
			who = "a limit"
		}
		add(who+" takes "+strings.Join(own, ", "), mend)
		return
	}
	k := keys[at]
	if in != 0 && k.in&in == 0 {
		b.bad[k.name] = true
		mend := "remove it"
		if k.name == "limit" { // many people call a rate so
			b.bad["rate"], mend = true, `did you mean "rate"?`
		}
		add(fmt.Sprintf("%s takes %s", b.policy.Algorithm, strings.Join(Keys(b.policy.Algorithm), ", ")),
			mend)
		return
	}
	if _, twice := b.given[k.name]; twice {
		add("it is given twice", "remove one")
		return
	}
	b.given[k.name] = i
	if p := k.read(&b.policy, pair.Value); p != nil {
		b.fail(k.name, true, *p)
	} else if k.name == "slots" {
		b.slots, _ = whole(pair.Value)
	}
}

// readRate reads rate=N/PER. N may be a range A..B, and so may PER.
func readRate(p *Policy, value string) (wrong *Problem) {
	if number, month := strings.CutSuffix(value, "/month"); month {
		p.Rate, wrong = parseRate(number + "/s")
		p.Rate.Per = Month
		return wrong
	}
	if !strings.Contains(value, "..") {
		p.Rate, wrong = parseRate(value)
		return wrong
	}
	number, per, _ := strings.Cut(value, "/")
	least, most, numbers := strings.Cut(number, "..")
	short, long, windows := strings.Cut(per, "..")
	var to Rate
	if p.Rate, wrong = parseRate(least + "/" + short); wrong == nil && numbers {
		to, wrong = parseRate(most + "/" + short)
		p.RateTo = to.N
	}
	if wrong == nil && windows {
		to, wrong = parseRate(least + "/" + long)
		p.PerTo = to.Per
	}
	if wrong = rangeProblem(value, p.Rate.N, &p.RateTo, wrong); wrong != nil {
		return wrong
	}
	return rangeProblem(value, p.Rate.Per, &p.PerTo, nil)
}

// settledStart replaces a level that has a word by that word.
func settledStart(p Policy) Policy {
	switch least, most := p.StartLevels(); {
	case p.Start != StartLevel:
	case most == 0:
		p.Start, p.Level = StartEmpty, 0
	case least == p.Full() && p.BurstTo == 0:
		p.Start, p.Level = StartFull, 0
	}
	return p
}

// inSlots returns the log that a window divided into slots is. Any run of as many slots as a window has holds
// at most the quota. A log whose clock moves by a slot at a time counts the same.
func (b *builder) inSlots() {
	if p := &b.policy; b.slots > 1 {
		p.Algorithm, p.Align, p.PhaseFrom, p.PhaseTo, p.Refresh = SlidingWindowLog, "", 0, 0, ""
		p.Tick, p.TickSet = max(p.Tick, p.Rate.Per/time.Duration(b.slots)), true
	}
}

// setQueue notes a range of queues: Burst is the places of a queue and the one in service.
func setQueue(p *Policy, from, to int64) {
	if p.Queue = from; to > 0 {
		p.BurstTo = to + 1
	}
}

// readStart reads start=: a word, or the units that are there, a whole number or a range A..B.
func readStart(p *Policy, value string) *Problem {
	word := readWord("start", func(p *Policy, w Start) { p.Start = w }, StartFull, StartEmpty, StartUnknown)
	if low, _, _ := strings.Cut(value, ".."); !isDigits(low) {
		wrong := word(p, value)
		if wrong != nil {
			wrong.Why = "start is full, empty, unknown or a number of units"
		}
		return wrong
	}
	return readRange("start", atLeast(0),
		func(p *Policy, from, to int64) { p.Start, p.Level, p.LevelTo = StartLevel, from, to })(p, value)
}

// readRange returns the reader of a key whose value is one value or a range A..B. one reads a value of the
// key. set gets to=0 if it is one value.
func readRange[N int64 | time.Duration](name string, one func(name, value string) (N, *Problem),
	set func(p *Policy, from, to N)) func(*Policy, string) *Problem {
	return func(p *Policy, value string) *Problem {
		low, high, ranged := strings.Cut(value, "..")
		from, wrong := one(name, low)
		to := from
		if wrong == nil && ranged {
			to, wrong = one(name, high)
		}
		what := fmt.Sprintf("%s %q", name, value)
		switch {
		case wrong != nil && ranged:
			return &Problem{What: what, Why: wrong.Why}
		case wrong != nil:
			return wrong
		case to < from:
			return &Problem{What: what, Why: "a range runs from the smaller value to the larger",
				Mend: fmt.Sprintf("write %q", high+".."+low)}
		case to == from:
			to = 0
		}
		set(p, from, to)
		return nil
	}
}

// atLeast returns the reader of a whole number of units that is at least `least`.
func atLeast(least int64) func(name, value string) (int64, *Problem) {
	return func(name, value string) (int64, *Problem) {
		n, why := whole(value)
		if why == "" && n >= least {
			return n, nil
		}
		if why == "" {
			why = fmt.Sprintf("%s is at least %d", name, least)
		} else {
			why = name + " is a whole number of units: " + why
		}
		return 0, &Problem{What: fmt.Sprintf("%s %q", name, value), Why: why}
	}
}

// rangeProblem says what is wrong with a range of rates; nil: nothing is. It makes a range of one value that
// value.
func rangeProblem[N int64 | time.Duration](value string, from N, to *N, wrong *Problem) *Problem {
	what := fmt.Sprintf("rate %q", value)
	switch {
	case wrong != nil:
		return &Problem{What: what, Why: wrong.Why, Mend: wrong.Mend}
	case *to == 0: // one value
	case *to < from:
		*to = 0
		return &Problem{What: what, Why: "a range runs from the smaller value to the larger"}
	case *to == from:
		*to = 0
	}
	return nil
}

// readCount returns the reader of a key whose value is a whole number that is at least `least`.
func readCount(name string, least int64, set func(*Policy, int64)) func(*Policy, string) *Problem {
	return func(p *Policy, value string) *Problem {
		n, wrong := atLeast(least)(name, value)
		if wrong == nil {
			set(p, n)
		}
		return wrong
	}
}

// readWord returns the reader of a key whose value is one of words.
func readWord[W ~string](name string, set func(*Policy, W), words ...W) func(*Policy, string) *Problem {
	return func(p *Policy, value string) *Problem {
		if slices.Contains(words, W(value)) {
			set(p, W(value))
			return nil
		}
		known := text.Words(words)
		return &Problem{What: fmt.Sprintf("%s %q", name, value), Why: name + " is " + text.OneOf(known),
			Mend: text.Suggest(value, known)}
	}
}

// readTime returns the reader of a key whose value is a duration.
func readTime(name string, set func(*Policy, time.Duration)) func(*Policy, string) *Problem {
	return func(p *Policy, value string) *Problem {
		d, err := readDuration(name, value)
		if err == nil {
			set(p, d)
		}
		return err
	}
}

func readTick(p *Policy, value string) *Problem {
	if _, most, ranged := strings.Cut(value, ".."); ranged {
		return &Problem{What: fmt.Sprintf("tick %q", value), Why: "a tick is the most that the clock may " +
			"lag, so that its range is its longest", Mend: fmt.Sprintf("write %q", most)}
	}
	return readTime("tick", func(p *Policy, d time.Duration) { p.Tick, p.TickSet = d, true })(p, value)
}

// readDuration reads the duration of the key name, at most longest.
func readDuration(name, value string) (time.Duration, *Problem) {
	d, why := duration(value)
	if why == "" && d <= longest {
		return d, nil
	}
	p := &Problem{What: fmt.Sprintf("%s %q", name, value), Why: why}
	if why == "" {
		p.Why = "it is longer than " + durationText(longest)
	} else if c := durationMend(value); c != "" {
		p.Mend = fmt.Sprintf("write %q", c)
	}
	return 0, p
}

// readPhase reads phase=D or phase=A..B.
func readPhase(p *Policy, value string) *Problem {
	from, to, isRange := strings.Cut(value, "..")
	p.Align = AlignPhase
	var wrong *Problem
	if p.PhaseFrom, wrong = readDuration("phase", from); wrong != nil {
		return wrong
	}
	p.PhaseTo = p.PhaseFrom
	if isRange {
		p.PhaseTo, wrong = readDuration("phase", to)
	}
	return wrong
}
