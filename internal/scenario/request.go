package scenario

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// request returns how the requests of p differ from others, for a run with these partitions.
func (p *Phase) request(pl *planner) timeline.Request {
	out := timeline.Request{Path: p.Path, Method: p.Method, Spellings: p.Spelling,
		Fresh: p.Connections == FreshConnections}
	for _, name := range slices.Sorted(maps.Keys(p.Header)) {
		if out.Header == nil {
			out.Header = map[string]string{}
		}
		out.Header[http.CanonicalHeaderKey(name)] = p.Header[name]
	}
	if len(p.Forge) > 0 && p.Addresses != timeline.AnyAddress {
		out.Addresses = p.Addresses
	}
	out.Vary, out.Mint, out.EmptyKey = p.Vary, p.Mint != "", p.EmptyKey
	if p.Unnamed || p.Vary != "" || p.Client != "" && p.Client != p.Partition {
		out.Keys = map[string]string{}
		for i := range pl.scenario.Partition.Count {
			key := ""
			if !p.Unnamed {
				key = pl.partition(cmp.Or(p.Client, p.Partition), i)
			}
			out.Keys[pl.partition(p.Partition, i)] = key
			if p.Vary != "" {
				out.Keys[timeline.OtherSide(pl.partition(p.Partition, i))] = key
			}
		}
	}
	return out
}

// ClientOf returns the key of the client that sends the requests of p for a partition: the name of that
// partition, or of one of Client. Empty: the requests leave out the key.
func (p *Phase) ClientOf(partition string) string {
	at := strings.LastIndexByte(partition, '-')
	switch {
	case p.Unnamed:
		return ""
	case p.Vary != "": // each side is also judged by itself
		return partition
	case p.Client == "" || p.Client == p.Partition || at < 0:
		return partition
	}
	run, number := partition[:at], partition[at:]
	if p.Partition != "" {
		run = strings.TrimSuffix(run, "-"+p.Partition)
	}
	return run + "-" + p.Client + number
}
