package main

import (
	"errors"
	"os"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/rlcheck/rlcheck/internal/ndjson"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// The files of a recording: whole, and while it is made. Of a killed run the second one is left. The first
// has an end where it is compressed: because that was asked for, or because it is long.
const (
	timelineName = "timeline.ndjson"
	journalName  = timelineName + ".part"
	packedEnd    = ".gz"
	longEnd      = ".zst"
)

// recording keeps what one scenario records: a journal while it is made, and the timeline before it is
// judged.
type recording struct {
	dir     *runDir
	id      string
	red     redactor
	journal *os.File
	errs    []error
	// path and header are those of the timeline that is kept.
	path   string
	header timeline.Header
}

// begin makes the journal. What an earlier try left in the place of the timeline is kept elsewhere by then.
func (k *recording) begin() *ndjson.JournalWriter {
	for _, path := range k.dir.recordings(k.id) {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			k.errs = append(k.errs, err)
		}
	}
	f, err := os.Create(k.dir.of(k.id, journalName))
	if err != nil {
		return nil // the plan could not be kept either, and that was said
	}
	k.journal = f
	return ndjson.NewJournal(f, k.red.Replace)
}

// largeRecording is how many requests take so much memory that it is worth the time to collect often while
// they are judged.
const largeRecording = 50_000

// recorded keeps a recording that is over, and its latencies: one that is too long for memory while it is
// judged. It returns what waits for that.
func (k *recording) recorded(tl *timeline.Timeline) (over func()) {
	percent := -1
	if tl.Sent() > largeRecording {
		percent = debug.SetGCPercent(streamGCPercent)
	}
	var keeping sync.WaitGroup
	keep := func() {
		k.whole(tl)
		k.errs = append(k.errs, k.dir.keepLatency(k.id, tl, tl.Header.Started))
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

// whole keeps a recording that is over. The journal goes when the timeline is there.
func (k *recording) whole(tl *timeline.Timeline) {
	k.header = tl.Header
	k.path = k.dir.of(k.id, timelineName+k.dir.end(tl))
	tl = k.red.copyOf(tl)
	err := keepTimeline(k.path, tl)
	k.errs = append(k.errs, err)
	if k.journal == nil {
		return
	}
	_ = k.journal.Close() // what is in it stands in the timeline
	if err == nil {
		_ = os.Remove(k.journal.Name()) // it would be taken for less than the timeline
	}
}

// settled keeps the recording again if its judgement has changed what is known of its clock or of costs.
func (k *recording) settled(tl *timeline.Timeline) {
	was, is := &k.header, &tl.Header
	costs := was.Judged.SingleUnits != is.Judged.SingleUnits || was.Judged.Shared != is.Judged.Shared
	if is.WallError == was.WallError && len(is.Notes) == len(was.Notes) && !costs {
		return
	}
	err := keepTimeline(k.path, tl)
	k.errs = append(k.errs, err)
}

// copyOf returns a recording without secrets; tl stays as it is.
func (r redactor) copyOf(tl *timeline.Timeline) *timeline.Timeline {
	if r.idle {
		return tl
	}
	out := &timeline.Timeline{Header: tl.Header, Observations: slices.Clone(tl.Observations),
		Spool: tl.Spool}
	r.timeline(out)
	return out
}
