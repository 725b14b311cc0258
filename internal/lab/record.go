package lab

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// requestFields are the fields of a request that a Recorder keeps: those that name one request in all its
// tries, and the software of the client.
var requestFields = []string{"Idempotency-Key", "X-Idempotency-Key", "X-Request-Id", "Request-Id",
	"X-Correlation-Id", "User-Agent"}

// Recorder is an http.Handler that lets a Target answer, and records what its clients did as a timeline.
// sent_ns is the instant at which a request had arrived. first_byte_ns is the instant at which its answer was
// about to be written. So the decision lies in the interval, and the client learnt of it no earlier than at
// its end. The fields are those of the answer, and of the request :method, :path (as HTTP/2 names them) and
// those that name it in all its tries.
type Recorder struct {
	target *Target
	start  time.Time

	mu sync.Mutex
	w  *timeline.Writer
	// open are the observations from number written on, in the order of arrival. nil: not answered yet.
	open    []*timeline.Observation
	written int
	// begun are the requests that wait for their answer.
	begun map[int]*timeline.Observation
	err   error
	over  bool
}

// NewRecorder records the requests to t as a timeline to w. t must have had no requests yet. Each line is
// written as soon as all requests that arrived before it are answered.
func NewRecorder(t *Target, w io.Writer) (*Recorder, error) {
	r := &Recorder{target: t, start: time.Now(), w: timeline.NewWriter(w),
		begun: map[int]*timeline.Observation{}}
	h := timeline.Header{Started: r.start.UTC()}
	if len(t.rules) == 0 {
		h.Judged.Limits = []timeline.PhaseLimit{{Limit: t.opts.Limit.String()}}
	}
	if err := r.w.Header(h); err != nil {
		return nil, err
	}
	return r, r.w.Flush()
}

// ServeHTTP lets the target answer, and records it.
func (r *Recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	o := r.begin(q)
	x := &overheard{ResponseWriter: w}
	defer r.end(o, x) // also if the target abandons the connection
	r.target.ServeHTTP(x, q)
}

// begin notes a request that has arrived.
func (r *Recorder) begin(q *http.Request) *timeline.Observation {
	o := &timeline.Observation{Arrival: timeline.Arrival{Partition: r.client(q), Cost: 1},
		Fields: timeline.Fields{{Name: ":method", Value: valid(q.Method)},
			{Name: ":path", Value: valid(q.URL.RequestURI())}}}
	if cost, ok := r.target.cost(q.Header); ok {
		o.Cost = cost
	}
	for _, name := range requestFields {
		if v := q.Header.Get(name); v != "" {
			o.Fields = append(o.Fields, timeline.Field{Name: name, Value: valid(v)})
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	o.Seq = r.written + len(r.open)
	o.Sent = time.Since(r.start)
	o.At = o.Sent
	r.open = append(r.open, nil)
	r.begun[o.Seq] = o
	return o
}

// client returns the name of a request's client: its key, or else its address.
func (r *Recorder) client(q *http.Request) string {
	name, named := r.target.named(q)
	if !named {
		name = strings.TrimPrefix(r.target.clientKey(q), "\x00")
	}
	return valid(name)
}

// valid returns text as a timeline may hold it.
func valid(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\uFFFD", "?")
}

// end notes that a request is over.
func (r *Recorder) end(o *timeline.Observation, x *overheard) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	delete(r.begun, o.Seq)
	if x.status == 0 {
		o.Error = "closed"
	} else {
		r.answered(o, x)
	}
	r.open[o.Seq-r.written] = o
	n := 0
	for n < len(r.open) && r.open[n] != nil {
		r.keep(r.w.Observe(r.open[n]))
		n++
	}
	r.open, r.written = slices.Delete(r.open, 0, n), r.written+n
	if n > 0 {
		r.keep(r.w.Flush())
	}
}

// answered fills in the answer of o.
func (r *Recorder) answered(o *timeline.Observation, x *overheard) {
	o.Answered, o.FirstByte, o.Status = true, max(x.at.Sub(r.start), o.Sent), x.status
	switch {
	case x.admission:
		o.Outcome = timeline.Allowed
	case x.status == r.target.opts.DenyStatus:
		o.Outcome = timeline.Denied
	case x.status >= 200 && x.status < 300: // HEAD
		o.Outcome = timeline.Allowed
	}
	for name, v := range x.Header() {
		if name == "Date" || headers.Suggests(name) {
			o.Fields = append(o.Fields, timeline.Field{Name: name, Value: valid(strings.Join(v, ", "))})
		}
	}
	slices.SortStableFunc(o.Fields, func(a, b timeline.Field) int { return strings.Compare(a.Name, b.Name) })
}

func (r *Recorder) keep(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Close writes the requests that still wait for their answer, as not answered, and ends the recording. It
// returns the length of the recording, and the first error of writing.
func (r *Recorder) Close() (time.Duration, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	for i, o := range r.open {
		if o == nil {
			o = r.begun[r.written+i]
			o.Error = timeline.Interrupted
		}
		r.keep(r.w.Observe(o))
	}
	r.keep(r.w.Flush())
	return time.Since(r.start), r.err
}

// overheard notes the answer that passes through it. Nothing is sent before a target has written its body.
type overheard struct {
	http.ResponseWriter
	status    int
	at        time.Time
	admission bool
}

func (x *overheard) WriteHeader(status int) {
	if x.status == 0 {
		x.status, x.at = status, time.Now()
	}
	x.ResponseWriter.WriteHeader(status)
}

func (x *overheard) Write(b []byte) (int, error) {
	x.admission = x.admission || string(b) == okBody
	return x.ResponseWriter.Write(b)
}
