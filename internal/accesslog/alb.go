package accesslog

import (
	"bytes"
	"time"
)

// alb reads access logs of an Application Load Balancer of AWS.
//
// Both times are in microseconds. request_creation_time, field 22, is when the load balancer received the
// request. time, field 2, is when it generated the answer, or closed a WebSocket (Access logs for your
// Application Load Balancer, access log entries). The processing times lie between the two and add nothing. A
// load balancer is several nodes with a clock each, so both ends are widened by a lag, by default 10 ms; AWS
// states no bound. The interval is
//
//	[ request_creation_time - 1 us - lag, time + 1 us + lag ]
//
// "Elastic Load Balancing logs requests on a best-effort basis": a request may be missing, so a denial proves
// nothing unless the log is known to be complete.
type alb struct{ widths }

// albFields are the fields of a line that have shared names, by their index.
var albFields = map[int]slot{
	1: slotEnd, 3: slotAddress, 8: slotStatus, 12: slotRequest, 18: slotHost, 21: slotISO,
}

// albNames are the other fields of a line.
var albNames = map[string]int{
	"type": 0, "elb": 2, "target": 4, "target_status_code": 9, "user_agent": 13, "target_group_arn": 16,
	"trace_id":    17,
	"domain_name": 18, "matched_rule_priority": 20, "actions_executed": 22, "classification": 27,
}

const albLeast = 22

// albLag is how far the clocks of nodes may be apart.
const albLag = 10 * time.Millisecond

type albLayout struct {
	alb
	slots map[int]slot
	t     *table
}

func newALB(o Options, w widths) (layout, *table, error) {
	if len(o.Columns) > 0 {
		return nil, nil, &OptionError{"Columns", "columns", "the fields of an ALB log have positions, " +
			"not names",
			""}
	}
	t, err := newTable(nil, nil)
	return &albLayout{alb{w}, map[int]slot{}, t}, t, err
}

func (a *albLayout) own(name string) (string, bool) {
	_, ok := albNames[name]
	return name, ok
}

func (a *albLayout) ready(fields []field) error {
	for _, f := range fields {
		if f.slot == slotUser {
			return &OptionError{"PartitionBy", `field "user"`, "an ALB log does not have it", ""}
		}
		if n, ok := albNames[f.name]; ok {
			a.slots[n] = f.slot
		}
	}
	return nil
}

func (a *albLayout) split(line []byte, v values) flaw {
	n := 0
	for rest := line; len(rest) > 0; n++ {
		value, after, ok := word(rest)
		if !ok {
			return flaw{what: "line " + quote(line), why: "a quote is not closed: the line is cut"}
		}
		rest = after
		if none(value) {
			continue
		}
		if s, ok := albFields[n]; ok {
			v[s] = value
		}
		if s, ok := a.slots[n]; ok {
			v[s] = value
		}
	}
	if n < albLeast {
		return flaw{what: "line " + quote(line),
			why: "an ALB line has at least 22 fields, with request_creation_time as the last of them"}
	}
	v[slotAddress] = cutPort(v[slotAddress])
	return flaw{}
}

// word cuts the first field of a line: up to a space, or between quotes. The last quote stands before a space
// or the end.
func word(b []byte) (value, rest []byte, ok bool) {
	if b[0] != '"' {
		value, rest, _ = bytes.Cut(b, []byte(" "))
		return value, rest, true
	}
	if i := bytes.Index(b[1:], []byte(`" `)); i >= 0 {
		return b[1 : i+1], b[i+3:], true
	}
	if len(b) > 1 && b[len(b)-1] == '"' {
		return b[1 : len(b)-1], nil, true
	}
	return nil, nil, false
}

func (a alb) span(v values) (span, flaw) {
	start, ok := iso(v[slotISO], nil)
	if !ok {
		return span{}, flaw{what: "request_creation_time " + quote(v[slotISO]),
			why: "a time such as 2026-11-20T10:00:00.000000Z is needed"}
	}
	end, ok := iso(v[slotEnd], nil)
	if !ok {
		return span{}, flaw{what: "time " + quote(v[slotEnd]),
			why: "a time such as 2026-11-20T10:00:00.000000Z is needed"}
	}
	if end.ns < start.ns {
		return span{}, flaw{what: "time " + quote(v[slotEnd]),
			why: "the answer cannot have been generated before the request was received"}
	}
	lag := a.or(albLag)
	return span{from: start.ns - microsecond - lag, to: end.ns + end.step + microsecond + lag, end: end.ns},
		flaw{}
}
