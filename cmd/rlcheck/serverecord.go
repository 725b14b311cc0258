package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"time"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// listenRecording serves a target and records what its clients do. The file is whole at every moment. When
// the command ends, the end of the recording is written into the first line.
func listenRecording(e *cli.Env, t *lab.Target, f serveFlags, also ...string) error {
	file, err := os.Create(f.record)
	if err != nil {
		return fmt.Errorf("--record %s: not written: %w", f.record, cli.Cause(err))
	}
	r, err := lab.NewRecorder(t, file)
	if err == nil {
		e.Say.Notef("recording to %s", f.record)
		err = listen(e, r, f.addr, f.limit, also...)
		ended, broken := r.Close()
		if err = errors.Join(err, broken); broken == nil {
			err = errors.Join(err, endRecording(f.record, ended))
		}
	}
	return errors.Join(err, file.Close())
}

// endRecording writes the end of a recording into its header.
func endRecording(path string, ended time.Duration) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	tl, err := timeline.Read(file, path, timeline.ReadOptions{AllowEmpty: true})
	if err != nil {
		return err
	}
	tl.Header.Ended = ended
	return cli.StreamFile(path, func(w io.Writer) error { return timeline.Write(w, tl) })
}
