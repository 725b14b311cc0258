package cli

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

	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
)

// Output is one -o FORMAT[=PATH]. An empty path is standard output, as is "-" on the command line.
type Output struct{ Format, Path string }

// Shows tells whether a format of check shows more than the verdict.
func (o Output) Shows() bool { return o.Format != "text" && o.Format != "json" }

// Whole tells whether a format needs every request.
func (o Output) Whole() bool { return o.Format == "hlog" || slices.Contains(perRequest, o.Format) }

// ParseOutput reads the values of -o, which name some of formats. At most one goes to standard output. If
// none does, fallback goes there.
func ParseOutput(values, formats []string, fallback string) ([]Output, error) {
	var out []Output
	spoken := 0
	for _, v := range values {
		format, path, withPath := strings.Cut(v, "=")
		if !slices.Contains(formats, format) {
			return nil, Usagef("-o %q: there is no such format: the formats are %s%s", v,
				strings.Join(formats, ", "), Mend(text.Suggest(v, formats)))
		}
		if withPath && path == "" {
			return nil, Usagef("-o %q: the path is empty (write %s=FILE)", v, format)
		}
		if path == "-" {
			path = ""
		}
		if path == "" {
			spoken++
		} else if slices.ContainsFunc(out, func(o Output) bool { return o.Path == path }) {
			return nil, Usagef("-o %q: another format is written to that file (name another one)", v)
		}
		out = append(out, Output{format, path})
	}
	if spoken > 1 {
		return nil, Usagef("-o: %d formats have no file, but only one can go to standard output "+
			"(write FORMAT=FILE)", spoken)
	}
	if spoken == 0 && fallback != "" {
		out = append(out, Output{Format: fallback})
	}
	return out, nil
}

// ReportOptions returns what the formats need to know of the terminal and the global flags.
func ReportOptions(e *Env) report.Options {
	return report.Options{Color: e.WantsColor(),
		Verbose: e.Verbose, Quiet: e.Quiet, Width: Terminal(e.Say.Out)}
}

// perRequest are the formats with every request.
var perRequest = []string{"ndjson", "csv"}

// Emit writes a run in every wanted format, and prints which could not be written. It returns whether all
// were written.
func Emit(e *Env, outs []Output, r *result.Run, o report.Options) bool {
	return EmitEach(e, outs, func(w io.Writer, format string) error { return report.Write(w, format, r, o) })
}

// EmitEach is Emit with another function that writes a format.
func EmitEach(e *Env, outs []Output, write func(w io.Writer, format string) error) bool {
	whole := true
	for _, out := range outs {
		var buf bytes.Buffer
		var err error
		if out.Path != "" && slices.Contains(perRequest, out.Format) {
			err = streamed(out, write)
		} else if slices.Contains(perRequest, out.Format) { // it may be larger than memory
			to := bufio.NewWriterSize(e.Say, 64<<10)
			if err = errors.Join(write(to, out.Format), to.Flush()); e.Say.Broken != nil {
				err = nil // the speaker reports it
			}
		} else if err = write(&buf, out.Format); err == nil && out.Path == "" {
			_, _ = e.Say.Write(buf.Bytes()) // the speaker keeps the error
		} else if err == nil {
			err = StreamFile(out.Path, Packed(out.Path, func(w io.Writer) error {
				_, err := buf.WriteTo(w)
				return err
			}))
		}
		if err == nil && out.Format == "github" {
			err = errors.Join(stepSummary(e, write), logged(e, out, outs, write))
		}
		if err != nil {
			e.Say.Problem(err)
			whole = false
		}
	}
	return whole
}

// streamed writes a format with every request to a file, without holding it in memory. If it fails before the
// first byte, the error is one of the format and not of the file.
func streamed(out Output, write func(w io.Writer, format string) error) error {
	var refused error
	err := StreamFile(out.Path, Packed(out.Path, func(w io.Writer) error {
		n := counted{to: w}
		err := write(&n, out.Format)
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

// logged writes the table on standard error if GitHub's annotations take its place on standard output.
func logged(e *Env, out Output, outs []Output, write func(w io.Writer, format string) error) error {
	table := func(o Output) bool { return o.Format == "table" }
	if out.Path != "" || e.Quiet || slices.ContainsFunc(outs, table) {
		return nil
	}
	return write(e.Say.Err, "table")
}

// stepSummary adds a run as Markdown to the summary of a step of GitHub Actions, if this is one.
func stepSummary(e *Env, write func(w io.Writer, format string) error) error {
	path, _ := e.Getenv("GITHUB_STEP_SUMMARY")
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err == nil {
		err = errors.Join(write(f, "markdown"), f.Close())
	}
	if err != nil {
		return fmt.Errorf("%s: the step summary was not written: %w", path, Cause(err))
	}
	return nil
}

// The ends of the names of compressed files.
const (
	PackedEnd = ".gz"
	LongEnd   = ".zst"
)

// WriteFile writes a file whole or not at all, and makes its folder. Something that is no regular file
// (/dev/stdout, a named pipe) is written to and stays what it is. So does a symbolic link.
func WriteFile(path string, data []byte) error {
	return StreamFile(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// Packed returns write, through gzip or zstd if the name of a file says so.
func Packed(path string, write func(io.Writer) error) func(io.Writer) error {
	switch filepath.Ext(path) {
	default:
		return write
	case LongEnd:
		return func(w io.Writer) error {
			z, err := packer(w)
			if err != nil {
				return err
			}
			return errors.Join(write(z), z.Close())
		}
	case PackedEnd:
	}
	return func(w io.Writer) error {
		z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err != nil {
			return err
		}
		return errors.Join(write(z), z.Close())
	}
}

// StreamFile is WriteFile for the output of a function, so that a recording need not be in memory.
func StreamFile(path string, write func(io.Writer) error) error {
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

// writeInto writes to something that is no regular file.
func writeInto(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if err = buffered(f, write); err != nil {
		_ = f.Close() // the first error counts
		return Cause(err)
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

// replaceFile replaces path by a file with the output of write.
func replaceFile(path string, write func(io.Writer) error) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".rlcheck-*")
	if err != nil {
		return Cause(err)
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
	return Cause(err)
}

// OutputExists tells whether something has that name.
func OutputExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// The most bytes of files that are read whole. MostSmall is for certificates and manifests.
const (
	MostSmall  = 1 << 20
	MostKeys   = 64 << 20
	MostReport = 64 << 20
)

// ReadFile is os.ReadFile for a file of at most `most` bytes. It reads no more of one that does not end, such
// as a device.
func ReadFile(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		return nil, fmt.Errorf("the file is larger than %d MiB, or has no end", most>>20)
	}
	return text, err
}
