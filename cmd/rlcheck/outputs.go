package main

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/ndjson"
	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spell"
)

// output is one -o FORMAT[=PATH]; an empty path is standard output.
type output struct{ format, path string }

// shows tells whether a format of check shows more than the verdict.
func (o output) shows() bool { return o.format != "text" && o.format != "json" }

// whole tells whether a format is made of every request.
func (o output) whole() bool { return o.format == "hlog" || slices.Contains(perRequest, o.format) }

// parseOutputs reads the values of -o, which name some of formats. At most one goes to standard output; with
// none there, fallback does.
func parseOutputs(values, formats []string, fallback string) ([]output, error) {
	var out []output
	spoken := 0
	for _, v := range values {
		format, path, withPath := strings.Cut(v, "=")
		if !slices.Contains(formats, format) {
			return nil, cli.Usagef("-o %q: no such format: one of %s%s", v, strings.Join(formats, ", "),
				cli.Mend(spell.Suggest(v, formats)))
		}
		if withPath && path == "" {
			return nil, cli.Usagef("-o %q: the path is empty (write %s=FILE)", v, format)
		}
		if path == "" {
			spoken++
		}
		out = append(out, output{format, path})
	}
	if spoken > 1 {
		return nil, cli.Usagef("-o: %d formats without a file: only one can go to standard output (write "+
			"FORMAT=FILE)", spoken)
	}
	if spoken == 0 && fallback != "" {
		out = append(out, output{format: fallback})
	}
	return out, nil
}

// reportOptions are what the formats need to know of the terminal and the global flags.
func reportOptions(e *cli.Env) report.Options {
	return report.Options{Color: e.WantsColor(),
		Verbose: e.Verbose, Quiet: e.Quiet, Width: cli.Terminal(e.Say.Out)}
}

// perRequest are the formats that have each request.
var perRequest = []string{"ndjson", "csv"}

// emit writes a run in every wanted format and says what could not be written; it returns whether all was.
func emit(e *cli.Env, outs []output, r *result.Run, o report.Options) bool {
	return emitEach(e, outs, func(w io.Writer, format string) error { return report.Write(w, format, r, o) })
}

// emitEach is emit for formats that write writes.
func emitEach(e *cli.Env, outs []output, write func(w io.Writer, format string) error) bool {
	whole := true
	for _, out := range outs {
		var buf bytes.Buffer
		var err error
		if out.path != "" && slices.Contains(perRequest, out.format) {
			err = streamed(out, write)
		} else if slices.Contains(perRequest, out.format) { // it may be longer than memory
			to := bufio.NewWriterSize(e.Say, 64<<10)
			if err = errors.Join(write(to, out.format), to.Flush()); e.Say.Broken != nil {
				err = nil // the speaker tells it
			}
		} else if err = write(&buf, out.format); err == nil && out.path == "" {
			_, _ = e.Say.Write(buf.Bytes()) // remembered by the speaker
		} else if err == nil {
			err = streamFile(out.path, packed(out.path, func(w io.Writer) error {
				_, err := buf.WriteTo(w)
				return err
			}))
		}
		if err == nil && out.format == "github" {
			err = stepSummary(e, write)
		}
		if err != nil {
			e.Say.Problem(err)
			whole = false
		}
	}
	return whole
}

// streamed writes a format that has every request to a file: it is not held in memory for it. What cannot be
// begun is an error of the format, and not of the file.
func streamed(out output, write func(w io.Writer, format string) error) error {
	var refused error
	err := streamFile(out.path, packed(out.path, func(w io.Writer) error {
		n := counted{to: w}
		err := write(&n, out.format)
		if n.n == 0 {
			refused = err
		}
		return err
	}))
	return cmp.Or(refused, err)
}

// counted counts the bytes that pass it.
type counted struct {
	to io.Writer
	n  int
}

func (c *counted) Write(b []byte) (int, error) {
	c.n += len(b)
	return c.to.Write(b)
}

// stepSummary adds a run as Markdown to the summary of a step of GitHub Actions, where this is one.
func stepSummary(e *cli.Env, write func(w io.Writer, format string) error) error {
	path, _ := e.Getenv("GITHUB_STEP_SUMMARY")
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err == nil {
		err = errors.Join(write(f, "markdown"), f.Close())
	}
	if err != nil {
		return fmt.Errorf("%s: the step summary is not written: %w", path, cli.Cause(err))
	}
	return nil
}

// writeFile writes a file whole or not at all, making its folder. What is there and no regular file
// (/dev/stdout, a named pipe) is written to and stays what it is; a symbolic link too.
func writeFile(path string, data []byte) error {
	return streamFile(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// packed returns write, through gzip or zstd where the name of a file says so.
func packed(path string, write func(io.Writer) error) func(io.Writer) error {
	switch filepath.Ext(path) {
	default:
		return write
	case longEnd:
		return func(w io.Writer) error {
			z := ndjson.NewPacker(w)
			return errors.Join(write(z), z.Close())
		}
	case packedEnd:
	}
	return func(w io.Writer) error {
		z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err != nil {
			return err
		}
		return errors.Join(write(z), z.Close())
	}
}

// streamFile is writeFile for what write writes: a recording is not held in memory for it.
func streamFile(path string, write func(io.Writer) error) error {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	var err error
	if info, statErr := os.Stat(path); statErr == nil && !info.Mode().IsRegular() {
		err = writeInto(path, write)
	} else {
		err = replaceFile(path, write)
	}
	if err != nil {
		return fmt.Errorf("%s: not written: %w", path, err)
	}
	return nil
}

// writeInto writes to what is no regular file.
func writeInto(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if err = buffered(f, write); err != nil {
		_ = f.Close() // the first error counts
		return cli.Cause(err)
	}
	return f.Close()
}

// buffered lets write write to f in large pieces.
func buffered(f *os.File, write func(io.Writer) error) error {
	w := bufio.NewWriterSize(f, 64<<10)
	if err := write(w); err != nil {
		return err
	}
	return w.Flush()
}

// replaceFile puts a file with what write writes in the place of path.
func replaceFile(path string, write func(io.Writer) error) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".rlcheck-*")
	if err != nil {
		return cli.Cause(err)
	}
	defer os.Remove(tmp.Name())
	err = buffered(tmp, write)
	if err == nil {
		err = tmp.Chmod(0o644)
	}
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	return cli.Cause(err)
}
