package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// requestKeys are the keys of a phase that change its requests. A phase that sends nothing has none of them.
func requestKeys() []field[*phaseDraft] {
	path := word("a path begins with a slash, and all but printable ASCII is escaped", `^/[!-"$-~]*$`)
	name := word("a name has lower case letters, digits and dashes, and begins with a letter",
		phaseNamePattern)
	return []field[*phaseDraft]{
		key("path", path, func(p *phaseDraft) *string { return &p.Path }),
		key("method", methodKind(), func(p *phaseDraft) *string { return &p.Method }),
		key("header", headerKind(), func(p *phaseDraft) *map[string]string { return &p.Header }),
		key("spelling", list("spellings", choice("a spelling", timeline.Spellings()...)),
			func(p *phaseDraft) *[]timeline.Spelling { return &p.Spelling }),
		key("mint", choice("what is minted", MintTokens, MintUsers, MintAccounts),
			func(p *phaseDraft) *Mint { return &p.Mint }),
		key("vary", choice("an attribute", attributes()...),
			func(p *phaseDraft) *timeline.Attribute { return &p.Vary }),
		key("client", name, func(p *phaseDraft) *string { return &p.Client }),
		key("connections", choice("connections", Kept, FreshConnections),
			func(p *phaseDraft) *Connections { return &p.Connections }),
		key("unnamed", boolean("unnamed"), func(p *phaseDraft) *bool { return &p.Unnamed }),
		key("empty_key", boolean("empty_key"), func(p *phaseDraft) *bool { return &p.EmptyKey }),
		key("addresses", choice("the addresses of forge", timeline.AnyAddress, timeline.OneNetwork,
			timeline.TwoSpellings), func(p *phaseDraft) *timeline.Addresses { return &p.Addresses }),
		key("limit", phaseLimitKind(), func(p *phaseDraft) *phaseLimit { return &p.limit }),
	}
}

// phaseNamePattern is that of the names of phases, partitions and clients.
const phaseNamePattern = `^[a-z][a-z0-9]*(-[a-z0-9]+)*$`

// checkRequests reports requests of phases that contradict each other.
func (s *draft) checkRequests(d *decoder) {
	limits := map[string]*phaseDraft{}
	for i := range s.phases {
		p := &s.phases[i]
		s.checkKeyField(d, p.at.Get("header"), "remove it here, or write client")
		if p.Unnamed = p.Unnamed || p.EmptyKey; p.Unnamed {
			checkUnnamed(d, p)
		}
		if !p.Counted() {
			continue
		}
		first := limits[p.Partition]
		if first == nil {
			limits[p.Partition] = p
		} else if first.Limit.String() != p.Limit.String() {
			at := p.at.Get("limit")
			if at == nil {
				at = p.at
			}
			d.add(at, "limit "+p.Limit.String(), fmt.Sprintf("phase %q uses the same partitions under %s, "+
				"and a partition has one limit", first.Name, first.Limit),
				"give the phase a partition of its own, and both the same client")
		}
	}
}

// checkUnnamed reports keys that contradict a phase without client names.
func checkUnnamed(d *decoder, p *phaseDraft) {
	at := cmp.Or(p.at.Get("unnamed"), p.at.Get("empty_key"))
	switch {
	case p.Client != "":
		d.add(at, `"unnamed"`, "the phase has a client, which has a name", "remove it or client")
	case p.Shape == timeline.Boundary:
		d.add(at, `"unnamed"`, "requests that find a boundary use their own name",
			"remove it, or take another shape")
	}
}

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
