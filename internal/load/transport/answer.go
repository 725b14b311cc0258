package transport

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// receive reads the answer to s, whose first byte is buffered. It reports whether the connection goes on.
func (c *Conn) receive(s *Shot) bool {
	resp, first, err := c.final(s)
	early, mine := s.claim()
	if !mine {
		c.t.forget(c)
		return false
	}
	before := early || first < s.sentAt
	if err == nil && before && (!s.gated || first < s.armedAt) {
		err = errUnasked // bytes that came before the request do not answer it
		c.surplus(resp.StatusCode != http.StatusRequestTimeout)
	}
	if err == nil && resp.StatusCode == http.StatusBadRequest {
		err = CauseOfPage(c.buffered(), c.t.o.URL.Scheme)
	}
	if err != nil {
		c.t.forget(c)
		c.fail(s, early, err)
		return false
	}
	if before {
		c.tooEarly()
	}
	c.refused(s, resp, first)
	return c.take(s, resp, first, before)
}

// take notes the final answer to s. before tells that it came before s was whole. It reports whether the
// connection goes on.
func (c *Conn) take(s *Shot, resp *http.Response, first time.Duration, before bool) bool {
	c.head(s, first, resp.StatusCode, c.t.o.Outcome(resp.StatusCode, resp.Header), c.fields(resp.Header))
	whole := c.drain(s, resp)
	if whole {
		s.Obs.Done = max(first, c.in.last)
	}
	if before && s.Obs.Outcome == timeline.Allowed {
		Forget(s.Obs, CauseEarly) // no limiter admits what it does not have
	}
	c.serves(resp.Proto, resp.Header["Keep-Alive"])
	more := whole && c.br.Buffered() > 0
	if more {
		c.surplus(another(c.buffered()) && !c.repeated(resp.StatusCode))
	}
	again := whole && !more && !before && !resp.Close && !s.Request.Last && resp.StatusCode >= 200
	c.over(s, again)
	return again
}

// repeated tells whether the first answer on a connection was read together with one of the same status.
// Whichever of them answers the request, it says the same.
func (c *Conn) repeated(status int) bool {
	return c.served == 1 && bytes.HasPrefix(c.buffered(), fmt.Appendf(nil, "HTTP/1.1 %d", status))
}

// refused notes the target's first 400, which may mean that it could not read the request.
func (c *Conn) refused(s *Shot, resp *http.Response, first time.Duration) {
	if resp.StatusCode != http.StatusBadRequest {
		return
	}
	b := c.buffered()
	b = b[:min(len(b), 120)]
	c.t.remember("400", fmt.Errorf("to request %d of its connection, after %v, from %q: %q", c.served+1,
		(first-s.began(first)).Round(time.Microsecond), resp.Header.Get("Server"), b))
}

// buffered returns the bytes that were read and not taken yet.
func (c *Conn) buffered() []byte {
	b, _ := c.br.Peek(c.br.Buffered())
	return b
}

// head notes the header block of the final answer to s, whose first byte was read at first.
func (c *Conn) head(s *Shot, first time.Duration, status int, out timeline.Outcome, f timeline.Fields) {
	o := s.Obs
	o.Sent, o.FirstByte, o.Answered = s.began(first), first, true
	o.Status, o.Outcome, o.Error, o.Fields = status, out, "", f
	if c.served == 0 {
		c.first = o.Sent
	}
	if s.gated {
		c.dates(f)
	}
}

// serves counts an answer, whole or broken. idle are the values of the field Keep-Alive; may be empty.
func (c *Conn) serves(proto string, idle []string) {
	if c.served++; c.served == 1 {
		c.t.speaks(c.pool, c.nc, proto)
	}
	if len(idle) > 0 {
		c.idleMax = patience(idle)
	}
}

