package timeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// The versions of the files, the values of the member "rlcheck" of their first lines.
const (
	timelineVersion = "timeline/v1"
	scheduleVersion = "schedule/v1"
)

// headerJSON is a Header in its line. Members that need not be known are left out if they are empty.
type headerJSON struct {
	Version string `json:"rlcheck"`
	Started string `json:"started,omitempty"`
	headerForm
}

// headerForm is a Header with other tags.
type headerForm struct {
	Started       time.Time     `json:"-"`
	WallError     time.Duration `json:"wall_error_ns"`
	ClockError    time.Duration `json:"clock_error_ns"`
	DriftPPM      int64         `json:"drift_ppm,omitempty"`
	Tick          time.Duration `json:"tick_ns,omitempty"`
	Ended         time.Duration `json:"ended_ns,omitempty"`
	CompleteFrom  time.Duration `json:"complete_from_ns,omitempty"`
	CompleteUntil time.Duration `json:"complete_until_ns,omitempty"`
	Unsent        int           `json:"unsent,omitempty"`
	Lost          int           `json:"lost,omitempty"`
	Interrupted   bool          `json:"interrupted,omitempty"`
	Spreads       []Spread      `json:"spreads,omitempty"`
	Stalls        []Stall       `json:"stalls,omitempty"`
	Phases        []Kept        `json:"phases,omitempty"`
	Notes         []string      `json:"notes,omitempty"`
	Counted       []int64       `json:"counted,omitempty"`
	Protocols     []string      `json:"protocols,omitempty"`
	Audit         Audit         `json:"audit,omitzero"`
	Judged        Terms         `json:"judged,omitzero"`
}

// startedLayout is RFC 3339 with all nine digits.
const startedLayout = "2006-01-02T15:04:05.000000000Z07:00"

func newHeaderJSON(h Header) headerJSON {
	j := headerJSON{Version: timelineVersion, headerForm: headerForm(h)}
	if !h.Started.IsZero() {
		j.Started = h.Started.UTC().Format(startedLayout)
	}
	return j
}

func headerLine(h Header) ([]byte, error) {
	j := newHeaderJSON(h)
	line, err := jsonLine(j)
	if what, why := j.flaw(); what != "" {
		err = fmt.Errorf("%s: %s", what, why)
	}
	if err != nil {
		return nil, fmt.Errorf("timeline: header: %w", err)
	}
	return line, nil
}

// jsonLine returns the line of a value, with its line end. The error says that it is too long, or no JSON.
func jsonLine(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	if err == nil && b.Len() > MaxLine {
		err = fmt.Errorf("%d bytes: a line has at most %d", b.Len(), MaxLine)
	}
	return b.Bytes(), err
}

// flaw says what is wrong with the values of a header and which rule they break. Empty: nothing is.
func (j *headerJSON) flaw() (what, why string) {
	if j.Started != "" {
		started, err := time.Parse(time.RFC3339Nano, j.Started)
		if year := started.UTC().Year(); err != nil || year < 0 || year > 9999 {
			return "started " + excerpt(j.Started), "a time as in RFC 3339 is needed"
		}
	}
	for _, p := range placesOf(reflect.ValueOf(j).Elem()) {
		if v := reflect.ValueOf(p.to).Elem(); v.CanInt() && v.Int() < 0 {
			return fmt.Sprintf("%s %d", p.name, v.Int()), "the value may not be negative"
		}
	}
	if j.DriftPPM > MaxDriftPPM {
		return fmt.Sprintf("drift_ppm %d", j.DriftPPM), fmt.Sprintf("the value is at most %d, a tenth",
			MaxDriftPPM)
	}
	return j.Judged.flaw()
}

// header returns the header of values without a flaw.
func (j *headerJSON) header() Header {
	h := Header(j.headerForm)
	if started, err := time.Parse(time.RFC3339Nano, j.Started); err == nil {
		h.Started = started.UTC()
	}
	return h
}

// takeHeader reads the header line, which has the member "rlcheck".
func (r *Reader) takeHeader(all []member) {
	r.n--
	if r.n > 0 || r.headed {
		r.add("a second header line", "a file holds one recording, and its header is the first line",
			"split the file")
		r.prev = 0
		return
	}
	r.headed = true
	before := r.problems.count
	r.headerStrays(all)
	j := headerJSON{}
	r.put(all, placesOf(reflect.ValueOf(&j).Elem()))
	if r.problems.count > before {
		return
	}
	if j.Version != timelineVersion {
		r.addVersion(j.Version, timelineVersion)
		return
	}
	if what, why := j.flaw(); what != "" {
		r.add(what, why, "")
		return
	}
	r.header = j.header()
}

func (r *Reader) addVersion(got, want string) {
	mend := ""
	switch {
	case strings.HasPrefix(got, "schedule/"):
		mend = "this is a plan; give the timeline of the run"
	case strings.HasPrefix(got, "journal/"):
		mend = "a killed run left it; give its name, not its text"
	}
	r.add("rlcheck "+excerpt(got), fmt.Sprintf("this version reads %q", want), mend)
}

// headerStrays adds a problem for each member of a header line that looks like a known member that the line
// lacks. Otherwise its statement on the clocks would be ignored.
func (r *Reader) headerStrays(all []member) {
	for _, m := range all {
		like := headerLike(m.name)
		if like == "" || m.name == like ||
			slices.ContainsFunc(all, func(m member) bool { return m.name == like }) {
			continue
		}
		r.add(excerpt(m.name), "a header has no such member", fmt.Sprintf("did you mean %q?", like))
	}
}

