package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/scenario/tree"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// requestKeys are the keys of a phase that change its requests. A phase that sends nothing has none of them.
func requestKeys() []field[Phase] {
	path := word("a path begins with a slash, and all but printable ASCII is escaped", `^/[!-"$-~]*$`)
	name := word("a name has lower case letters, digits and dashes, and begins with a letter",
		phaseNamePattern)
	return []field[Phase]{
		key("path", path, "Path and query of the requests, sent as written; that of target.url by default.",
			func(p *Phase) *string { return &p.Path }),
		key("method", methodKind(), "The method of the requests; target.method by default.",
			func(p *Phase) *string { return &p.Method }),
		key("header", headerKind(), "Header fields of the requests beside those of the target.",
			func(p *Phase) *map[string]string { return &p.Header }),
		key("spelling", list("spellings", choice("a spelling", timeline.Spellings()...)),
			"Ways to write the path, taken in turn.",
			func(p *Phase) *[]timeline.Spelling { return &p.Spelling }),
		key("mint", choice("what is minted", MintTokens, MintUsers, MintAccounts),
			"Each request names another client, and the limit counts them as one: tokens of one owner, "+
				"users of one tenant, or accounts that one address tries.",
			func(p *Phase) *Mint { return &p.Mint }),
		key("vary", choice("an attribute", attributes()...),
			"The client sends each second request otherwise in this attribute; expect.attributes says "+
				"whether both draw on one quota. requests counts those of each side.",
			func(p *Phase) *timeline.Attribute { return &p.Vary }),
		key("client", name, "The phase is sent by the clients of this name, which may use several "+
			"partitions: a client with a limit for each route.", func(p *Phase) *string { return &p.Client }),
		key("connections", choice("connections", Kept, FreshConnections),
			"fresh: each request on a connection of its own; kept by default.",
			func(p *Phase) *Connections { return &p.Connections }),
		key("unnamed", boolean("unnamed"),
			"Leave out what clients are told apart by: a client without a key.",
			func(p *Phase) *bool { return &p.Unnamed }),
		key("addresses", choice("the addresses of forge", timeline.AnyAddress, timeline.OneNetwork,
			timeline.TwoSpellings),
			"Out of what forge invents addresses: any; one-network, an IPv6 network of 64 bits for each "+
				"partition; or two-spellings, one IPv4 address for each partition and the IPv6 address "+
				"mapped from it. any by default.",
			func(p *Phase) *timeline.Addresses { return &p.Addresses }),
		key("limit", phaseLimitKind(),
			`The limit of the phase's partitions where it is not the scenario's: a SPEC, a multiple of it `+
				`("2x"), none, or zero for a client of whom nothing is admitted.`,
			func(p *Phase) *phaseLimit { return &p.spec.limit }),
	}
}

// phaseNamePattern is that of the names of phases, partitions and clients.
const phaseNamePattern = `^[a-z][a-z0-9]*(-[a-z0-9]+)*$`

// Connections says which connections the requests of a phase use.
type Connections string

// The connections. Kept is the default.
const (
	Kept             Connections = "kept"
	FreshConnections Connections = "fresh"
)

// request returns what the requests of p have of their own, for a run with these partitions.
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
	out.Vary, out.Mint = p.Vary, p.Mint != ""
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
// partition, or of one of Client. It is empty where they leave the key out.
func (p *Phase) ClientOf(partition string) string {
	at := strings.LastIndexByte(partition, '-')
	switch {
	case p.Unnamed:
		return ""
	case p.Vary != "": // each side is judged by itself too
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

// checkRequests reports what the requests of phases do not fit together in.
func (s *Scenario) checkRequests(d *decoder) {
	limits := map[string]*Phase{}
	for i := range s.Phases {
		p := &s.Phases[i]
		if n := p.spec.at.Get("header"); n != nil && s.Partition.Kind == ByHeader {
			for _, k := range n.Keys {
				if strings.EqualFold(k.Text, s.Partition.Name) {
					d.add(k, tree.Quote(k.Text), "the partition is told by this field",
						"remove it here, or write client")
				}
			}
		}
		if p.Unnamed {
			s.checkUnnamed(d, p)
		}
		if !p.Counted() {
			continue
		}
		first := limits[p.Partition]
		if first == nil {
			limits[p.Partition] = p
		} else if first.Limit.String() != p.Limit.String() {
			at := p.spec.at.Get("limit")
			if at == nil {
				at = p.spec.at
			}
			d.add(at, "limit "+p.Limit.String(),
				fmt.Sprintf("phase %q uses the same partitions under %s, and a partition has one limit",
					first.Name, first.Limit),
				"give the phase a partition of its own, and both the same client")
		}
	}
}

// checkUnnamed reports what a phase without keys does not fit together with.
func (s *Scenario) checkUnnamed(d *decoder, p *Phase) {
	at := p.spec.at.Get("unnamed")
	switch {
	case p.Client != "":
		d.add(at, `"unnamed"`, "the phase has a client, which has a name", "remove it or client")
	case p.Shape == timeline.Boundary:
		d.add(at, `"unnamed"`, "what finds a boundary asks with a name of its own",
			"remove it, or take another shape")
	}
}

// Quiet tells whether the phase sends nothing.
func (p *Phase) Quiet() bool { return quiet(p.Shape) }

// quiet tells whether phases of a shape send nothing.
func quiet(s timeline.Shape) bool { return s == timeline.Silence || s == timeline.Hook }

// Shared tells whether others may use the same partitions: it is said so, or requests name no client.
func (s *Scenario) Shared() bool {
	return !s.Partition.Exclusive || slices.ContainsFunc(s.Phases, func(p Phase) bool { return p.Unnamed })
}
