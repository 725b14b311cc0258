package transport

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// lateness is how late the requests of a phase were sent.
type lateness struct {
	n     int
	span  timeline.Stall
	worst largest
}

// KeptPlan returns how well the plan of each phase was kept, in the order of s. Phases without requests are
// left out. tl has the requests that were sent. missing has, by the name of a phase, how many requests were
// not sent.
func KeptPlan(s *timeline.Schedule, tl *timeline.Timeline, missing map[string]int, lag *Lag) []timeline.Kept {
	var out []timeline.Kept
	late, most := map[string]*lateness{}, tl.Sent()/100+1
	var l *lateness
	last := ""
	for o := range tl.All() {
		if l == nil || o.Phase != last { // saves a look-up: a long recording has millions of one phase
			if l, last = late[o.Phase], o.Phase; l == nil {
				l = &lateness{span: timeline.Stall{From: o.At, To: o.Sent}}
				late[o.Phase] = l
			}
		}
		l.n++
		l.worst.add(max(0, o.Sent-o.At), most)
		l.span = timeline.Stall{From: min(l.span.From, o.At), To: max(l.span.To, o.Sent, o.FirstByte)}
	}
	for i := range s.Phases {
		p := &s.Phases[i]
		l := late[p.Name]
		if l == nil {
			l = &lateness{}
		}
		if l.n+missing[p.Name] == 0 {
			continue
		}
		k := timeline.Kept{Phase: p.Name, Sent: l.n, Unsent: missing[p.Name], ReadLag: lag.Of(p.Name)}
		if l.n > 0 {
			slices.SortFunc(l.worst, func(a, b time.Duration) int { return cmp.Compare(b, a) })
			k.LateP99, k.LateMax = l.worst[l.n/100], l.worst[0]
		}
		for _, x := range tl.Header.Stalls {
			k.Stalled += max(0, min(x.To, l.span.To)-max(x.From, l.span.From))
		}
		out = append(out, k)
	}
	return out
}

// largest are the largest of many times: a heap with the smallest of them on top.
type largest []time.Duration

func (h largest) Len() int           { return len(h) }
func (h largest) Less(i, j int) bool { return h[i] < h[j] }
func (h largest) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *largest) Push(x any)        { *h = append(*h, x.(time.Duration)) }
func (h *largest) Pop() any          { panic("audit: the largest times are not taken out") }

// add keeps d if it is among the largest so far, up to `most` of them.
func (h *largest) add(d time.Duration, most int) {
	if len(*h) < most {
		heap.Push(h, d)
	} else if d > (*h)[0] {
		(*h)[0] = d
		heap.Fix(h, 0)
	}
}
