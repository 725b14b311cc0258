package rundir

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"slices"

	"github.com/rlcheck/rlcheck/internal/load"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// A recording of more than Most observations (some 50 MB) is not kept whole. Of it, up to mostAround
// observations around the first mostFound findings are kept.
const (
	MostInMemory = load.LongRecording
	mostFound    = 8
	mostAround   = 20_000
)

// GCPercent is the target of the garbage collector while much of a recording is kept. Its data is large and
// has no pointers, so collecting often costs little and saves much.
const GCPercent = 25

// Garbage makes the collector run often once much is kept of a recording that is judged while it is read.
// Before that it would run hundreds of times to save a few megabytes.
type Garbage struct{ seen, usual int }

// Seen counts an observation.
func (g *Garbage) Seen() {
	const each, much = 1 << 16, 48 << 20
	if g.seen++; g.usual != 0 || g.seen%each != 0 {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	if metrics.Read(live); live[0].Value.Uint64() > much {
		g.usual = debug.SetGCPercent(GCPercent)
	}
}

// Judging makes the collector run often while a recording is judged that is not small: the judge holds all of
// it, or whole pieces of a large one.
func (g *Garbage) Judging() {
	const small = 1 << 14
	if g.usual == 0 && g.seen > small {
		g.usual = debug.SetGCPercent(GCPercent)
	}
}

// Over makes the collector run as usual.
func (g *Garbage) Over() {
	if g.usual != 0 {
		debug.SetGCPercent(g.usual)
	}
}

// Kept keeps the observations of a recording. All of a large recording are in a file, if they are wanted.
type Kept struct {
	// Whole: all of a large recording is wanted.
	Whole bool
	// Observations are all of a small recording, and those that Around took of a large one.
	Observations []timeline.Observation
	// Spool is nil while they are few, or if they are not wanted.
	Spool *timeline.Spool
	// N is how many observations Keep took.
	N int
}

// Keep takes the next observation.
func (k *Kept) Keep(o *timeline.Observation) {
	switch k.N++; {
	case k.N <= MostInMemory:
		k.Observations = append(k.Observations, *o)
	case !k.Whole:
		k.Observations = nil
	default:
		if k.Spool == nil {
			k.Spool = timeline.NewSpool(Spill)
			for i := range k.Observations {
				k.Spool.Add(&k.Observations[i])
			}
			k.Observations = nil
		}
		k.Spool.Add(o)
	}
}

// Around reads a recording again that was not kept, for the requests around its first findings.
func (k *Kept) Around(j *result.Judgement, each Eacher) error {
	if k.Spool != nil {
		each = func(take func(*timeline.Observation) bool) error {
			k.Spool.Each(take)
			return nil
		}
	}
	if k.N <= MostInMemory || j.Verdict != result.Fail || each == nil {
		return nil
	}
	found := map[string][]nearby{}
	n := 0
	for i := range j.Partitions {
		p := &j.Partitions[i]
		for _, f := range p.Findings[:min(len(p.Findings), mostFound-n)] {
			found[p.Partition] = append(found[p.Partition], nearby{f, f.Members()})
			n++
		}
	}
	return each(func(o *timeline.Observation) bool {
		near := found[o.Partition]
		if slices.ContainsFunc(near, func(f nearby) bool { return f.has(o) }) {
			k.Observations = append(k.Observations, *o)
		}
		return len(k.Observations) < mostAround
	})
}

// Eacher calls take for every observation of a recording, until it returns false.
type Eacher func(take func(o *timeline.Observation) bool) error

// nearby is what belongs to one finding: its witness, and the requests that overlap with it.
type nearby struct {
	result.Finding
	witness map[int]bool
}

func (f nearby) has(o *timeline.Observation) bool {
	return f.witness[o.Seq] || o.Sent <= f.To && (!o.Answered || o.FirstByte >= f.From)
}

// Excerpt says what is kept of a large recording. Empty for a small one.
func (k *Kept) Excerpt() string {
	if k.N <= MostInMemory {
		return ""
	}
	all, most := text.Thousands(k.N), text.Thousands(MostInMemory)
	if len(k.Observations) == 0 {
		return fmt.Sprintf("%s requests are not drawn, because there are more than %s", all, most)
	}
	const how = "only the requests around the first findings are drawn, because there are %s, more " +
		"than %s: %s"
	return fmt.Sprintf(how, all, most, text.Thousands(len(k.Observations)))
}

// Shorten keeps in memory, of a recording that is too long for it, what pages draw. All of it stays in its
// file until the program ends.
func Shorten(s *result.Scenario) {
	tl := s.Timeline
	if tl == nil || tl.Spool == nil {
		return
	}
	k := Kept{N: tl.Spool.N, Spool: tl.Spool}
	if s.Judgement != nil {
		_ = k.Around(s.Judgement, nil) // a spool can be read again
	}
	s.Timeline = &timeline.Timeline{Header: tl.Header, Observations: k.Observations, Spool: tl.Spool}
	s.Excerpt = k.Excerpt()
}

// Open opens a kept file for reading. One that is no regular file, such as a device or a pipe, may have no
// end, and is an error.
func Open(name string) (*os.File, error) {
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: this is no regular file", name)
	}
	if err != nil {
		return nil, err
	}
	return os.Open(name)
}

// IsJournal tells whether a file is what a killed run has left of a recording. A new one is still empty, and
// is known by its name.
func IsJournal(f *os.File) bool {
	begin := make([]byte, 64)
	n, _ := f.ReadAt(begin, 0) // a pipe has no places
	return timeline.IsJournal(begin[:n]) || filepath.Base(f.Name()) == JournalName
}

// ReadRecording reads a recording, or what a killed run has left of it. A long one is in a file.
func ReadRecording(name string) (*timeline.Timeline, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if IsJournal(f) {
		return readJournal(f, name)
	}
	r, tl := timeline.NewReader(f, name, timeline.ReadOptions{AllowEmpty: true}), &timeline.Timeline{}
	if tl.Header, err = r.Header(); err != nil {
		return nil, err
	}
	k := Kept{Whole: true}
	err = r.Each(func(o *timeline.Observation, _ int) bool {
		k.Keep(o)
		return true
	})
	if err == nil && k.Spool != nil {
		tl.Unroll(k.Spool, MostInMemory)
		return tl, k.Spool.Err()
	}
	tl.Observations = k.Observations
	return tl, err
}
