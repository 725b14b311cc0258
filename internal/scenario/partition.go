package scenario

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rlcheck/rlcheck/internal/claim"
	"github.com/rlcheck/rlcheck/internal/scenario/tree"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// The patterns of names: of header fields and cookies, and of query parameters and fields of a body.
const (
	tokenPattern     = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"
	parameterPattern = `^[0-9A-Za-z_.~-]+$`
)

// inner returns a pattern without its ends, for use in another pattern.
func inner(pattern string) string { return pattern[1 : len(pattern)-1] }

// isPartitionKind tells whether a key of the partition mapping names a kind.
func isPartitionKind(key string) bool {
	all := []PartitionKind{ByHeader, ByAddress, ByPath, ByQuery, ByCookie, ByBody, ByNone}
	return slices.Contains(all, PartitionKind(key))
}

// nameless tells whether partitions of a kind have no name of a field or a parameter.
func nameless(k PartitionKind) bool { return k == ByAddress || k == ByPath || k == ByNone }

// partitionNode turns header:NAME, header:NAME: FORMAT, query:NAME, cookie:NAME, body:NAME, address, path or
// none into a mapping. Other text stays.
func partitionNode(n *tree.Node) *tree.Node {
	kind, name, named := strings.Cut(n.Text, ":")
	if !isPartitionKind(kind) || named == nameless(PartitionKind(kind)) {
		return n
	}
	name, format, formatted := strings.Cut(name, ":")
	value := n.Leaf(kind, name)
	if !named {
		value.Text, value.Raw, value.Plain = "true", "true", true
	}
	word := func(key string) *tree.Node { return &tree.Node{Text: key, Raw: key, At: n.At, Path: n.Path} }
	out := &tree.Node{Form: tree.Mapping, At: n.At, Path: n.Path, Keys: []*tree.Node{word(kind)},
		Items: []*tree.Node{value}}
	if formatted {
		out.Keys = append(out.Keys, word("format"))
		out.Items = append(out.Items, n.Leaf("format", strings.TrimSpace(format)))
	}
	return out
}

// partitionFlag overrides the kind of the partition below root with the text of --partition. count and the
// rest stay.
func partitionFlag(root *tree.Node, text string) {
	at := tree.Position{Setting: "--partition"}
	flag := partitionNode(&tree.Node{Text: text, Raw: text, Plain: true, At: at, Path: "partition"})
	// There is a slot: the root is a mapping, and the step is not empty.
	slot, _ := root.Slot("partition", at)
	if old := *slot; old.Form == tree.Mapping && flag.Form == tree.Mapping {
		for i, k := range old.Keys {
			if !isPartitionKind(k.Text) && k.Text != "format" {
				flag.Keys, flag.Items = append(flag.Keys, k), append(flag.Items, old.Items[i])
			}
		}
	}
	*slot = flag
}

// partitionKind is the kind of the partition: a mapping, or the text of --partition.
func partitionKind() kind[*Partition] {
	const why = "a partition is header:NAME, query:NAME, cookie:NAME, body:NAME, address, path or none, " +
		"or a mapping with one of them"
	on := true
	mapped := object("a partition", []field[*Partition]{
		key("header", word("a header field has an HTTP token for a name", tokenPattern),
			func(p *Partition) *string { return &p.Name }),
		key("query", word("a query parameter has a name", parameterPattern),
			func(p *Partition) *string { return &p.Name }),
		key("cookie", word("a cookie has an HTTP token for a name", tokenPattern),
			func(p *Partition) *string { return &p.Name }),
		key("body", word("a field of a body has a name", parameterPattern),
			func(p *Partition) *string { return &p.Name }),
		key("format", word("a format has {key} where the key stands", `^[^\r\n]*\{key\}[^\r\n]*$`),
			func(p *Partition) *string { return &p.Format }),
		key("address", boolean("address"), func(*Partition) *bool { return &on }),
		key("path", boolean("path"), func(*Partition) *bool { return &on }),
		key("none", boolean("none"), func(*Partition) *bool { return &on }),
		key("count", whole("a count", 1, maxPartitions), func(p *Partition) *int { return &p.Count }),
		key("fresh", boolean("fresh"), func(p *Partition) *bool { return &p.Fresh }),
		key("exclusive", boolean("exclusive"), func(p *Partition) *bool { return &p.Exclusive }),
	}, checkPartition)
	field, parameter := inner(tokenPattern), inner(parameterPattern)
	text := &jsonschema.Schema{Type: "string", Pattern: `^(header:` + field + `(: ?.*\{key\}.*)?|query:` +
		parameter + `|cookie:` + field + `|body:` + parameter + `|address|path|none)$`}
	return kind[*Partition]{schema: anyOf(mapped.schema, orVariable(text)),
		read: func(d *decoder, n *tree.Node, p *Partition) {
			if n.Form == tree.Scalar && !n.Bad {
				n = partitionNode(n)
			}
			if n.Form != tree.Mapping {
				if d.wants(n, tree.Scalar, why) {
					d.add(n, n.Describe(), why, `write "header:X-Api-Key"`)
				}
				return
			}
			mapped.read(d, n, p)
		}}
}

