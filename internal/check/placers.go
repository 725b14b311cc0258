package check

import (
	"slices"

	"github.com/rlcheck/rlcheck/internal/check/history"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Placers returns the requests that show how the windows of a policy were placed, or when its partition was
// not forgotten. It leaves out those that the others make needless. Ascending by Start; may be empty.
func Placers(h *history.History, pol spec.Policy) []history.Event {
	if len(h.All) == 0 {
		return nil
	}
	var out []history.Event
	all := pol.Count == spec.CountAll
	switch {
	case limiter.Anchored(pol):
		begin := slices.IndexFunc(h.All, func(ev history.Event) bool { return ev.Counts(all) })
		if begin < 0 {
			return nil
		}
		out = Chain(h.Counted(all), int64(pol.Rate.Per))
	case pol.Completes(): // each may have been charged first
		out = h.Admitted
	case pol.Windowed():
		out = openers(h, limiter.NewFirst(pol))
	}
	if pol.TTL > 0 {
		out = append(out, Chain(h.All, int64(pol.TTL))...)
	}
	return history.Of(out).All
}

// openers returns, for each window that a request surely opened by some instant, the admission that shows the
// instant.
func openers(h *history.History, f limiter.First) (out []history.Event) {
	end := history.MinTime
	for _, o := range f.Openings(h) {
		if o.To < history.MaxTime {
			i := history.FirstAfter(h.Admitted, end)
			for i < len(h.Admitted) && h.Admitted[i].Start <= o.To && h.Admitted[i].End != o.To {
				i++
			}
			if i < len(h.Admitted) && h.Admitted[i].Start <= o.To {
				out = append(out, h.Admitted[i])
			}
		}
		end = max(end, o.To+f.SizeTo-1)
	}
	return out
}

// Chain returns the first event, the one that ends first, and a Cover of the others: as few events as leave
// no silence longer than `most` nanoseconds where all of them leave none. Events without an outcome are
// ignored.
func Chain(events []history.Event, most int64) []history.Event {
	var sure []history.Event
	for _, ev := range events {
		if ev.Outcome != timeline.Unknown {
			sure = append(sure, ev)
		}
	}
	if len(sure) == 0 {
		return nil
	}
	first := sure[0]
	for i := 0; i < len(sure) && sure[i].Start <= first.End; i++ {
		if sure[i].End < first.End {
			first = sure[i]
		}
	}
	out := []history.Event{sure[0], first}
	l := history.NewCover(&first, most)
	for i := range sure {
		if before, kept := l.Add(&sure[i]); kept {
			out = append(out, before)
		}
	}
	if l.Next.Start > l.Last.Start {
		out = append(out, l.Next)
	}
	return out
}
