package timeline

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"time"
)

// Shape names how the requests of a phase are timed.
type Shape string

// The shapes. The first four, Steps and Poisson are open loop: each request has a planned time. The times of
// the others depend on the target's answers.
const (
	// AtOnce releases all requests of the phase together, through a gate. All but the last bytes of every
	// header block are on the wire before.
	AtOnce Shape = "at-once"
	// Constant spaces requests evenly; Ramp from one rate to another.
	Constant Shape = "constant"
	Ramp     Shape = "ramp"
	// Silence sends nothing.
	Silence Shape = "silence"
	// Boundary releases one half of the requests just before a window boundary and the other half just after
	// it. The boundary is found while recording.
	Boundary Shape = "boundary"
	// Closed runs Clients clients. Each sends its next request when its last one is answered.
	Closed Shape = "closed"
	// HonorRetryAfter runs Clients clients. After a denial, each waits exactly as long as it says: in
	// Retry-After, in milliseconds, in its body or, without these, until the reset that it announces.
	HonorRetryAfter Shape = "honor-retry-after"
	// Backoff runs Clients clients that retry by Phase.Retry until one request of each is admitted.
	Backoff Shape = "backoff"
	// Steps sends evenly, at one rate after the other. Poisson sends at random instants of a mean rate, as
	// many independent clients do. Both are open loop.
	Steps   Shape = "steps"
	Poisson Shape = "poisson"
	// Hook sends nothing and does Phase.Hook: it makes something happen to the target.
	Hook Shape = "hook"
)

// AimPhase returns the name of the phase of the requests by which a Boundary phase finds its boundary.
func AimPhase(name string) string { return name + "-aim" }

// Aim says how a Boundary phase finds the window boundary.
type Aim string

// The aims.
const (
	// AimClock takes the multiples of the window since the Unix epoch on the target's clock, whose offset
	// from ours is read from its Date fields.
	AimClock Aim = "clock"
	// AimReset takes the instant that the target announces (RateLimit t, RateLimit-Reset, X-RateLimit-Reset,
	// Retry-After).
	AimReset Aim = "reset"
	// AimProbe drains a partition of its own and asks until it is admitted again.
	AimProbe Aim = "probe"
	// AimFirst takes one window after the partition's first request of the phase.
	AimFirst Aim = "first"
)

// Phase is one stage of a schedule. Which members matter depends on Shape.
type Phase struct {
	Name  string `json:"phase"`
	Shape Shape  `json:"shape"`
	// Origin sends the phase to the origin instead of the target (proxy comparisons).
	Origin bool `json:"origin,omitempty"`
	// Arrivals are the requests of an open-loop or boundary phase, ascending by At. At counts from the
	// beginning of the phase, or for Boundary from the boundary (negative before it).
	Arrivals []Arrival `json:"-"`
	// Arrive makes the arrivals of a constant, ramp, steps or poisson phase that has too many to list: number
	// i, for i from 0 to Requests. Arrivals is then nil, and Partitions are those of the phase. A file has
	// only their number.
	Arrive func(i int) Arrival `json:"-"`
	// Duration is how long the phase lasts from its beginning. Zero: until its last request is answered.
	Duration time.Duration `json:"duration_ns,omitempty"`
	// Partitions are the partitions of a closed or honoring phase, where client i uses Partitions[i%len], and
	// those of a phase with Arrive.
	Partitions []string `json:"partitions,omitempty"`
	// Clients is the number of clients of a closed or honoring phase.
	Clients int `json:"clients,omitempty"`
	// Requests is the ceiling of requests of a closed, honoring or boundary phase. For a phase that does not
	// list its arrivals, it is their number.
	Requests int `json:"requests,omitempty"`
	// Cost is the cost of each request of a closed or honoring phase.
	Cost int64 `json:"cost,omitempty"`
	// Aim and Window tell a Boundary phase where its boundary is.
	Aim    Aim           `json:"aim,omitempty"`
	Window time.Duration `json:"window_ns,omitempty"`
	// ProbeRequests is how many requests drain the partition of an AimProbe. It is also the ceiling of the
	// requests that ask when it admits again.
	ProbeRequests int `json:"probe_requests,omitempty"`
	// Forge names header fields (X-Forwarded-For, ...) that carry an invented client address, another one in
	// each request of the phase. A limiter that trusts them sees many clients instead of one. Empty: none is
	// sent.
	Forge []string `json:"forge,omitempty"`
	// Request is how the requests of the phase differ from those of other phases.
	Request Request `json:"request,omitzero"`
	// Retry is how the clients of a Backoff phase retry. Event is what happens in a Hook phase.
	Retry Retry `json:"retry,omitzero"`
	Event Event `json:"event,omitzero"`
}