func checkPartition(d *decoder, n *tree.Node, p *Partition) {
	var kinds []*tree.Node
	for i, k := range n.Keys {
		if isPartitionKind(k.Text) {
			kinds = append(kinds, k)
			p.Kind = PartitionKind(k.Text)
			if n.Items[i].Text == "false" && n.Items[i].Plain {
				d.add(n.Items[i], `"false"`, "leave this out if it does not tell clients apart",
					"remove the key")
			}
		}
	}
	if nameless(p.Kind) {
		p.Name = ""
	}
	if p.Kind != ByHeader && p.Format != "" {
		d.add(n.Get("format"), tree.Quote(p.Format), "only a header field has a format", "remove it")
	}
	if len(kinds) > 1 {
		d.add(kinds[1], tree.Quote(kinds[1].Text), "only one thing tells clients apart",
			"remove it or "+tree.Quote(kinds[0].Text))
	}
}

// Named tells whether requests name their client.
func (p Partition) Named() bool { return p.Kind != ByAddress && p.Kind != ByNone }

// MergeClients makes all clients of a scenario one, if they share a quota, or if nothing in their requests
// tells them apart. Partition is then ByNone, with one partition that is not fresh. Lacks says what the
// scenario needs several clients for.
func (s *Scenario) MergeClients() {
	if s.Partition.Kind == ByBody && s.Target.Method == "GET" {
		s.Target.Method = "POST" // it has a body
	}
	shared := ", and all clients share one quota (partition none)"
	if s.Partition.Kind == ByAddress && !manyAddresses(s.Target.URL) {
		s.Partition.Kind = ByNone
		shared = ", and only a target on 127.0.0.0/8 sees many addresses (partition address)"
	}
	if s.Partition.Kind == ByNone {
		if why := s.needsClients(); why != "" {
			s.Lacks = why + shared
		}
		s.Partition.Fresh, s.Partition.Count = false, 1
	}
}

// manyAddresses tells whether requests to a target can come from many addresses. They can to a loopback
// address.
func manyAddresses(target string) bool {
	u, err := url.Parse(target)
	if err != nil || target == Builtin || u.Hostname() == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(u.Hostname())
	return err == nil && a.Is4() && a.IsLoopback()
}

// needsClients says why a scenario needs several clients, each with a quota of its own. Empty: it does not.
func (s *Scenario) needsClients() string {
	if s.Partition.Count > 1 {
		return fmt.Sprintf("it needs %d clients", s.Partition.Count)
	}
	if i := slices.IndexFunc(s.Phases, func(p Phase) bool { return p.Mint != "" }); i >= 0 {
		return "each request has another client (" + s.Phases[i].Name + ")"
	}
	var apart []string
	for i := range s.Phases {
		if p := &s.Phases[i]; p.Unnamed {
			apart = append(apart, p.Name)
		}
	}
	if len(apart) > 0 {
		return "it leaves out the key of a client (" + strings.Join(apart, ", ") + ")"
	}
	return ""
}

