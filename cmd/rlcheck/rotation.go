package main

import (
	"cmp"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/accesslog"
)

// stamps are what rotations add to the name of a log: a number, or a date with or without a time.
var stamps = regexp.MustCompile(`([._-](` +
	`\d{4}-?\d{2}-?\d{2}([T_.-]?\d{2}[-:]?\d{2}([-:]?\d{2})?Z?)?|\d{1,3}))+$`)

// unrotated returns the name of a log without what a rotation added: a.log for a.log.2.gz and a-20261126.log.
func unrotated(name string) string {
	name = filepath.Clean(name)
	for _, packed := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, packed)
	}
	bare, isLog := strings.CutSuffix(name, ".log")
	if bare = stamps.ReplaceAllString(bare, ""); isLog {
		bare += ".log"
	}
	return bare
}

// oneLog groups the files of each log: those of one name but for its rotations, and all parts of a log that
// is delivered in parts. Recordings are groups of one.
func (f *checkFlags) oneLog(names []string) [][]string {
	var groups [][]string
	format := accesslog.Format(f.Format)
	for _, name := range names {
		same := func(group []string) bool {
			return name != "-" && group[0] != "-" && slices.Contains(accesslog.Formats(), format) &&
				(unrotated(group[0]) == unrotated(name) || accesslog.InParts(format))
		}
		if i := slices.IndexFunc(groups, same); i >= 0 {
			if !slices.Contains(groups[i], name) {
				groups[i] = append(groups[i], name)
			}
		} else {
			groups = append(groups, []string{name})
		}
	}
	return groups
}

// openAll opens the files of one log in the order of their first requests. shut closes them.
func (f *checkFlags) openAll(names []string) (files []accesslog.File, shut func(), err error) {
	var closers []func() error
	shut = func() {
		for _, c := range closers {
			_ = c() // nothing was written
		}
	}
	o, err := f.logOptions()
	if err != nil {
		return nil, shut, err
	}
	o.SkipBad, o.Match = true, nil
	began := map[string]int64{}
	for _, name := range names {
		file, err := openTimeline(name)
		if err != nil {
			return nil, shut, err
		}
		closers = append(closers, file.Close)
		began[name], _ = accesslog.Began(file, o)
		if _, err := file.Seek(0, 0); err != nil {
			return nil, shut, err
		}
		files = append(files, accesslog.File{Name: name, In: file})
	}
	slices.SortStableFunc(files, func(a, b accesslog.File) int {
		return cmp.Compare(began[a.Name], began[b.Name])
	})
	return files, shut, nil
}
