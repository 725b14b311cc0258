package timeline

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
)

// The shapes and aims that a schedule file may name.
var (
	shapes = []Shape{AtOnce, Constant, Ramp, Silence, Boundary, Closed, HonorRetryAfter, Backoff, Steps,
		Poisson, Hook}
	aims = []Aim{"", AimClock, AimReset, AimProbe, AimFirst}
)

// phaseLine is the line of a phase; the lines of its arrivals follow it.
type phaseLine struct {
	Phase
	Count int `json:"arrivals,omitempty"`
}

// WriteSchedule writes s to w as NDJSON: a header line, and then for each phase its line and a line for each
// of its arrivals. A phase with Arrive has only their number, under requests. It refuses every arrival that
// ReadSchedule would refuse.
func WriteSchedule(w io.Writer, s *Schedule) error {
	buf := []byte(`{"rlcheck":"` + scheduleVersion + `"}` + "\n")
	for i := range s.Phases {
		p := &s.Phases[i]
		j := &phaseLine{*p, len(p.Arrivals)}
		line, err := jsonLine(j)
		if what, why := j.flaw(); what != "" {
			err = fmt.Errorf("%s: %s", what, why)
		}
		if err != nil {
			return fmt.Errorf("timeline: schedule: phase %q: %w", p.Name, err)
		}
		buf = append(buf, line...) // it ends its line
		for j := range p.Arrivals {
			if what, why := arrivalFlaw(p, j); what != "" {
				return fmt.Errorf("timeline: schedule: phase %q: arrival %d: %s: %s", p.Name,
					p.Arrivals[j].Seq, what, why)
			}
			buf = append(appendArrival(buf, p, &p.Arrivals[j]), '\n')
			if len(buf) < flushAt {
				continue
			}
			if _, err := w.Write(buf); err != nil {
				return err
			}
			buf = buf[:0]
		}
	}
	_, err := w.Write(buf)
	return err
}

// flaw says what is wrong with a phase and which rule it breaks. Empty: nothing is.
func (j *phaseLine) flaw() (what, why string) {
	if !slices.Contains(shapes, j.Shape) {
		return "shape " + excerpt(j.Shape), fmt.Sprintf("the shapes are %q", shapes)
	}
	if !slices.Contains(aims, j.Aim) {
		return "aim " + excerpt(j.Aim), fmt.Sprintf("the aims are %q", aims[1:])
	}
	if what, why = negative(j); what != "" {
		return what, why
	}
	for _, name := range j.Partitions {
		if !soundName(name) {
			return "partition " + excerpt(name), "the name of a partition is UTF-8, without U+FFFD"
		}
	}
	return "", ""
}

// arrivalFlaw says what is wrong with an arrival of a phase. The one before it is sound. Empty: nothing is.
func arrivalFlaw(p *Phase, i int) (what, why string) {
	a := &p.Arrivals[i]
	switch {
	case a.Seq < 0:
		return fmt.Sprintf("seq %d", a.Seq), "arrivals are numbered from 0"
	case a.At < 0 && p.Shape != Boundary:
		return fmt.Sprintf("at_ns %d", a.At), "times count from the beginning of the phase"
	case i > 0 && a.At < p.Arrivals[i-1].At:
		return fmt.Sprintf("at_ns %d", a.At),
			fmt.Sprintf("the arrival before it is at %d; they ascend by at_ns", p.Arrivals[i-1].At)
	case a.Cost < 1:
		return fmt.Sprintf("cost %d", a.Cost), "a request costs at least 1"
	case !soundName(a.Partition):
		return fmt.Sprintf("partition %s", excerpt(a.Partition)), "its name is UTF-8, without U+FFFD"
	case len(a.Partition)+len(a.Phase) > MaxLine/8:
		return fmt.Sprintf("partition %s", excerpt(a.Partition)), "too long for a line"
	}
	return "", ""
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

// ReadSchedule reads a schedule file, plain, gzip or zstd. Error messages call it name. An error is of type
// Errors. The first line is the header. Every phase has a line with its shape and a number of arrivals. So
// many arrivals follow, ascending by at_ns.
func ReadSchedule(r io.Reader, name string) (*Schedule, error) {
	p := &planReader{Reader: newReader(r, name, ReadOptions{}), schedule: &Schedule{}}
	p.other = map[string]func([]member){"rlcheck": p.version, "shape": p.phase}
	var o Observation
	p.eachLine(func(line []byte) {
		if p.readLine(line, &o) {
			p.arrival(&o)
		}
	})
	p.closePhase()
	if !p.headed && p.problems.count == 0 {
		p.add("no header line", fmt.Sprintf("the first line is {\"rlcheck\":%q}", scheduleVersion), "")
	}
	if p.problems.count > 0 {
		return nil, p.problems.list
	}
	return p.schedule, nil
}

// planReader reads a schedule. It reads an arrival as an observation with fewer members.
type planReader struct {
	*Reader
	schedule *Schedule
	// due is how many arrivals of the last phase are still to come.
	due int
}

func (r *planReader) version(all []member) {
	if r.headed {
		r.add("a second header line", "a file holds one schedule, and its header is the first line",
			"split the file")
		return
	}
	r.headed = true
	var version string
	for _, m := range all {
		if m.name == "rlcheck" {
			_ = json.Unmarshal(m.raw, &version) // any other value is no version
		}
	}
	if version != scheduleVersion {
		r.addVersion(version, scheduleVersion)
	}
}

func (r *planReader) phase(all []member) {
	r.closePhase()
	before := r.problems.count
	j := phaseLine{}
	r.put(all, placesOf(reflect.ValueOf(&j).Elem()))
	if r.problems.count == before {
		if what, why := j.flaw(); what != "" {
			r.add(what, why, "")
		}
	}
	j.Partitions, j.Forge = append([]string(nil), j.Partitions...), append([]string(nil), j.Forge...)
	r.due = j.Count
	r.schedule.Phases = append(r.schedule.Phases, j.Phase)
}

func (r *planReader) arrival(o *Observation) {
	if len(r.schedule.Phases) == 0 {
		r.add("an arrival before the first phase", "every phase has its line, then its arrivals", "")
		return
	}
	const needed = memberSeq | memberAt | memberCost
	for _, m := range []memberSet{memberSeq, memberAt, memberCost} {
		if r.seen&m == 0 {
			r.add(excerpt(nameOf(m))+" missing", "every arrival has seq, at_ns and cost", "")
		}
	}
	if r.seen&needed != needed {
		return
	}
	p := &r.schedule.Phases[len(r.schedule.Phases)-1]
	if r.seen&memberPhase == 0 {
		o.Phase = p.Name
	}
	if r.seen&memberOrigin == 0 {
		o.Origin = p.Origin
	}
	r.due--
	p.Arrivals = append(p.Arrivals, o.Arrival)
	if what, why := arrivalFlaw(p, len(p.Arrivals)-1); what != "" {
		r.add(what, why, "")
	}
}

// closePhase checks that the last phase has as many arrivals as its line says.
func (r *planReader) closePhase() {
	if r.due == 0 || r.problems.count > 0 {
		return
	}
	p := &r.schedule.Phases[len(r.schedule.Phases)-1]
	what := fmt.Sprintf("%d arrivals in phase %s", len(p.Arrivals), excerpt(p.Name))
	if r.due > 0 {
		r.add(what, fmt.Sprintf("its line names %d: some are missing, perhaps the file is cut",
			len(p.Arrivals)+r.due), "")
		return
	}
	r.add(what, fmt.Sprintf("its line names %d", len(p.Arrivals)+r.due), "")
}