// Clients lists the names that the clients of a schedule have on the wire, each once. Clients without a name
// are left out.
func Clients(plan *timeline.Schedule) (names []string) {
	for i := range plan.Phases {
		p := &plan.Phases[i]
		add := func(partition string) {
			if k := p.Request.Key(partition); k != "" && !slices.Contains(names, k) {
				names = append(names, k)
			}
		}
		for j := range p.Arrivals {
			add(p.Arrivals[j].Partition)
		}
		for _, partition := range p.Partitions {
			add(partition)
		}
		if p.Shape == timeline.Boundary && p.Aim == timeline.AimProbe && len(p.Arrivals) > 0 {
			add(p.Arrivals[0].Partition + "-probe")
		}
	}
	return names
}

// Issued gives each client of a schedule an issued key. It skips the first SkipKeys of them, so that
// scenarios of one run use different keys if there are enough. nil: no keys were issued. The scenario must
// not be Unmet.
func (s *Scenario) Issued(plan *timeline.Schedule) map[string]string {
	if len(s.Keys) == 0 {
		return nil
	}
	out := map[string]string{}
	for i, name := range Clients(plan) {
		out[name] = s.Keys[(s.SkipKeys+i)%len(s.Keys)]
	}
	return out
}

// fewKeys says that s has more clients than keys were issued. Empty: it has not.
func (s *Scenario) fewKeys() string {
	if len(s.Keys) == 0 {
		return ""
	}
	plan, err := s.Plan("", 1)
	if err != nil {
		return "" // it is reported where the scenario is planned
	}
	if n := len(Clients(plan)); n > len(s.Keys) {
		return fmt.Sprintf("it has %s, but %s issued (--api-keys)", text.Plural(n, "client"),
			text.Plural(len(s.Keys), "key")+map[bool]string{true: " was", false: " were"}[len(s.Keys) == 1])
	}
	return ""
}

// attributes are the names of all attributes.
func attributes() []timeline.Attribute {
	var out []timeline.Attribute
	for _, row := range timeline.Attributes() {
		out = append(out, row.Attribute)
	}
	return out
}

// attributesKind is the kind of expect.attributes: path-case: separate and so on.
func attributesKind() kind[*map[timeline.Attribute]claim.Sharing] {
	type sharings = map[timeline.Attribute]claim.Sharing
	word := choice("sharing", claim.OneQuota, claim.TwoQuotas, claim.Either)
	price := choice("sharing", claim.OneQuota, claim.Either)
	var fields []field[*sharings]
	for _, a := range attributes() {
		word := word
		if a.IsCost() {
			word = price // a cost is no client
		}
		into := kind[*sharings]{schema: word.schema, read: func(d *decoder, n *tree.Node, m *sharings) {
			var v claim.Sharing
			word.read(d, n, &v)
			if *m == nil {
				*m = sharings{}
			}
			(*m)[a] = v
		}}
		fields = append(fields, key(string(a), into, func(m *sharings) *sharings { return m }))
	}
	return object("attributes", fields, nil)
}

// expectSharing completes the expectations on the phases with two sides.
func (s *draft) expectSharing(d *decoder, expect *tree.Node) {
	var varied []timeline.Attribute
	for i := range s.phases {
		p := &s.phases[i]
		if p.Vary == "" {
			continue
		}
		varied = append(varied, p.Vary)
		if s.Partition.Count > 1 {
			d.add(p.at.Get("vary"), tree.Quote(string(p.Vary)), "the two sides are those of one client",
				"leave out partition.count")
		}
		x := claim.AttributeExpect{Phase: p.Name, Attribute: p.Vary, Sharing: claim.OneQuota,
			Moot: s.moot(&p.Phase)}
		switch own := s.Target.URL == Builtin; {
		// The embedded target takes any key, so both spellings are clients.
		case p.Vary == timeline.KeyCase && own:
			x.Sharing, x.Unsure = claim.TwoQuotas, true // two windows may admit as much
		case p.Vary.IsFeature() && (!own || p.Vary == timeline.IdempotencyKey), p.Vary == timeline.KeyCase,
			p.Vary == timeline.KeyTwice && !own: // where keys are invented, "k, k" is one
			x.Sharing = claim.Either
		}
		switch declared := s.sharing[p.Vary]; {
		case declared != "":
			x.Sharing, x.Unsure = declared, false
		case d.issued && s.Partition.Named() && (p.Vary == timeline.KeyCase || p.Vary == timeline.KeyTwice):
			x.Sharing = claim.OneQuota // KEY, or key sent twice, is the client of key
		}
		s.Expect.Attributes = append(s.Expect.Attributes, x)
	}
	for _, a := range attributes() {
		if s.sharing[a] != "" && !slices.Contains(varied, a) {
			at := expect.Get("attributes").Get(string(a))
			d.add(at, tree.Quote(string(a)), "no phase has vary: "+string(a), "")
		}
	}
}