// final reads header blocks up to that of the final answer. It returns the clock after the read that brought
// the first byte of that answer.
func (c *Conn) final(s *Shot) (*http.Response, time.Duration, error) {
	for {
		// Either the buffer was empty before the read that brought this byte, or that read also ended the
		// interim answer.
		if _, err := c.br.Peek(1); err != nil {
			return nil, 0, err
		}
		first := c.in.last
		resp, err := http.ReadResponse(c.br, s.Request.Asked)
		if err != nil {
			return nil, 0, err
		}
		if resp.ProtoMajor != 1 || resp.StatusCode < 100 {
			return nil, 0, fmt.Errorf("%s with status %d: an answer is HTTP/1.x with a status from 100 on",
				resp.Proto, resp.StatusCode)
		}
		if resp.StatusCode >= 200 || resp.StatusCode == http.StatusSwitchingProtocols {
			return resp, first, nil
		}
	}
}

// drain reads the body up to its limit and keeps the beginning of a denial's. It reports whether the body
// ended and the request was written whole.
func (c *Conn) drain(s *Shot, resp *http.Response) bool {
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return false
	}
	if s.Request.Leaves && s.Obs.Outcome == timeline.Allowed && c.t.o.marked() == 0 && !c.whole(resp) {
		return false
	}
	if resp.Body == http.NoBody {
		c.t.o.byBody(s.Obs, nil, true)
	} else {
		c.in.left = maxBody
		if c.t.o.marked() > 0 {
			return c.drainMarked(s, resp.Body)
		}
		if keep := c.t.o.KeepBody; keep > 0 && s.Obs.Outcome == timeline.Denied {
			b, err := io.ReadAll(io.LimitReader(resp.Body, int64(keep)))
			s.Obs.Body = string(b)
			if err != nil {
				return false
			}
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return false
		}
	}
	if s.Request.Rest == nil {
		return true
	}
	return c.written()
}

// whole tells whether all of a body was read together with its head.
func (c *Conn) whole(resp *http.Response) bool {
	if resp.ContentLength >= 0 {
		return resp.ContentLength <= int64(c.br.Buffered())
	}
	return bytes.HasSuffix(c.buffered(), []byte("\r\n0\r\n\r\n"))
}

// drainMarked is drain for a body that may say that the answer is a denial.
func (c *Conn) drainMarked(s *Shot, body io.Reader) bool {
	b, err := io.ReadAll(io.LimitReader(body, c.t.o.marked()))
	if err == nil {
		_, err = io.Copy(io.Discard, body)
	}
	c.t.o.byBody(s.Obs, b, err == nil)
	return err == nil && (s.Request.Rest == nil || c.written())
}

// mostMarked is the most bytes of a body that are searched for the word of a denial, and mostTold for a cost.
const (
	mostMarked = 1 << 16
	mostTold   = 4 << 20
)

// marked returns how many bytes of each body are read for what they say, 0 for none.
func (o *Options) marked() int64 {
	switch {
	case o.Told != nil:
		return mostTold
	case o.DeniedBody != nil:
		return mostMarked
	}
	return 0
}

// byBody decides by the body of an answer what it means and what it cost. It keeps the beginning of a
// denial's.
func (o *Options) byBody(of *timeline.Observation, body []byte, whole bool) {
	switch {
	case o.DeniedBody == nil:
	case o.DeniedBody(body[:min(len(body), mostMarked)]):
		of.Outcome = timeline.Denied
	case !whole:
		of.Outcome = timeline.Unknown
	}
	if of.Outcome == timeline.Denied {
		of.Body = string(body[:min(len(body), o.KeepBody)])
	}
	if o.Told != nil && of.Outcome != timeline.Denied {
		units, ok := o.Told(of.Fields, body)
		if of.Cost = timeline.CostUnknown; ok && whole && of.Outcome == timeline.Allowed {
			of.Cost = units
		}
	}
}

// written waits 10 ms for the goroutine that writes a large body. If an answer came before the end of the
// request's body, the connection cannot be used again.
func (c *Conn) written() bool {
	t := time.NewTimer(10 * time.Millisecond)
	defer t.Stop()
	select {
	case err := <-c.bodied:
		return err == nil
	case <-t.C:
		return false
	}
}

