package rundir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"

	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/trial"
)

// The files of a recording: the whole one, and the journal while it is made. A killed run leaves the journal.
// The name of the first one has an end if it is compressed, because that was wanted or because it is long.
const (
	TimelineName = "timeline.ndjson"
	JournalName  = TimelineName + ".part"
)

// Recording keeps what one scenario records: a journal while it is made, and the timeline before it is
// judged.
type Recording struct {
	dir     *Dir
	id      string
	red     trial.Redactor
	journal *os.File
	// Errs are the errors of keeping it.
	Errs []error
	// Path, Digest and header are those of the timeline that is kept.
	Path, Digest string
	header       timeline.Header
}

// NewRecording keeps the recording of the scenario id in a folder, without secrets.
func NewRecording(dir *Dir, id string, red trial.Redactor) *Recording {
	return &Recording{dir: dir, id: id, red: red}
}

// Begin makes the journal. It removes a timeline of an earlier try, which is kept under another name by then.
func (k *Recording) Begin() *timeline.JournalWriter {
	if gone, err := k.dir.Gone(); gone {
		k.Errs = append(k.Errs, err)
		return nil
	}
	for _, path := range k.dir.recordings(k.id) {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			k.Errs = append(k.Errs, err)
		}
	}
	f, err := os.Create(k.dir.Of(k.id, JournalName))
	if err != nil {
		return nil // the plan could not be kept either, and that was reported
	}
	k.journal = f
	return timeline.NewJournal(f, k.red.Replace)
}

// largeRecording is the number of requests whose memory is worth the time of collecting often while they are
// judged.
const largeRecording = 50_000

// Recorded keeps a recording that is over, and its latencies. A recording that is too long for memory is kept
// while it is judged. over waits for that.
func (k *Recording) Recorded(tl *timeline.Timeline) (over func()) {
	percent := -1
	if tl.Sent() > largeRecording {
		percent = debug.SetGCPercent(GCPercent)
	}
	var keeping sync.WaitGroup
	keep := func() {
		k.whole(tl)
		k.Errs = append(k.Errs, k.dir.Keep(k.id, "latency.hlog", func(w io.Writer) error {
			return report.WriteHistogram(w, tl, tl.Header.Started)
		}))
	}
	if tl.Spool != nil {
		keeping.Go(keep)
	} else {
		keep()
	}
	return func() {
		keeping.Wait()
		if percent >= 0 {
			debug.SetGCPercent(percent)
		}
	}
}

// whole keeps a recording that is over. It removes the journal when the timeline is there.
func (k *Recording) whole(tl *timeline.Timeline) {
	k.header = tl.Header
	k.Path = k.dir.Of(k.id, TimelineName+k.dir.End(tl))
	if gone, err := k.dir.Gone(); gone {
		k.Errs = append(k.Errs, err)
		return
	}
	tl = k.red.CopyOf(tl)
	var err error
	k.Digest, err = KeepTimeline(k.Path, tl)
	if err != nil && k.journal != nil {
		err = fmt.Errorf("%w (rlcheck check %s judges what was kept before)", err, k.journal.Name())
	}
	k.Errs = append(k.Errs, err)
	if k.journal == nil {
		return
	}
	_ = k.journal.Close() // its content is in the timeline
	if err == nil {
		_ = os.Remove(k.journal.Name()) // otherwise it would look like a killed run
	}
}

// Settled keeps the recording again if its judgement has changed what is known of its clock or of costs.
func (k *Recording) Settled(tl *timeline.Timeline) {
	if gone, err := k.dir.Gone(); gone {
		k.Errs = append(k.Errs, err)
		return
	}
	was, is := &k.header, &tl.Header
	costs := was.Judged.SingleUnits != is.Judged.SingleUnits || was.Judged.Shared != is.Judged.Shared
	if is.WallError == was.WallError && len(is.Notes) == len(was.Notes) && !costs {
		return
	}
	var err error
	k.Digest, err = KeepTimeline(k.Path, tl)
	k.Errs = append(k.Errs, err)
}
