package check

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// A new corpus takes, out of so many candidates, the pairs that are judged quickly. The keys of some
// candidates do not go together.
const (
	corpusCandidates = 3000
	quickly          = 20 * time.Millisecond
)

// matter is one pair of the corpus: everything that a judgement depends on.
type matter struct {
	limit spec.Limit
	tl    *timeline.Timeline
	o     Options
}

// corpusPair returns pair number n, ok=false where its keys do not go together. Two of three recordings have
// some outcomes turned, as a broken limiter turns them. Every fourth was cut out of traffic.
func corpusPair(n int) (p matter, spec string, ok bool) {
	r := rand.New(rand.NewPCG(soakSeed+41, uint64(n)))
	spec = rangedSPEC(r)
	limit, _, lim := limiterOf(r, spec)
	if lim == nil || unknowns(limit) > 1 {
		return p, spec, false
	}
	p = matter{limit: limit, tl: clockedTraffic(r, lim, limit)}
	r.IntN(4) // two draws without use: the corpus was made with them
	r.IntN(64)
	r.IntN(25)
	p.tl.Observations = p.tl.Observations[:min(len(p.tl.Observations), 6+r.IntN(24))]
	if r.IntN(3) > 0 {
		most := 1 + r.IntN(5)
		for i := range p.tl.Observations {
			o := &p.tl.Observations[i]
			if o.Outcome != timeline.Unknown && r.IntN(len(p.tl.Observations)) < most {
				o.Outcome = 3 - o.Outcome
			}
		}
	}
	p.tl.Header.Ended = p.tl.End()
	if r.IntN(4) == 0 {
		cutAmid(r, p.tl)
	}
	p.o = Options{SkipMeasure: r.IntN(4) > 0, Shared: r.IntN(8) == 0,
		Conformance: []result.Conformance{"", "", "", "", result.UpperBound, result.LowerBound}[r.IntN(6)]}
	return p, spec, true
}

// unknowns counts the values of a limit that a search has to find, each of which multiplies its work.
func unknowns(limit spec.Limit) int {
	n := 0
	for _, p := range limit {
		box, _ := PhasesOf(p, timeline.Header{})
		for _, open := range []bool{box.From != box.To, p.PerTo > 0, p.RateTo > 0, p.BanTo > 0, p.TTLTo > 0} {
			if open {
				n++
			}
		}
	}
	return n
}

// sum is a checksum of the recording. Where it differs, the generator has changed and not the judge.
func (p matter) sum() uint64 {
	h := fnv.New64a()
	head := p.tl.Header
	fmt.Fprintln(h, head.Started, head.WallError, head.ClockError, head.DriftPPM, head.Tick)
	fmt.Fprintln(h, head.Ended, head.CompleteFrom, head.CompleteUntil)
	for _, o := range p.tl.Observations {
		fmt.Fprintf(h, "%d %s %d %d %d ", o.Seq, o.Partition, o.Cost, o.Sent, o.FirstByte)
		fmt.Fprintf(h, "%d %t %s\n", o.Done, o.Answered, o.Outcome)
	}
	return h.Sum64()
}

// record prints a judgement without its hint: verdict, reason, findings with their request numbers, and what
// was measured.
func record(j *result.Judgement, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s", j.Verdict, j.Reason, j.Detail)
	for _, p := range j.Partitions {
		fmt.Fprintf(&b, "\n%s: %s %s, %d judged", p.Partition, p.Verdict, p.Reason, p.Judged)
		if p.Search.Capped {
			b.WriteString(", capped")
		}
		if m := measuredText(p.Measured); m != "" {
			b.WriteString(", measured" + m)
		}
		for _, f := range p.Findings {
			fmt.Fprintf(&b, "\n%s %d/%d %d..%d", f.Kind, f.Seen, f.Bound, f.From, f.To)
			fmt.Fprintf(&b, "%s: %s", ranges(f.Observations), f.Text)
		}
	}
	return b.String()
}

// measuredText prints what was measured, "" if nothing was.
func measuredText(m result.Measured) string {
	text := ""
	for i, iv := range []result.Interval{m.Burst, m.Rate, m.Phase} {
		if iv.LoSet || iv.HiSet {
			text += " " + []string{"burst", "rate", "phase"}[i] + "=" + iv.String()
		}
	}
	for _, of := range m.Policies {
		text += " (" + measuredText(of) + ")"
	}
	return text
}

