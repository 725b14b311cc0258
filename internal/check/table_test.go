package check

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

var rewrite = flag.Bool("rewrite", false, "write the verdicts of testdata/judge_*.txt anew")

// tableCase is one case of a directive table:
//
//	=== what it shows
//	limit: SPEC [+ SPEC]
//	recording: started=TIME wall-error=D clock-error=D tick=D ended=D shared    (may be missing)
//	[N x] [PARTITION] FROM..TO allowed|denied [cost=N]     (a line an observation, or N alike)
//	[N x] [PARTITION] FROM.. lost
//	----
//	VERDICT [REASON: DETAIL]
//	FINDING #SEQ...: TEXT
type tableCase struct {
	name, text, want string
	line             int
}

// readTable splits a table into its comment and its cases.
func readTable(t *testing.T, path string) (comment string, cases []tableCase) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	comment, rest, _ := strings.Cut(string(text), "=== ")
	line := 1 + strings.Count(comment, "\n")
	for part := range strings.SplitSeq(rest, "\n=== ") {
		name, body, _ := strings.Cut(part, "\n")
		input, want, found := strings.Cut(body, "----\n")
		if !found {
			t.Fatalf("%s:%d: %s: there is no ----", path, line, name)
		}
		cases = append(cases, tableCase{name, input, strings.TrimSpace(want), line})
		line += 1 + strings.Count(part, "\n")
	}
	return comment, cases
}

// parse reads the input of a case.
func (c tableCase) parse() (*timeline.Timeline, spec.Limit, Options, error) {
	tl, o := &timeline.Timeline{}, Options{SkipMeasure: true}
	var limit spec.Limit
	for line := range strings.Lines(c.text) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "  #")
		key, value, _ := strings.Cut(line, ": ")
		var err error
		switch {
		case line == "":
		case key == "limit":
			limit, err = spec.Parse(value)
		case key == "recording":
			err = readRecording(value, &tl.Header, &o)
		default:
			err = readObservations(line, tl)
		}
		if err != nil {
			return nil, nil, o, fmt.Errorf("%q: %w", line, err)
		}
	}
	slices.SortStableFunc(tl.Observations,
		func(a, b timeline.Observation) int { return int(a.Sent - b.Sent) })
	for i := range tl.Observations {
		tl.Observations[i].Seq = i
	}
	return tl, limit, o, nil
}

func readRecording(text string, h *timeline.Header, o *Options) (err error) {
	for word := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "started":
			h.Started, err = time.Parse(time.RFC3339Nano, value)
		case "wall-error":
			h.WallError, err = time.ParseDuration(value)
		case "clock-error":
			h.ClockError, err = time.ParseDuration(value)
		case "tick":
			h.Tick, err = time.ParseDuration(value)
		case "ended":
			h.Ended, err = time.ParseDuration(value)
		case "shared":
			o.Shared = true
		default:
			err = fmt.Errorf("unknown word %q", word)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func readObservations(line string, tl *timeline.Timeline) error {
	words := strings.Fields(line)
	times, o := 1, timeline.Observation{Arrival: timeline.Arrival{Cost: 1}}
	var err error
	if len(words) > 2 && words[1] == "x" {
		if times, err = strconv.Atoi(words[0]); err != nil {
			return err
		}
		words = words[2:]
	}
	if len(words) > 0 && !strings.Contains(words[0], "..") {
		o.Partition, words = words[0], words[1:]
	}
	if len(words) < 2 {
		return fmt.Errorf("an observation is FROM..TO allowed, denied or lost")
	}
	from, to, _ := strings.Cut(words[0], "..")
	if o.Sent, err = time.ParseDuration(from); err != nil {
		return err
	}
	switch words[1] {
	case "allowed":
		o.Outcome, o.Status = timeline.Allowed, 200
	case "denied":
		o.Outcome, o.Status = timeline.Denied, 429
	case "lost":
		o.Error = "timeout"
	default:
		return fmt.Errorf("outcome %q", words[1])
	}
	if o.Answered = to != ""; o.Answered {
		if o.FirstByte, err = time.ParseDuration(to); err != nil {
			return err
		}
	}
	if len(words) > 2 {
		cost, _ := strings.CutPrefix(words[2], "cost=")
		if o.Cost, err = strconv.ParseInt(cost, 10, 64); err != nil {
			return err
		}
	}
	for range times {
		tl.Observations = append(tl.Observations, o)
	}
	return nil
}

// answer prints a judgement as the tables do.
func answer(j *result.Judgement, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	out := j.Verdict.String()
	if j.Reason != "" {
		out += " " + string(j.Reason) + ": " + j.Detail
	}
	for _, p := range j.Partitions {
		for _, f := range p.Findings {
			out += "\n" + string(f.Kind)
			if p.Partition != "" {
				out += " of " + p.Partition
			}
			for _, seq := range f.Observations {
				out += " #" + strconv.Itoa(seq)
			}
			out += ": " + f.Text
		}
	}
	return out
}

// TestTables judges the cases of testdata/judge_*.txt. A newcomer reads these to learn the judge.
func TestTables(t *testing.T) {
	paths, err := filepath.Glob("testdata/judge_*.txt")
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, path := range paths {
		comment, cases := readTable(t, path)
		written := comment
		for i, c := range cases {
			total++
			tl, limit, o, err := c.parse()
			if err != nil {
				t.Errorf("%s:%d: %s: %v", path, c.line, c.name, err)
				continue
			}
			got := answer(Judge(tl, limit, o))
			if got != c.want && !*rewrite {
				t.Errorf("%s:%d: %s\ngot:\n%s\nwant:\n%s", path, c.line, c.name, got, c.want)
			}
			written += "=== " + c.name + "\n" + c.text + "----\n" + got + "\n"
			if i < len(cases)-1 {
				written += "\n"
			}
		}
		if *rewrite {
			if err := os.WriteFile(path, []byte(written), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if total < 40 {
		t.Errorf("%d cases, want at least 40", total)
	}
}

// TestTablesAreTrue compares the verdicts with the words in the names of the cases. A case whose name says
// "may", "right" or "proves nothing" does not fail. One whose name says "cannot" or "too many" fails.
func TestTablesAreTrue(t *testing.T) {
	paths, _ := filepath.Glob("testdata/judge_*.txt") // a constant pattern
	for _, path := range paths {
		_, cases := readTable(t, path)
		for _, c := range cases {
			fails := strings.HasPrefix(c.want, "fail")
			cannot := strings.Contains(c.name, "cannot") || strings.Contains(c.name, "too many")
			may := strings.Contains(c.name, " may ") || strings.Contains(c.name, " right") ||
				strings.Contains(c.name, "proves nothing")
			if cannot == may || fails != cannot {
				t.Errorf("%s:%d: %q is judged %q: a name says what cannot be and is too many (fail), or "+
					"what may be, is right or proves nothing", path, c.line, c.name, c.want)
			}
		}
	}
}