// moot says why the requests of a phase cannot differ in its attribute, or not in that alone. Empty: they
// can.
func (s *draft) moot(p *Phase) string {
	switch a := p.Vary; {
	case a.IsPath():
		return s.mootPath(p)
	case s.already(p) != "":
		return "its requests have " + s.already(p) + " already"
	case s.Target.Protocol == H2 && slices.Contains([]timeline.Attribute{timeline.KeyFieldCase,
		timeline.KeySpaces, timeline.HTTPVersion, timeline.OneConnection, timeline.Connection,
		timeline.Chunked, timeline.Leaves}, a):
		return "HTTP/2 has no such thing"
	case a == timeline.KeyFieldCase || a == timeline.KeySpaces:
		if s.Partition.Kind != ByHeader {
			return "no field tells clients apart"
		}
	case a == timeline.KeyCase || a == timeline.KeyTwice:
		if !s.Partition.Named() || a == timeline.KeyTwice && s.Partition.Kind == ByPath {
			return "clients do not name themselves"
		}
	case s.Partition.Kind == ByHeader && slices.ContainsFunc(fieldsOf(a), func(name string) bool {
		return strings.EqualFold(name, s.Partition.Name)
	}):
		return "clients are told apart by it"
	}
	return ""
}

// fieldsOf returns the header fields in which requests differ.
func fieldsOf(a timeline.Attribute) []string {
	switch a {
	case timeline.HostName, timeline.HostPort:
		return []string{"Host"}
	case timeline.ForwardedFor:
		return []string{"X-Forwarded-For"}
	case timeline.KubeProbe, timeline.ELBProbe, timeline.Googlebot:
		return []string{"User-Agent"}
	case timeline.RealIP:
		return []string{"X-Real-IP", "X-Client-IP", "True-Client-IP", "CF-Connecting-IP",
			"X-Envoy-External-Address", "Fastly-Client-IP"}
	default:
		return []string{string(a)}
	}
}

// already names what the plain requests of a phase have of its attribute. Empty: nothing.
func (s *draft) already(p *Phase) string {
	switch p.Vary {
	case timeline.MethodHead, timeline.MethodPost, timeline.MethodOptions:
		if cmp.Or(p.Method, s.Target.Method) == strings.ToUpper(string(p.Vary)) {
			return "this method"
		}
	case timeline.Content, timeline.Chunked:
		if s.Target.Body != "" || s.Partition.Kind == ByBody {
			return "a body"
		}
	case timeline.Authorization:
		for _, h := range []map[string]string{s.Target.Header, p.Header} {
			for name := range h {
				if strings.EqualFold(name, "Authorization") {
					return "this field"
				}
			}
		}
	}
	return ""
}

// mootPath says why a path has no other spelling. Empty: it has one.
func (s *draft) mootPath(p *Phase) string {
	path := p.Path
	if u, err := url.Parse(s.Target.URL); path == "" && err == nil && s.Target.URL != Builtin {
		path = u.EscapedPath()
	} else if path == "" {
		path = "/" + BuiltinPath
	}
	path, _, _ = strings.Cut(path, "?")
	letters := func(s string) bool { return strings.ToUpper(s) != s || strings.ToLower(s) != s }
	switch {
	case s.Partition.Kind == ByPath:
		return "the path tells clients apart"
	case p.Vary == timeline.PathCase && strings.ToUpper(path) == path,
		p.Vary == timeline.PathEncoding && !letters(path):
		return fmt.Sprintf("the path %s has no letters to write so", path)
	case (p.Vary == timeline.PathLastSlash || p.Vary == timeline.PathExtension) &&
		(path == "" || strings.HasSuffix(path, "/")):
		return "the path ends with a slash"
	}
	return ""
}