// ranges prints ascending numbers: " #3-5 #9".
func ranges(numbers []int) string {
	text := ""
	for i := 0; i < len(numbers); {
		k := i
		for k+1 < len(numbers) && numbers[k+1] == numbers[k]+1 {
			k++
		}
		if text += fmt.Sprintf(" #%d", numbers[i]); k > i {
			text += fmt.Sprintf("-%d", numbers[k])
		}
		i = k + 1
	}
	return text
}

// judged returns the judgement of the pair by Judge, and that by a Stream of one partition after the other
// where it differs.
func (p matter) judged() string {
	text := record(Judge(p.tl, p.limit, p.o))
	s := newStream(p.limit, p.tl.Header, p.o, inTurnCaps)
	for i := range p.tl.Observations {
		_ = s.Observe(&p.tl.Observations[i]) // Finish returns it again
	}
	if other := record(s.Finish()); other != text {
		text += "\nstream: " + strings.ReplaceAll(other, "\n", "\n  ")
	}
	return text
}

// corpusText judges the pairs of the given numbers and returns a text for each. The text is "" where the keys
// of a pair do not go together. It is "" also where judging takes longer than limit, unless limit is 0.
func corpusText(numbers []int, limit time.Duration) (texts []string, algorithms []spec.Algorithm) {
	texts, algorithms = make([]string, len(numbers)), make([]spec.Algorithm, len(numbers))
	Each(len(numbers), func(i int) {
		p, spec, ok := corpusPair(numbers[i])
		if !ok {
			return
		}
		begun := time.Now()
		said := p.judged()
		if limit > 0 && time.Since(begun) > limit {
			return
		}
		n := len(p.tl.Observations)
		texts[i] = fmt.Sprintf("=== %d %s, %d requests %x\n%s\n", numbers[i], spec, n, p.sum(), said)
		algorithms[i] = p.limit[0].Algorithm
	})
	return texts, algorithms
}

// chooseCorpus writes a new corpus: of the first candidates those that are judged quickly.
func chooseCorpus(t *testing.T) {
	numbers := make([]int, corpusCandidates)
	for n := range numbers {
		numbers[n] = n
	}
	texts, algorithms := corpusText(numbers, quickly)
	files := map[string]string{}
	for i, text := range texts {
		if text != "" {
			files[filepath.Join("testdata", "corpus_"+string(algorithms[i])+".txt")] += text
		}
	}
	for path, text := range files {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCorpus compares all that is said of random recordings with testdata/corpus_*.txt. The recordings are
// right and broken, under random SPECs of every key, and are judged whole and as streams. It shows effects of
// a change of the judge that nobody thought of.
//
// The flag -rewrite writes the files anew, and chooses new pairs where there is no file. Read the difference.
//
// The first line of a pair has its number, its SPEC and a checksum of its recording. The lines after it are
// what Judge says. The last one is what Stream says, where that differs.
func TestCorpus(t *testing.T) {
	paths, _ := filepath.Glob("testdata/corpus_*.txt") // a constant pattern
	if len(paths) == 0 && *rewrite {
		chooseCorpus(t)
		return
	}
	if len(paths) < len(spec.Algorithms()) {
		t.Errorf("%d files, want one for each of %d algorithms", len(paths), len(spec.Algorithms()))
	}
	told := 0
	for _, path := range paths {
		old, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		wants := strings.SplitAfter(string(old), "\n=== ")
		numbers := make([]int, len(wants))
		for i := range wants {
			wants[i] = "=== " + strings.TrimSuffix(strings.TrimPrefix(wants[i], "=== "), "=== ")
			if _, err := fmt.Sscan(strings.TrimPrefix(wants[i], "=== "), &numbers[i]); err != nil {
				t.Fatalf("%s: pair %d has no number: %v", path, i, err)
			}
		}
		gots, _ := corpusText(numbers, 0)
		for i, got := range gots {
			if got != wants[i] && !*rewrite && told < 10 {
				told++
				t.Errorf("%s: got\n%swant\n%s", path, got, wants[i])
			}
		}
		if *rewrite {
			if err := os.WriteFile(path, []byte(strings.Join(gots, "")), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