// Quiet tells whether phases of the shape send nothing.
func (s Shape) Quiet() bool { return s == Silence || s == Hook }

// EndsEarly tells whether a phase is over once its clients have sent all that they may, whatever its
// duration. That holds for retries, and for a closed loop that is the last phase.
func (s Shape) EndsEarly(last bool) bool { return s == Backoff || s == Closed && last }

// Count returns the number of arrivals of the phase.
func (p *Phase) Count() int {
	switch p.Shape {
	case Constant, Ramp, Steps, Poisson:
		return max(len(p.Arrivals), p.Requests)
	default:
		return len(p.Arrivals)
	}
}

// Arrival returns arrival i of the phase, for i from 0 to Count. The phase was not read from a file.
func (p *Phase) Arrival(i int) Arrival {
	if p.Arrive != nil {
		return p.Arrive(i)
	}
	return p.Arrivals[i]
}

// All yields the arrivals of the phase, each with its index.
func (p *Phase) All() iter.Seq2[int, Arrival] {
	return func(yield func(int, Arrival) bool) {
		for i := range p.Count() {
			if !yield(i, p.Arrival(i)) {
				return
			}
		}
	}
}

// Free returns the least number above those of the arrivals, which ascend.
func (p *Phase) Free() (free int) {
	if p.Arrive != nil && p.Requests > 0 {
		return p.Arrive(p.Requests-1).Seq + 1
	}
	for i := range p.Arrivals {
		free = max(free, p.Arrivals[i].Seq+1)
	}
	return free
}

// Schedule is the plan of one run: its phases one after the other. The requests of open-loop phases are
// numbered from 0 in order; those of the other shapes are numbered as they are sent.
type Schedule struct {
	Phases []Phase
}

// Planned returns the most requests that the schedule may send, and the least time that it takes.
func (s *Schedule) Planned() (requests int, duration time.Duration) {
	for i := range s.Phases {
		p := &s.Phases[i]
		requests += max(len(p.Arrivals), p.Requests) + p.ProbeRequests
		switch {
		case p.Duration > 0:
			duration += p.Duration
		case p.Shape == Boundary:
			duration += 2 * p.Window
		case p.Count() > 0:
			duration += p.Arrival(p.Count() - 1).At
		}
	}
	return requests, duration
}

// Event is what happens to the target in a Hook phase.
type Event struct {
	// Action is what the embedded target does.
	Action Action `json:"action,omitempty"`
	// Limit is the limit that Reload declares, as a SPEC. Empty: the present limit.
	Limit string `json:"limit,omitempty"`
	// Command is given to a shell if the target is not the embedded one.
	Command string `json:"command,omitempty"`
	// Timeout bounds the command.
	Timeout time.Duration `json:"timeout_ns,omitempty"`
}

// Action is something that happens to a limiter.
type Action string

// The actions. Restart ends the process and starts it again. Reload makes it read its configuration again.
// StoreDown takes away the store of its state, StoreUp brings that store back as it was. Count asks it how
// many requests it has denied, by its own count.
const (
	Restart   Action = "restart"
	Reload    Action = "reload"
	StoreDown Action = "store-down"
	StoreUp   Action = "store-up"
	Count     Action = "count"
)

// Actions lists all actions.
func Actions() []Action { return []Action{Restart, Reload, StoreDown, StoreUp, Count} }

// Retry is how a client retries after a denial. The policies are those of client libraries. The wait before
// retry n (from 1) of a client is
//
//	fixed        Base
//	exponential  Base * 2^(n-1), at most Max
//	retry-after  what the denial says, Base if it says nothing
//
// With Jitter it is a uniformly random share of that (for retry-after: up to Base more).
type Retry struct {
	Policy RetryPolicy   `json:"policy,omitempty"`
	Base   time.Duration `json:"base_ns,omitempty"`
	Max    time.Duration `json:"max_ns,omitempty"`
	Jitter bool          `json:"jitter,omitempty"`
	// Budget is how many retries all clients together may send, in percent of their first requests; 0: no
	// bound. A client without a retry left gives up.
	Budget int `json:"budget_percent,omitempty"`
	// Breaker is the number of denials in a row, over all clients, after which nobody sends for Open. Then
	// one client tries. 0: no breaker.
	Breaker int           `json:"breaker,omitempty"`
	Open    time.Duration `json:"open_ns,omitempty"`
	// Seed makes the random waits repeatable.
	Seed uint64 `json:"seed,omitempty"`
}

// RetryPolicy names how long a client waits.
type RetryPolicy string

