package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/latency"
	"github.com/rlcheck/rlcheck/internal/load"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/trial"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// keeper takes from a recording, while it is judged, what reports show of it beside the verdict. Its memory
// is bounded: of a large recording it keeps the requests around the first findings, and says so.
type keeper struct {
	// wanted tells that some report is wanted, whole, that one has every request; untimed, that intervals
	// are wider than the requests took.
	wanted, whole, untimed bool
	header                 timeline.Header
	latencies              latency.Collector
	clients                result.ClientTally
	keeping
	n int
	// notes are what was said of the recording, replay the command that judges it again.
	notes, replay []string
}

// A recording of more than mostKept observations is not kept whole (some 50 MB); of it, up to mostAround
// observations around the first mostFound findings are.
const (
	mostKept   = load.LongRecording
	mostFound  = 8
	mostAround = 20_000
)

// add takes the next observation.
func (k *keeper) add(o *timeline.Observation) {
	if !k.wanted {
		return
	}
	k.clients.Add(o)
	if !k.untimed {
		k.latencies.Add(o)
	}
	if k.n++; k.whole || k.n <= mostKept {
		k.keeping.add(o)
	} else {
		k.observations = nil
	}
}

// keeping keeps observations: in memory, or in a file where they are more than mostKept.
type keeping struct {
	observations []timeline.Observation
	// spool is nil while they are few.
	spool *timeline.Spool
}

func (k *keeping) add(o *timeline.Observation) {
	if k.spool == nil && len(k.observations) < mostKept {
		k.observations = append(k.observations, *o)
		return
	}
	if k.spool == nil {
		k.spool = timeline.NewSpool(func() (timeline.Spill, error) { return spill() })
		for i := range k.observations {
			k.spool.Add(&k.observations[i])
		}
		k.observations = nil
	}
	k.spool.Add(o)
}

// around reads a recording that was not kept again, for the requests around its first findings.
func (k *keeper) around(j *verdict.Judgement, each eacher) error {
	if k.spool != nil {
		each = func(take func(*timeline.Observation) bool) error {
			k.spool.Each(take)
			return nil
		}
	}
	if k.n <= mostKept || j.Verdict != verdict.Fail || each == nil {
		return nil
	}
	found := map[string][]nearby{}
	n := 0
	for i := range j.Partitions {
		p := &j.Partitions[i]
		for _, f := range p.Findings[:min(len(p.Findings), mostFound-n)] {
			found[p.Partition] = append(found[p.Partition], newNearby(f))
			n++
		}
	}
	return each(func(o *timeline.Observation) bool {
		near := found[o.Partition]
		if slices.ContainsFunc(near, func(f nearby) bool { return f.has(o) }) {
			k.observations = append(k.observations, *o)
		}
		return len(k.observations) < mostAround
	})
}

// eacher calls take for every observation of a recording, until it returns false.
type eacher func(take func(o *timeline.Observation) bool) error

// nearby is what belongs to one finding: its witness, and what overlaps with it.
type nearby struct {
	verdict.Finding
	witness map[int]bool
}

func newNearby(f verdict.Finding) nearby {
	in := make(map[int]bool, len(f.Observations))
	for _, seq := range f.Observations {
		in[seq] = true
	}
	return nearby{f, in}
}

func (f nearby) has(o *timeline.Observation) bool {
	return f.witness[o.Seq] || o.Sent <= f.To && (!o.Answered || o.FirstByte >= f.From)
}

// scenario is what reports show of a judged recording.
func (k *keeper) scenario(
	name string, judges *check.Panel, j *verdict.Judgement, c timeline.Counts,
) result.Scenario {
	var one spec.Limit
	if limits := judges.Limits(); len(limits) == 1 {
		one = limits[0]
	}
	s := trial.Recording(one, worth(judges, j), j)
	s.ID, s.Counts, s.Header, s.Latency = "stdin", c, k.header, k.latencies.Summary()
	s.Clients = k.clients.Clients()
	if name != "-" { // what came by a pipe cannot be judged again
		s.ID, s.TimelinePath, s.Replay = filepath.Base(name), name, k.replay
	}
	s.Header.Notes = append(slices.Clone(s.Header.Notes), k.notes...)
	if trial.BlameCache(&s); s.FromCache() && j.Verdict == verdict.Inconclusive {
		j.Reason, j.Detail = s.Reason, s.Detail
	}
	if k.n > 0 {
		s.Timeline = &timeline.Timeline{Header: k.header, Observations: k.observations, Spool: k.spool}
	}
	if why, _ := s.Coarse(); j.Unresolved && why != "" {
		s.Detail += "; " + why
	}
	s.Excerpt = k.excerpt()
	return s
}

// excerpt says what is kept of a large recording; empty for any other.
func (k *keeper) excerpt() string {
	if k.n <= mostKept {
		return ""
	}
	const how = "of %d requests, over %d, only those around the first findings are drawn, %d of them"
	return fmt.Sprintf(how, k.n, mostKept, len(k.observations))
}

// shorten leaves in memory, of a recording that is too long for it, what pages draw. All of it stays in its
// file until the program ends.
func shorten(s *result.Scenario) {
	tl := s.Timeline
	if tl == nil || tl.Spool == nil {
		return
	}
	k := keeper{n: tl.Spool.N}
	if s.Judgement != nil {
		_ = k.around(s.Judgement, func(take func(*timeline.Observation) bool) error {
			tl.Spool.Each(take)
			return nil
		})
	}
	s.Timeline = &timeline.Timeline{Header: tl.Header, Observations: k.observations, Spool: tl.Spool}
	s.Excerpt = k.excerpt()
}

// remark says something of a recording on the side, and in its reports. -q hides it from standard error
// unless it must be known.
func remark(e *cli.Env, f *checkFlags, must bool, text string) {
	f.kept.notes = append(f.kept.notes, text)
	if must {
		e.Say.Line(text)
		return
	}
	e.Say.Notef("%s", text)
}

// replayWords are the words that judge a recording again: the flags that matter to the verdict, also those of
// the environment.
func replayWords(cmd *cobra.Command, name string) []string {
	words := []string{"rlcheck", "check", name}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Changed || f.Name == "output" {
			return
		}
		flag := "--" + f.Name
		switch list, ok := f.Value.(pflag.SliceValue); {
		case ok:
			for _, v := range list.GetSlice() {
				words = append(words, flag, v)
			}
		case f.Value.Type() == "stringToString":
			words = append(words, flag, strings.Trim(f.Value.String(), "[]"))
		case f.Value.Type() == "bool" && f.Value.String() == "true":
			words = append(words, flag)
		case f.Value.Type() == "bool":
			words = append(words, flag+"="+f.Value.String())
		default:
			words = append(words, flag, f.Value.String())
		}
	})
	return words
}