// place is where the member with a name goes. belongs says what it must be, unless it is a whole number of 64
// bits.
type place struct {
	name    string
	to      any
	belongs string
}

// placesOf returns the members of a struct, by the tags of its fields.
func placesOf(v reflect.Value) (out []place) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); f.Anonymous {
			out = append(out, placesOf(v.Field(i))...)
		} else if name != "-" {
			out = append(out, place{name, v.Field(i).Addr().Interface(), wanted(f.Type)})
		}
	}
	return out
}

// wanted says which value a member of a type has.
func wanted(t reflect.Type) string {
	switch kind := t.Kind(); {
	case kind == reflect.String:
		return "a string is needed"
	case kind == reflect.Bool:
		return "true or false is needed"
	case kind == reflect.Slice && t.Elem().Kind() == reflect.String:
		return "a list of strings is needed"
	case kind == reflect.Slice:
		return "a list is needed"
	case kind == reflect.Struct:
		return "an object is needed"
	}
	return "a whole number is needed"
}

// put reads the members of a line into their places, except for null. It overlooks the others.
func (r *Reader) put(all []member, places []place) {
	for _, m := range all {
		i := slices.IndexFunc(places, func(p place) bool { return p.name == m.name })
		switch {
		case string(m.raw) == "null":
		case i < 0:
			r.overlook([]byte(m.name))
		default:
			r.memberInto(m, places[i].to, places[i].belongs)
		}
	}
}

// memberInto reads the value of m into to. belongs says what it must be, unless it is a whole number of 64
// bits.
func (r *Reader) memberInto(m member, to any, belongs string) {
	if d, ok := to.(*time.Duration); ok {
		to = (*int64)(d)
	}
	if v, ok := to.(*int64); ok {
		n, why, mend := parseInteger(string(m.raw))
		if why != "" {
			r.add(m.String(), why, mend)
		}
		*v = n
		return
	}
	if json.Unmarshal(m.raw, to) != nil {
		r.add(m.String(), belongs, "")
	}
}

// Terms are the terms by which a recording was judged when it was made, so that it can be judged alike again.
// The zero value: nothing is known of that.
type Terms struct {
	// Limits are the limits, each of which judges a part. Empty: none is known.
	Limits []PhaseLimit `json:"limits"`
	// Conformance is the side of the limits that is judged: exact, upper-bound or lower-bound. Empty: exact.
	Conformance string `json:"conformance,omitempty"`
	// Shared: others may use the same partitions.
	Shared bool `json:"shared,omitempty"`
	// BurstExact demands that a PASS measures the burst exactly. Burst and Rate demand that it measures burst
	// and rate to within such a share; 0 demands nothing.
	BurstExact bool    `json:"burst_exact,omitempty"`
	Burst      float64 `json:"burst_resolution,omitempty"`
	Rate       float64 `json:"rate_resolution,omitempty"`
	// SingleUnits: each request counts one unit, whatever cost was sent, since the target charges none.
	SingleUnits bool `json:"single_units,omitempty"`
	// Breaks are what may have made the target forget its clients, in the order of time. nil: nothing.
	Breaks []Break `json:"breaks,omitempty"`
	// Against are wrong ways to count, by name. A PASS must tell the target from each of them.
	Against []string `json:"against,omitempty"`
}

// Break is something that may have made the target forget its clients: an event, such as a restart, or many
// other clients that came. A client that asked before From and not again until To came back after it.
type Break struct {
	// Phase is that of the event, or of the others. Event is what the event was, empty for others.
	Phase string        `json:"phase"`
	Event Action        `json:"event,omitempty"`
	From  time.Duration `json:"from_ns"`
	To    time.Duration `json:"to_ns"`
	// Others is how many other clients came, 0 for an event, and Answered how many of them got an answer.
	Others   int `json:"others,omitempty"`
	Answered int `json:"answered,omitempty"`
}

// PhaseLimit is a limit as a SPEC, and the phases whose requests it counts. No phases means all requests.
type PhaseLimit struct {
	Limit  string   `json:"limit"`
	Phases []string `json:"phases,omitempty"`
	// Undecided is for partitions with requests that have no outcome. It names the other partitions of the
	// client to which these requests may be charged, whatever their phase. nil: there are none.
	Undecided map[string][]string `json:"undecided,omitempty"`
}

// Counts tells whether the limit counts the requests of a phase.
func (l PhaseLimit) Counts(phase string) bool {
	return len(l.Phases) == 0 || slices.Contains(l.Phases, phase)
}

// IsZero tells whether nothing is known.
func (t Terms) IsZero() bool { return len(t.Limits) == 0 }

// flaw says what is wrong with the values and which rule they break. Empty: nothing is. It does not parse a
// SPEC.
func (t *Terms) flaw() (what, why string) {
	for _, share := range []float64{t.Burst, t.Rate} {
		if !(share >= 0 && share <= 1) {
			return fmt.Sprintf("judged: resolution %g", share), "a share is 0 to 1"
		}
	}
	if !slices.Contains([]string{"", "exact", "upper-bound", "lower-bound"}, t.Conformance) {
		return "judged: conformance " + excerpt(t.Conformance), "the values are exact, upper-bound and " +
			"lower-bound"
	}
	return "", ""
}