// over ends s, which is answered.
func (c *Conn) over(s *Shot, again bool) {
	// Watch may have closed the connection at this moment.
	if c.expires.Swap(0) == expired {
		again = false
	}
	t := c.t
	t.answered.Store(true)
	c.inflight.Store(nil)
	if !again {
		t.forget(c)
		c = nil
	}
	t.ended(s, c)
}

// patience returns how long a connection may be idle and still be used, from the time-out of a Keep-Alive
// field. It is a second less than the time-out, but at least half of it, so that the target does not close it
// meanwhile. It returns 0 for no limit.
func patience(values []string) time.Duration {
	for _, part := range strings.Split(strings.Join(values, ","), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if !strings.EqualFold(name, "timeout") {
			continue
		}
		n, err := strconv.ParseUint(strings.Trim(value, `" `), 10, 31)
		if err != nil || n == 0 {
			return 0
		}
		d := time.Duration(n) * time.Second
		return max(d/2, d-time.Second)
	}
	return 0
}

// fields returns the fields of an answer that are kept.
func (c *Conn) fields(h http.Header) timeline.Fields {
	out := c.scratch[:0]
	for name, v := range h {
		if c.t.o.Record(name) {
			out = inserted(out, name, strings.Join(v, ", "))
		}
	}
	c.scratch = out
	return c.t.fields.keep(out)
}

// inserted adds a field to a list that ascends by name. A second value of a name is joined with a comma.
func inserted(to timeline.Fields, name, value string) timeline.Fields {
	at, again := slices.BinarySearchFunc(to, name, func(x timeline.Field, name string) int {
		return strings.Compare(x.Name, name)
	})
	if again {
		to[at].Value += ", " + value
		return to
	}
	return slices.Insert(to, at, timeline.Field{Name: name, Value: value})
}

const (
	// rows times inRow sets of fields are remembered, and as many values. A new entry replaces the oldest one
	// of its row. The sets of a target that denies repeat. Those of a target that counts down do not.
	rows, inRow = 1 << 10, 2
)

// fieldStore keeps one copy of equal answer fields. A recording of many requests consists of little else:
// each answer has some seven fields, most of which never change.
type fieldStore struct {
	mu     sync.Mutex
	seed   maphash.Seed
	sets   [rows][inRow]set
	values [rows][inRow]value
	// sums are the hashes of the values in the current call of keep.
	sums []uint64
}

// set and value are remembered entries with the hashes of their texts. An entry with another hash need not be
// compared.
type (
	set struct {
		sum    uint64
		fields timeline.Fields
	}
	value struct {
		sum  uint64
		text string
	}
)

func newFieldStore() *fieldStore { return &fieldStore{seed: maphash.MakeSeed()} }

// keep returns the fields as they are recorded; nil for none. It does not retain f or its texts.
func (s *fieldStore) keep(f timeline.Fields) timeline.Fields {
	if len(f) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var all uint64
	s.sums = s.sums[:0]
	for i := range f {
		sum := maphash.String(s.seed, f[i].Value)
		s.sums = append(s.sums, sum)
		all = all*31 + sum
	}
	row := &s.sets[all%rows]
	for i := range row {
		if row[i].sum == all && slices.Equal(row[i].fields, f) {
			return row[i].fields
		}
	}
	out := make(timeline.Fields, len(f))
	for i := range f {
		out[i].Name = s.text(f[i].Name, maphash.String(s.seed, f[i].Name))
		out[i].Value = s.text(f[i].Value, s.sums[i])
	}
	row[1], row[0] = row[0], set{all, out}
	return out
}

// text returns the kept copy of a name or a value with hash sum. The lock is held.
func (s *fieldStore) text(v string, sum uint64) string {
	row := &s.values[sum%rows]
	for i := range row {
		if row[i].sum == sum && row[i].text == v {
			return row[i].text
		}
	}
	row[1], row[0] = row[0], value{sum, strings.Clone(v)}
	return row[0].text
}
