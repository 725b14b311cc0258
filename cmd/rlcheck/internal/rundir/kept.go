package rundir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"slices"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
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

// Judging makes the collector run often while a recording is judged that was read: the judge holds whole
// pieces of a large one.
func (g *Garbage) Judging() {
	if g.usual == 0 && g.seen > MostInMemory {
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
			found[p.Partition] = append(found[p.Partition], newNearby(f))
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

func newNearby(f result.Finding) nearby {
	in := make(map[int]bool, len(f.Observations))
	for _, seq := range f.Observations {
		in[seq] = true
	}
	return nearby{f, in}
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

// spilled is a temporary file that is removed when it is closed. It moves to other folders if its own is
// full.
type spilled struct {
	*os.File
	size int64
	// dir is the folder of the file; "" is that of the system. others are the folders to move to.
	dir    string
	others []string
	moved  func(why error, to string)
}

// Spill makes the file for the part of a large recording that does not fit into memory.
func Spill() (timeline.Spill, error) { return SpillAlso("", nil)() }

// SpillAlso is Spill that moves to another folder if that for temporary files is full or cannot be written
// to. moved says so.
func SpillAlso(other string, moved func(why error, to string)) func() (timeline.Spill, error) {
	return func() (timeline.Spill, error) {
		s := &spilled{moved: moved}
		if other != "" {
			s.others = []string{other}
		}
		if err := s.begin(); err != nil {
			return nil, err
		}
		return s, nil
	}
}

// begin makes the file, in the first folder where that is possible.
func (s *spilled) begin() error {
	f, err := os.CreateTemp(s.dir, "rlcheck-*")
	if err != nil {
		return s.move(err)
	}
	_ = os.Remove(f.Name()) // where the system allows that, nothing is left even after a crash
	s.File = f
	return nil
}

// move continues in the next folder, after an error in this one. Without a next one it returns that error.
func (s *spilled) move(why error) error {
	name := s.dir
	if name == "" {
		name = os.TempDir()
	}
	why = fmt.Errorf("%s: %w (make room there, or set TMPDIR to another folder)", name, cli.Cause(why))
	if len(s.others) == 0 {
		return why
	}
	s.moved(why, s.others[0])
	old := s.File
	s.dir, s.others = s.others[0], s.others[1:]
	if err := s.begin(); err != nil || old == nil {
		return errors.Join(err)
	}
	_, err := io.Copy(s.File, io.NewSectionReader(old, 0, s.size))
	_ = old.Close() // all of it was read
	_ = os.Remove(old.Name())
	if err != nil {
		return fmt.Errorf("%s: %w", s.dir, cli.Cause(err))
	}
	return nil
}

// Write appends p.
func (s *spilled) Write(p []byte) (int, error) {
	n, err := s.File.Write(p)
	if err != nil {
		if err = s.move(err); err != nil {
			return n, err
		}
		return s.Write(p)
	}
	s.size += int64(n)
	return n, nil
}

// Close removes the file.
func (s *spilled) Close() error {
	err := s.File.Close()
	_ = os.Remove(s.Name()) // mostly gone already
	return err
}
