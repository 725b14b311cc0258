package check

// links keeps, of requests that come ascending by start, as few as leave no silence longer than a time where
// all of them leave none.
type links struct {
	most int64
	// last is the last one that is kept, next the last one that came.
	last, next event
}

// newLinks begins with a request that is kept.
func newLinks(first *event, most int64) links { return links{most, *first, *first} }

// add takes the next request, and returns the one in front of it; kept tells that it must be.
func (l *links) add(ev *event) (before event, kept bool) {
	before, l.next = l.next, *ev
	if kept = ev.e >= l.last.s+l.most && before.s > l.last.s; kept {
		l.last = before
	}
	return before, kept
}
