// Package report prints the results of a run, one file for each output format. Everything that it prints is
// in a result.Run. It puts results into words once for all formats (Failures, Causes, Mend), writes and reads
// the JSON documents with their schemas (ReadDocument), draws recordings as SVG, and compares two sides of
// runs (Compare). It judges nothing and reads no file, clock or environment. Text from outside is cleaned
// before it reaches a reader.
package report

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"regexp"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/identify"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// run is rlcheck.report/v1: a result.Run with what follows from it. Times are integers in nanoseconds.
// Instants count from the start of their recording, except the RFC 3339 wall times named started.
type run struct {
	Schema      string            `json:"schema"`
	ID          string            `json:"id"`
	Started     time.Time         `json:"started,omitzero"`
	Duration    time.Duration     `json:"duration_ns"`
	Version     string            `json:"version"`
	Command     []string          `json:"command"`
	Host        result.Host       `json:"host"`
	Interrupted bool              `json:"interrupted"`
	NotBegun    []string          `json:"not_begun,omitempty"`
	Strict      bool              `json:"strict"`
	Verdict     result.Verdict    `json:"verdict"`
	Counts      timeline.Counts   `json:"counts"`
	Policy      *result.Policy    `json:"policy"`
	Hint        *result.Hint      `json:"hint,omitempty"`
	Notes       []result.Note     `json:"notes"`
	Scenarios   []result.Scenario `json:"scenarios"`
}

// writeDocument writes a run, without its recordings, as rlcheck.report/v1. Texts are exact and not cleaned;
// hidden characters are escapes. Errors: those of w.
func writeDocument(w io.Writer, r *result.Run, o Options) error {
	out := filled(run{reportForm, r.ID, r.Started, r.Duration, r.Version, r.Command, r.Host, r.Interrupted,
		r.NotBegun, o.Strict, r.Verdict(o.Strict), r.Sum(), r.Policy, r.Hint, r.Notes(), r.Scenarios})
	for i := range out.Scenarios {
		s := &out.Scenarios[i]
		s.Target, s.Origin, s.Found = text.CleanURL(s.Target), text.CleanURL(s.Origin), s.Answer != ""
		s.Clients = filled(chartedClients(s))
		for k := range s.Statuses {
			s.Statuses[k].Location = text.CleanURL(s.Statuses[k].Location)
		}
		for k := range s.Claims {
			s.Claims[k].Required = s.Required()
		}
		unnamed(s.Judgement)
	}
	text, err := marshal(out)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// VerdictDocument returns j in the form of rlcheck.verdict/v1, indented, with a newline at its end. `check -o
// json` prints it. Instants are nanoseconds since the start of the recording.
func VerdictDocument(j *result.Judgement) ([]byte, error) {
	j = filled(j)
	unnamed(j)
	return marshal(j)
}

// unnamed takes the partition from findings that stand in an object of that partition.
func unnamed(j *result.Judgement) {
	eachFinding(j, func(p *result.PartitionVerdict, f *result.Finding) {
		if f.Partition == p.Partition {
			f.Partition = ""
		}
	})
}

func eachFinding(j *result.Judgement, do func(*result.PartitionVerdict, *result.Finding)) {
	if j == nil {
		return
	}
	for i := range j.Partitions {
		p := &j.Partitions[i]
		for k := range p.Findings {
			do(p, &p.Findings[k])
		}
	}
}

// ReadDocument reads a report that Write wrote. Everything but the timelines comes back. The latencies have
// the buckets of a logarithmic histogram. It skips unknown members, which later versions added. Errors: no
// JSON (with the offset in bytes), another schema, or a verdict, limit or time that does not parse.
func ReadDocument(r io.Reader) (*result.Run, error) {
	var in run
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, jsonError(err)
	}
	if in.Schema != reportForm {
		return nil, fmt.Errorf("report: schema %q: this version reads %s (write it again with `rlcheck run "+
			"-o json`)", in.Schema, reportForm)
	}
	for i := range in.Scenarios {
		if err := complete(&in.Scenarios[i]); err != nil {
			return nil, fmt.Errorf("report: scenarios[%d].%w", i, err)
		}
	}
	return &result.Run{ID: in.ID, Started: in.Started, Duration: in.Duration, Version: in.Version,
		Command: in.Command, Host: in.Host, Interrupted: in.Interrupted, NotBegun: in.NotBegun,
		Policy: in.Policy, Hint: in.Hint, Scenarios: in.Scenarios}, nil
}

// jsonError says where in the file the mistake is.
func jsonError(err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("report: byte %d: %w (is this the report.json of a run?)", syntax.Offset, err)
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("report: byte %d: %s: a JSON %s was found, expected %s", kind.Offset, kind.Field,
			kind.Value, kind.Type)
	}
	return fmt.Errorf("report: %w", err)
}