// The policies.
const (
	RetryFixed       RetryPolicy = "fixed"
	RetryExponential RetryPolicy = "exponential"
	RetryAsTold      RetryPolicy = "retry-after"
)

// Wait returns how long a client waits before its next try, after so many denials in a row. told is what
// Retry-After said, if it said anything. share returns a random part of a duration, for jitter.
func (r *Retry) Wait(failures int, told time.Duration, isTold bool,
	share func(time.Duration) time.Duration) time.Duration {
	wait := r.Base
	switch r.Policy {
	case RetryExponential:
		if shift := failures - 1; shift < 62 && wait <= math.MaxInt64>>shift {
			wait <<= shift
		} else {
			wait = math.MaxInt64
		}
		wait = min(wait, max(r.Max, r.Base))
	case RetryAsTold:
		if isTold {
			if r.Jitter {
				told += share(r.Base)
			}
			return told
		}
	}
	if r.Jitter {
		return share(wait)
	}
	return wait
}

// Request is how the requests of one phase differ from those of other phases. The zero value: not at all.
type Request struct {
	// Path replaces path and query of the URL, and is sent as it is written: //a, /%61. Method replaces the
	// method.
	Path   string `json:"path,omitempty"`
	Method string `json:"method,omitempty"`
	// Header holds extra fields, with names in canonical form. They replace the fields that all requests
	// have.
	Header map[string]string `json:"header,omitempty"`
	// Spellings are ways to write the path, which the requests of the phase take in turn. Empty: as it is.
	Spellings []Spelling `json:"spellings,omitempty"`
	// Keys gives partitions another name on the wire. Several partitions with one key are one client whose
	// requests are counted apart, as by a limiter with a limit for each route. An empty key is not sent: the
	// client has no name.
	Keys map[string]string `json:"keys,omitempty"`
	// EmptyKey sends the header field of the key without a value, where an empty key stands in a field.
	EmptyKey bool `json:"empty_key,omitempty"`
	// Addresses says which addresses Phase.Forge invents. Empty: AnyAddress.
	Addresses Addresses `json:"addresses,omitempty"`
	// Fresh sends each request on a connection of its own.
	Fresh bool `json:"fresh,omitempty"`
	// Mint gives each request its own name on the wire, which begins with the name of its partition.
	Mint bool `json:"mint,omitempty"`
	// Vary is in what the requests of the partitions named by OtherSide differ. Empty: in nothing.
	Vary Attribute `json:"vary,omitempty"`
}

// Key returns the name of a partition on the wire.
func (r *Request) Key(partition string) string {
	if k, ok := r.Keys[partition]; ok {
		return k
	}
	return partition
}

// IsZero tells whether r changes nothing.
func (r Request) IsZero() bool {
	return r.Path == "" && r.Method == "" && len(r.Header) == 0 && len(r.Spellings) == 0 &&
		len(r.Keys) == 0 && r.Addresses == "" && !r.Fresh && r.Vary == "" && !r.Mint && !r.EmptyKey
}

// Addresses says which addresses are invented.
type Addresses string

// The addresses. A limiter may tell clients apart by their addresses. It takes each address of AnyAddress for
// another client, and all addresses of the other kinds for one client.
const (
	// AnyAddress: another address in each request, of 198.18.0.0/15, which belongs to nobody (RFC 2544).
	AnyAddress Addresses = "any"
	// OneNetwork: another address in each request, all of one IPv6 network of 64 bits, as one subscriber has
	// it (RFC 6177). It lies in 2001:db8::/32, which is for documentation (RFC 3849).
	OneNetwork Addresses = "one-network"
	// TwoSpellings: one IPv4 address and, in turn, the IPv6 address that is mapped from it (RFC 4291, section
	// 2.5.5.2).
	TwoSpellings Addresses = "two-spellings"
)

// Spelling is a way to write a path that names the same resource on many servers.
type Spelling string

// The spellings, of the path /a/b.
const (
	// Plain is /a/b.
	Plain Spelling = "plain"
	// Doubled is //a/b, Dotted /./a/b, Trailing /a/b/.
	Doubled  Spelling = "doubled-slash"
	Dotted   Spelling = "dot-segment"
	Trailing Spelling = "trailing-slash"
	// Upper is /A/B.
	Upper Spelling = "upper-case"
	// Encoded is /%61/%62 (RFC 3986 section 6.2.2.2: equivalent to Plain).
	Encoded Spelling = "percent-encoded"
	// Queried is /a/b?rlcheck=1.
	Queried Spelling = "query"
)

// Spellings lists all spellings.
func Spellings() []Spelling {
	return []Spelling{Plain, Doubled, Dotted, Trailing, Upper, Encoded, Queried}
}

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
