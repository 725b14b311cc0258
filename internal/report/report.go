package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