// complete adds what the document leaves out: the partitions of findings, and what older versions did not
// write, the kinds of claims and the answer of identify. There, a limit that was found and no other member
// means that identify was asked.
func complete(s *result.Scenario) error {
	eachFinding(s.Judgement, func(p *result.PartitionVerdict, f *result.Finding) {
		f.Partition = cmp.Or(f.Partition, p.Partition)
	})
	for i := range s.Claims {
		c := &s.Claims[i]
		c.Required = false // the kind of the scenario says it
		c.Kind = cmp.Or(c.Kind, result.KindOf(c.ID))
	}
	switch known := []identify.Verdict{identify.Identified, identify.Open, identify.None}; {
	case s.Answer == "" && s.Found && s.Verdict == result.Pass:
		s.Answer = string(identify.Identified)
	case s.Answer == "" && s.Found:
		s.Answer = string(identify.Open)
	case s.Answer != "" && !slices.Contains(known, identify.Verdict(s.Answer)):
		return fmt.Errorf("answer %q: an answer must be identified, open or none", s.Answer)
	}
	s.Found = false
	return nil
}

// The schemas of the JSON that this package writes. Within one version members are added, never changed.
const (
	verdictForm = "rlcheck.verdict/v1" // see result.Schema
	reportForm  = "rlcheck.report/v1"
	compareForm = "rlcheck.compare/v1"
)

// marshal returns v as indented JSON that ends in a newline. Characters that a reader of the text would not
// see are written as \u escapes. The value stays exact, and the text is safe to print.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	s := numberLists.ReplaceAllFunc(b.Bytes(), func(list []byte) []byte {
		return bytes.ReplaceAll(whiteLines.ReplaceAll(list, nil), []byte(","), []byte(", "))
	})
	return text.CleanJSON(s), nil
}

// numberLists matches the lists of numbers in an indented JSON text, to put each on one line. It cannot match
// in a string, which has no raw newline.
var (
	numberLists = regexp.MustCompile(`\[\n\s*` + number + `(?:,\n\s*` + number + `)*\n\s*\]`)
	whiteLines  = regexp.MustCompile(`\n\s*`)
)

const number = `(?:-?[0-9][0-9.eE+-]*|null)`

// filled returns a copy of x as the documents show it: an empty list instead of none, wall times in UTC, and
// 0 for a number that JSON cannot express. Members that are not written are shared with x.
func filled[T any](x T) T {
	return Copy(x, func(x reflect.Value) (reflect.Value, bool) {
		switch v := x.Interface().(type) {
		case time.Time:
			return reflect.ValueOf(v.UTC()), true
		case float64:
			return reflect.ValueOf(0.0), math.IsNaN(v) || math.IsInf(v, 0)
		}
		if Own(x) {
			return x, true
		}
		if x.Kind() == reflect.Slice && x.IsNil() {
			return reflect.MakeSlice(x.Type(), 0, 0), true
		}
		return x, false
	})
}

// cleanRun returns a copy of r in which every text has passed Text, and URLs have no credentials. Timelines
// are shared and not copied. Their texts are cleaned where they are used.
func cleanRun(r *result.Run) *result.Run {
	c := Copy(*r, func(x reflect.Value) (reflect.Value, bool) {
		if x.Kind() != reflect.String {
			return x, Own(x)
		}
		return reflect.ValueOf(text.Clean(x.String())).Convert(x.Type()), true
	})
	for i := range c.Scenarios {
		s, raw := &c.Scenarios[i], &r.Scenarios[i]
		s.Target, s.Origin, s.Excerpt = text.Clean(text.CleanURL(raw.Target)),
			text.Clean(text.CleanURL(raw.Origin)), text.Clean(raw.Excerpt)
		for k := range s.Statuses {
			s.Statuses[k].Location = text.Clean(text.CleanURL(raw.Statuses[k].Location))
		}
	}
	return &c
}

// Own tells whether the JSON of a value is not that of its members.
func Own(x reflect.Value) bool {
	switch x.Interface().(type) {
	case json.Marshaler, encoding.TextMarshaler:
		return true
	}
	return false
}

// Copy returns a copy of x with what edit returns in place of each value in it, if edit says so. Members that
// JSON leaves out are shared with x.
func Copy[T any](x T, edit func(reflect.Value) (reflect.Value, bool)) T {
	return copied(reflect.ValueOf(&x).Elem(), edit).Interface().(T)
}

func copied(x reflect.Value, edit func(reflect.Value) (reflect.Value, bool)) reflect.Value {
	if v, done := edit(x); done {
		return v
	}
	out := reflect.New(x.Type()).Elem()
	out.Set(x)
	switch {
	case x.Kind() == reflect.Pointer && !x.IsNil():
		out.Set(reflect.New(x.Type().Elem()))
		out.Elem().Set(copied(x.Elem(), edit))
	case x.Kind() == reflect.Slice && !x.IsNil():
		out.Set(reflect.MakeSlice(x.Type(), x.Len(), x.Len()))
		for i := range x.Len() {
			out.Index(i).Set(copied(x.Index(i), edit))
		}
	case x.Kind() == reflect.Array:
		for i := range x.Len() {
			out.Index(i).Set(copied(x.Index(i), edit))
		}
	case x.Kind() == reflect.Struct:
		for f, v := range out.Fields() {
			if f.IsExported() && f.Tag.Get("json") != "-" {
				v.Set(copied(v, edit))
			}
		}
	}
	return out
}
