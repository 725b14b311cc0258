package main

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/rundir"
	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/trial"
)

// keeper collects from a recording, while it is judged, what reports show beside the verdict. Its memory is
// bounded. Of a large recording it keeps the requests around the first findings, and says so.
type keeper struct {
	// wanted: some report is wanted. untimed: intervals are wider than the requests took.
	wanted, untimed bool
	header          timeline.Header
	latencies       timeline.LatencyTally
	clients         result.ClientTally
	rundir.Kept
	// notes are the remarks on the recording. replay is the command that judges it again.
	notes, replay []string
	// judges are the limits that judge. They are set when the header has been read.
	judges *check.Panel
	// ends: the end of an answer was recorded.
	ends bool
	// timeless counts the outcomes without the time of an answer, caches the answers that a cache gave.
	timeless int
	caches   headers.Caches
	// found are those of the partitions to judge that were read. others are some that are not to be judged.
	found, others map[string]bool
}

// add takes the next observation.
func (k *keeper) add(o *timeline.Observation) {
	if !k.wanted {
		return
	}
	k.clients.Add(o)
	if !k.untimed {
		k.latencies.Add(o)
	}
	k.Keep(o)
}

// scenario returns what reports show of a judged recording.
func (k *keeper) scenario(name string, judges *check.Panel, j *result.Judgement,
	c timeline.Counts) result.Scenario {
	var one spec.Limit
	if limits := judges.Limits(); len(limits) == 1 {
		one = limits[0]
	}
	s := trial.Recording(one, worth(judges, j), j)
	s.ID, s.Counts, s.Header, s.Latency = "stdin", c, k.header, k.latencies.Summary()
	s.Clients = k.clients.Clients()
	if name != "-" { // a pipe cannot be judged again
		s.ID, s.TimelinePath, s.Replay = filepath.Base(name), name, k.replay
	}
	s.Header.Notes = append(slices.Clone(s.Header.Notes), k.notes...)
	if trial.BlameCache(&s); s.FromCache() && j.Verdict == result.Inconclusive {
		j.Reason, j.Detail = s.Reason, s.Detail
	}
	if k.N > 0 {
		s.Timeline = &timeline.Timeline{Header: k.header, Observations: k.Observations, Spool: k.Spool}
	}
	if why, _ := s.Coarse(); j.Unresolved && why != "" {
		s.Detail += "; " + why
	}
	s.Excerpt = k.Excerpt()
	return s
}

// remark says something about a recording, on standard error and in its reports. -q hides it from standard
// error unless must is true.
func remark(e *cli.Env, f *checkFlags, must bool, text string) {
	f.kept.notes = append(f.kept.notes, text)
	if must {
		e.Say.Line(text)
		return
	}
	e.Say.Notef("%s", text)
}

// replayWords returns the words of the command that judges a recording again: the flags that matter to the
// verdict, also those of the environment.
func replayWords(cmd *cobra.Command, names []string) []string {
	words := append([]string{"rlcheck", "check"}, names...)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && f.Name != "output" {
			words = append(words, given(f)...)
		}
	})
	return words
}

// given returns the words by which a flag is given, each value behind its name.
func given(f *pflag.Flag) (words []string) {
	name, value := "--"+f.Name, f.Value.String()
	switch list, many := f.Value.(pflag.SliceValue); {
	case many:
		for _, v := range list.GetSlice() {
			words = append(words, name, v)
		}
		return words
	case f.Value.Type() == "bool":
		return []string{strings.TrimSuffix(name+"="+value, "=true")}
	case f.Value.Type() == "stringToString":
		value = strings.Trim(value, "[]")
	}
	return []string{name, value}
}
