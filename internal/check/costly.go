package check

import "github.com/rlcheck/rlcheck/internal/verdict"

// tooDear returns the breach of the first admission that costs more than a full start admits, whatever came
// before it and wherever windows begin, or nil.
func tooDear(h *history, full int64) *breach {
	for i := range h.admitted {
		if ev := &h.admitted[i]; ev.cost > full {
			return &breach{kind: verdict.OverAdmission, seen: ev.cost, bound: full, windows: 1,
				events: []event{*ev}}
		}
	}
	return nil
}

// tooDearAmong is tooDear for the admissions of a block.
func tooDearAmong(ended []event, full int64) *alarm {
	for i := range ended {
		if ev := &ended[i]; ev.cost > full {
			br := breach{kind: verdict.OverAdmission, seen: ev.cost, bound: full, windows: 1}
			br.events = []event{*ev}
			return &alarm{breach: br, from: ev.s, to: ev.e}
		}
	}
	return nil
}
