package scenario

import (
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
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
func partitionNode(n *Node) *Node {
	kind, name, named := strings.Cut(n.Text, ":")
	if !isPartitionKind(kind) || named == nameless(PartitionKind(kind)) {
		return n
	}
	name, format, formatted := strings.Cut(name, ":")
	value := n.Leaf(kind, name)
	if !named {
		value.Text, value.Raw, value.Plain = "true", "true", true
	}
	word := func(key string) *Node { return &Node{Text: key, Raw: key, At: n.At, Path: n.Path} }
	out := &Node{Form: Mapping, At: n.At, Path: n.Path, Keys: []*Node{word(kind)},
		Items: []*Node{value}}
	if formatted {
		out.Keys = append(out.Keys, word("format"))
		out.Items = append(out.Items, n.Leaf("format", strings.TrimSpace(format)))
	}
	return out
}

// partitionFlag overrides the kind of the partition below root with the text of --partition. count and the
// rest stay.
func partitionFlag(root *Node, text string) {
	at := Position{Setting: "--partition"}
	flag := partitionNode(&Node{Text: text, Raw: text, Plain: true, At: at, Path: "partition"})
	// There is a slot: the root is a mapping, and the step is not empty.
	slot, _ := root.Slot("partition", at)
	if old := *slot; old.Form == Mapping && flag.Form == Mapping {
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
		read: func(d *decoder, n *Node, p *Partition) {
			if n.Form == Scalar && !n.Bad {
				n = partitionNode(n)
			}
			if n.Form != Mapping {
				if d.wants(n, Scalar, why) {
					d.add(n, n.Describe(), why, `write "header:X-Api-Key"`)
				}
				return
			}
			mapped.read(d, n, p)
		}}
}

func checkPartition(d *decoder, n *Node, p *Partition) {
	var kinds []*Node
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
		d.add(n.Get("format"), Quote(p.Format), "only a header field has a format", "remove it")
	}
	if len(kinds) > 1 {
		d.add(kinds[1], Quote(kinds[1].Text), "only one thing tells clients apart",
			"remove it or "+Quote(kinds[0].Text))
	}
}
