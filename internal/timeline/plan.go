package timeline

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// phaseLine is the line of a phase; the lines of its arrivals follow it.
type phaseLine struct {
	Phase
	Count int `json:"arrivals,omitempty"`
}

// WriteSchedule writes s to w as NDJSON: a header line, and then for each phase its line and a line for each
// of its arrivals. A phase with Arrive has only their number, under requests. It refuses the name of a
// partition that no recording can have.
func WriteSchedule(w io.Writer, s *Schedule) error {
	buf := []byte(`{"rlcheck":"` + scheduleVersion + `"}` + "\n")
	for i := range s.Phases {
		p := &s.Phases[i]
		line, err := jsonLine(phaseLine{*p, len(p.Arrivals)})
		for _, name := range p.Partitions {
			err = cmp.Or(err, nameFlaw(name))
		}
		buf = append(buf, line...) // it ends its line
		for j := range p.Arrivals {
			err = cmp.Or(err, nameFlaw(p.Arrivals[j].Partition))
			buf = append(appendArrival(buf, p, &p.Arrivals[j]), '\n')
			if len(buf) < flushAt {
				continue
			}
			if _, err := w.Write(buf); err != nil {
				return err
			}
			buf = buf[:0]
		}
		if err != nil {
			return fmt.Errorf("timeline: schedule: phase %q: %w", p.Name, err)
		}
	}
	_, err := w.Write(buf)
	return err
}

// nameFlaw says why no recording can have the name of a partition.
func nameFlaw(partition string) error {
	if !soundName(partition) {
		return fmt.Errorf("partition %s: its name is UTF-8, without U+FFFD", excerpt(partition))
	}
	return nil
}

// appendArrival appends the line of an arrival. It leaves out what equals its phase.
func appendArrival(b []byte, p *Phase, a *Arrival) []byte {
	b = appendNumber(b, `{"seq":`, int64(a.Seq))
	if a.Partition != "" {
		b = appendText(b, `,"partition":`, a.Partition)
	}
	if a.Phase != p.Name {
		b = appendText(b, `,"phase":`, a.Phase)
	}
	if a.Origin != p.Origin {
		b = strconv.AppendBool(append(b, `,"origin":`...), a.Origin)
	}
	b = appendNumber(b, `,"at_ns":`, int64(a.At))
	return append(appendNumber(b, `,"cost":`, a.Cost), '}')
}

// ReadSchedule reads what WriteSchedule wrote, from a file called name. The error names the line that is not
// as it was written.
func ReadSchedule(r io.Reader, name string) (*Schedule, error) {
	s, lines, due := &Schedule{}, NewLines(r), 0
	for first := true; ; first = false {
		text, err := lines.Next()
		var line struct {
			Version string `json:"rlcheck"`
			phaseLine
		}
		if err == nil {
			err = json.Unmarshal(text, &line)
		} else if err == io.EOF && !first && due == 0 {
			return s, nil
		}
		switch {
		case err != nil:
		case first && line.Version != scheduleVersion:
			err = fmt.Errorf("rlcheck %q: this version reads %q", line.Version, scheduleVersion)
		case first:
		case line.Shape != "" && due == 0:
			s.Phases, due = append(s.Phases, line.Phase), line.Count
		case line.Shape != "" || due == 0:
			err = errors.New("the phase before it has another number of arrivals")
		default:
			p := &s.Phases[len(s.Phases)-1]
			a := Arrival{Phase: p.Name, Origin: p.Origin}
			err = json.Unmarshal(text, &a)
			p.Arrivals, due = append(p.Arrivals, a), due-1
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, lines.Last(), err)
		}
	}
}
