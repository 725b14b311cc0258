package accesslog

import (
	"cmp"
	"errors"
	"io"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// survey says how the requests in a log are ordered.
type survey struct {
	n int
	// first and last are the smallest and the largest beginning of an interval. disorder is the most by which
	// one began before that of an earlier line.
	first, last, disorder int64
}

func (s *survey) add(from int64) {
	if s.n == 0 {
		s.first, s.last = from, from
	}
	s.first, s.last = min(s.first, from), max(s.last, from)
	s.disorder = max(s.disorder, s.last-from)
	s.n++
}

// Survey reads a log as ReadAll does, from files that can seek, but keeps no request; Each reads it again.
// Its memory follows the number of partitions and the requests in flight, as a line is written when its
// request ends. It leaves out what is appended to the log meanwhile.
func Survey(files []File, o Options) (*Log, error) {
	r, err := newReader(o)
	if err != nil {
		return nil, err
	}
	r.keep = func(record) bool { return true }
	a := &again{files: files, begin: make([]int64, len(files)), o: o}
	var read []File
	for i, f := range files {
		if a.begin[i], err = f.In.(io.Seeker).Seek(0, io.SeekCurrent); err != nil {
			return nil, err
		}
		a.read = append(a.read, &counted{r: f.In})
		read = append(read, File{f.Name, a.read[i]})
	}
	if err := r.files(read); err != nil {
		return nil, err
	}
	l := r.log()
	l.again = a
	return l, nil
}

// counted counts what is read.
type counted struct {
	r io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// again says where the files of a log can be read again, how many bytes, and how.
type again struct {
	files []File
	begin []int64
	read  []*counted
	o     Options
}

// rewound returns the files as they were.
func (a *again) rewound() ([]File, error) {
	var out []File
	for i, f := range a.files {
		if _, err := f.In.(io.Seeker).Seek(a.begin[i], io.SeekStart); err != nil {
			return nil, err
		}
		out = append(out, File{f.Name, io.LimitReader(f.In, a.read[i].n)})
	}
	return out, nil
}

// errChanged: a log differed when it was read again.
var errChanged = errors.New("its lines differ from those of the first reading")

// Each calls take for every observation, ascending by Sent, and by line if they began at the same instant,
// until take returns false. Each observation is overwritten by the next. A log that Survey returned is read
// again. The error is then of type timeline.Errors if it has changed.
func (l *Log) Each(take func(o *timeline.Observation) bool) error {
	if l.again == nil {
		for o := range l.All() {
			if !take(o) {
				break
			}
		}
		return nil
	}
	r, err := newReader(l.again.o)
	if err != nil {
		return err
	}
	files, err := l.again.rewound()
	if err != nil {
		return err
	}
	marks := l.copies
	l.Copies = 0
	q := &inFlight{disorder: l.order.disorder, last: l.order.first}
	var o timeline.Observation
	on := true
	give := func(until int64) bool {
		for on && len(q.heap) > 0 && q.heap[0].from <= until {
			rec := q.pop()
			marks.mark(l, &rec)
			l.fill(&o, &rec, partitionOf(r.out.names, rec.partition))
			on = take(&o)
		}
		return on
	}
	r.keep = func(rec record) bool {
		if l.without(rec) {
			return true
		}
		if !q.push(rec) {
			on = false
			return false
		}
		return give(q.last - q.disorder)
	}
	if err := r.files(files); err != nil {
		return err
	}
	if give(q.last); on && r.order == l.order || !on && !q.late {
		return nil
	}
	return timeline.Errors{{File: l.again.files[0].Name, Line: 1, What: "the log changed while it was read",
		Why:  errChanged.Error(),
		Mend: "copy it, and judge the copy", Err: errChanged}}
}

// inFlight is a heap of requests, the earliest on top. A request that began earlier may still come.
type inFlight struct {
	heap []record
	// last is the latest beginning so far. disorder is the most by which a later one may be earlier.
	last, disorder int64
	// late: a request came that was earlier still.
	late bool
}

func before(a, b *record) bool {
	return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.line, b.line)) < 0
}

// push adds a request. false: it comes too late.
func (q *inFlight) push(rec record) bool {
	if rec.from < q.last-q.disorder {
		q.late = true
		return false
	}
	q.last = max(q.last, rec.from)
	q.heap = append(q.heap, rec)
	k := len(q.heap) - 1
	for k > 0 && before(&rec, &q.heap[(k-1)/2]) {
		q.heap[k] = q.heap[(k-1)/2]
		k = (k - 1) / 2
	}
	q.heap[k] = rec
	return true
}

func (q *inFlight) pop() record {
	first := q.heap[0]
	n := len(q.heap) - 1
	rec := q.heap[n]
	q.heap = q.heap[:n]
	k := 0
	for child := 1; child < n; child = 2*k + 1 {
		if child+1 < n && before(&q.heap[child+1], &q.heap[child]) {
			child++
		}
		if !before(&q.heap[child], &rec) {
			break
		}
		q.heap[k] = q.heap[child]
		k = child
	}
	if n > 0 {
		q.heap[k] = rec
	}
	return first
}

// partitionOf returns the name of a partition. A log may have only one partition, without a name.
func partitionOf(names []string, k uint32) string {
	if len(names) == 0 {
		return ""
	}
	return names[k]
}

// fill fills in the observation of a request.
func (l *Log) fill(o *timeline.Observation, rec *record, partition string) {
	sent := time.Duration(rec.from - l.zero)
	*o = timeline.Observation{Arrival: timeline.Arrival{Seq: int(rec.line), Partition: partition, At: sent,
		Cost: rec.cost},
		Sent: sent, FirstByte: time.Duration(rec.to - l.zero), Answered: rec.status > 0,
		Status: int(rec.status), Outcome: rec.outcome}
	if rec.done != 0 {
		o.Done = time.Duration(rec.done - l.zero)
	}
	if len(l.eras) > 0 {
		o.Partition = l.named(partition, rec.line)
	}
	if !o.Answered {
		o.Error = "unanswered"
	}
}
