package history

// detail is what only some recordings know of a request. It never changes, so events may share one.
type detail struct {
	// from is the instant from which the recording is complete, if it began amid traffic; else 0.
	from int64
	// told: the policy is told of completions, so stay is known.
	told bool
	stay
}

// stay is what is known of the completion of a request, in nanoseconds; see Stay and the methods of Event.
// fewest and most are the units that it may cost; see Event.Settles.
type stay struct{ answer, since, until, least, fewest, most int64 }

// details returns a copy of the details of ev. Where stay is not known it says so.
func (ev *Event) details() detail {
	var d detail
	if ev.detail != nil {
		d = *ev.detail
	}
	if !d.told {
		d.stay = stay{answer: ev.End, since: ev.Start, until: MaxTime}
	}
	return d
}

// told tells whether the policy is told of completions.
func (ev *Event) told() bool { return ev.detail != nil && ev.detail.told }

// joinedAfter sets detail.from of all events; see Event.From.
func joinedAfter(all []Event, from int64) {
	alike := &detail{from: from}
	for i := range all {
		switch ev := &all[i]; {
		case ev.detail != nil:
			d := *ev.detail
			d.from = from
			ev.detail = &d
		case from != 0:
			ev.detail = alike
		}
	}
}

// From returns the instant from which the recording is complete, if it began amid traffic; else 0.
func (ev *Event) From() int64 {
	if ev.detail == nil {
		return 0
	}
	return ev.detail.from
}

// Answer returns when the answer began to arrive. That is End, unless a completion shows an earlier decision.
func (ev *Event) Answer() int64 {
	if ev.told() {
		return ev.detail.answer
	}
	return ev.End
}

// Since returns the earliest instant at which the request may be complete: Start if completions are not told.
func (ev *Event) Since() int64 {
	if ev.told() {
		return ev.detail.since
	}
	return ev.Start
}

// Until returns the latest instant at which the request may be complete: MaxTime if completions are not told.
func (ev *Event) Until() int64 {
	if ev.told() {
		return ev.detail.until
	}
	return MaxTime
}
