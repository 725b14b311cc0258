package history

// detail is what few recordings know of a request. It never changes: code that knows more makes another one.
type detail struct {
	// from is since when no request is missing, where the recording began amid traffic; else 0.
	from int64
	// told: the rest is known, as a policy asks for completions.
	told bool
	stay
}

// stay is what is known of the time from the decision on a request to its completion: see Stay.
type stay struct{ answer, since, until, least, most, by int64 }

// details returns a copy of the details of ev, or empty ones.
func (ev *Event) details() detail {
	var d detail
	if ev.detail != nil {
		d = *ev.detail
	}
	if !d.told {
		d.stay = stay{answer: ev.End, since: ev.Start, until: MaxTime, most: MaxTime, by: MaxTime}
	}
	return d
}

// told tells whether a policy asks for completions.
func (ev *Event) told() bool { return ev.detail != nil && ev.detail.told }

// joinedAfter notes in all since when no request is missing; 0: none is.
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

// From returns since when no request is missing, where the recording began amid traffic; else 0.
func (ev *Event) From() int64 {
	if ev.detail == nil {
		return 0
	}
	return ev.detail.from
}

// Answer returns when its answer began to arrive: End, where nothing else says by when it was decided.
func (ev *Event) Answer() int64 {
	if ev.told() {
		return ev.detail.answer
	}
	return ev.End
}

// Since and Until return when it is complete at the earliest and at the latest, where the policy asks for
// that: see Stay.
func (ev *Event) Since() int64 {
	if ev.told() {
		return ev.detail.since
	}
	return ev.Start
}

// Until is described at Since.
func (ev *Event) Until() int64 {
	if ev.told() {
		return ev.detail.until
	}
	return MaxTime
}

// Least and Most return the least and the most time from its decision until its completion; MaxTime where the
// most is not known.
func (ev *Event) Least() int64 {
	if ev.told() {
		return ev.detail.least
	}
	return 0
}

// Most is described at Least.
func (ev *Event) Most() int64 {
	if ev.told() {
		return ev.detail.most
	}
	return MaxTime
}

// By returns when it must be complete, whenever it was decided; MaxTime where that is not known.
func (ev *Event) By() int64 {
	if ev.told() {
		return ev.detail.by
	}
	return MaxTime
}
