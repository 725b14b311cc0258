package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/report"
)

// output is one -o FORMAT[=PATH]; an empty path is standard output.
type output struct{ format, path string }

// parseOutputs reads the values of -o. At most one goes to standard output; with none there, fallback does.
func parseOutputs(values []string, fallback string) ([]output, error) {
	var out []output
	spoken := 0
	for _, v := range values {
		format, path, withPath := strings.Cut(v, "=")
		if !slices.Contains(report.Formats(), format) {
			return nil, usagef("-o %q: no such format: one of %s", v, strings.Join(report.Formats(), ", "))
		}
		if withPath && path == "" {
			return nil, usagef("-o %q: the path is empty (write %s=FILE)", v, format)
		}
		if path == "" {
			spoken++
		}
		out = append(out, output{format, path})
	}
	if spoken > 1 {
		return nil, usagef("-o: %d formats without a file: only one can go to standard output (write FORMAT=FILE)", spoken)
	}
	if spoken == 0 && fallback != "" {
		out = append(out, output{format: fallback})
	}
	return out, nil
}

// emit writes a run in every wanted format. A file is written whole or not at all.
func (e *env) emit(outs []output, r *report.Run, o report.Options) error {
	var failed error
	for _, out := range outs {
		var buf bytes.Buffer
		if err := report.Write(&buf, out.format, r, o); err != nil {
			failed = err
			continue
		}
		if out.path == "" {
			_, _ = e.say.Write(buf.Bytes()) // remembered by the speaker
			continue
		}
		if err := writeFile(out.path, buf.Bytes()); err != nil {
			e.say.problem(err)
			failed = exitStatus(exitNothing)
		}
	}
	return failed
}

// writeFile writes a file whole or not at all, making its folder.
func writeFile(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".rlcheck-*")
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Chmod(0o644)
	}
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("%s: not written: %w", path, err)
	}
	return nil
}
