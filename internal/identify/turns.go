package identify

import (
	"cmp"
	"context"
	"maps"
	"time"

	"github.com/rlcheck/rlcheck/internal/load"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// wireName is the key or address that the other client sends, where the plain client sends plain. Requests
// with the same wire name share connections.
func wireName(w *Way, p load.Partition, plain string) string {
	switch {
	case w.Address != "":
		return w.Address
	case w.Key:
		return w.Side(plain)
	case w.Moves && p.Kind == "address":
		return "::ffff:" + plain // the same address, but another connection
	case w.Moves:
		return plain + "-2"
	}
	return plain
}

// plainSource is the source address of the plain client where addresses tell clients apart.
const plainSource = "127.71.0.8"

// Turns sends a round as one recording, so consecutive turns with one wire name share connections.
func (e *Endpoint) Turns(ctx context.Context, rest, until time.Duration,
	turns []Phase) ([]timeline.Observation, error) {
	if e.Now(); !e.silent(ctx, rest) { // the first phase starts the recording
		return nil, nil
	}
	o, plan, n := e.paced(turns, 1), &timeline.Schedule{}, 0
	plain := e.plain(turns, &o)
	o.Keys = maps.Clone(o.Keys)
	if o.Keys == nil {
		o.Keys = map[string]string{}
	}
	for _, a := range turns {
		p, client := timeline.Phase{Name: a.Name, Shape: timeline.Constant}, e.Partition
		wire := plain
		if a.Way != nil {
			p.Request, client = a.Way.Request, a.Way.Side(e.Partition)
			wire = wireName(a.Way, o.Partition, plain)
			if a.Way.ID == Connection { // another connection with the same key
				o.Keys[wire] = cmp.Or(e.Load.Keys[plain], plain)
			}
		}
		p.Request.Keys = map[string]string{client: wire}
		for i := range a.Requests {
			p.Arrivals = append(p.Arrivals, timeline.Arrival{Seq: n, Partition: client, Phase: a.Name,
				At: time.Duration(i+1) * a.Every, Cost: 1})
			n++
		}
		plan.Phases = append(plan.Phases, p)
	}
	return e.record(ctx, plan, o, until)
}

// plain returns the wire name of the plain client: an address if some turn has another address.
func (e *Endpoint) plain(turns []Phase, o *load.Options) string {
	if o.Partition.Kind == "address" {
		return plainSource
	}
	for _, a := range turns {
		if a.Way != nil && a.Way.Address != "" {
			o.Partition = load.Partition{Kind: "address"}
			return "127.0.0.1"
		}
	}
	return e.Partition
}
