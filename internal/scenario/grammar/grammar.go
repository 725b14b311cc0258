package grammar

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/scenario/tree"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// The ceilings of what a file may ask for, and the patterns of names.
const (
	maxRequests    = scenario.MaxRequests
	maxPartitions  = 1_000_000
	maxConnections = 60_000
	idPattern      = `^[a-z0-9]+(-[a-z0-9]+)*$`
	tokenPattern   = "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"
)

// grammar is scenarioKind, made once: its patterns and schemas are most of the work of reading a small file.
var grammar = sync.OnceValue(scenarioKind)

// scenarioKind is the kind of a whole file.
func scenarioKind() kind[*draft] {
	id := word("an id has lower case letters and digits, with single dashes between them", idPattern)
	return object("a scenario", []field[*draft]{
		key("id", id, "Stable for ever: reports and CI jobs refer to it.",
			func(s *draft) *string { return &s.ID }).must(),
		key("title", word("a title is a sentence", `\S`), "A sentence that is true of a right limiter.",
			func(s *draft) *string { return &s.Title }).must(),
		key("kind", choice("a kind", scenario.Required, scenario.Recommended, scenario.Informative),
			"How much a FAIL weighs.",
			func(s *draft) *scenario.Kind { return &s.Kind }).must(),
		key("source", word("a source is a link or FILE#ANCHOR", `\S`), "Where the rule comes from.",
			func(s *draft) *string { return &s.Source }),
		key("tags", list("words", id), "Words to select scenarios by.",
			func(s *draft) *[]string { return &s.Tags }),
		key("catches", list("faults", id), "Faults of the embedded target that this scenario is for.",
			func(s *draft) *[]string { return &s.Catches }),
		key("needs", list("ids", id), "Scenarios without whose success this one says nothing.",
			func(s *draft) *[]string { return &s.Needs }),
		key("target", targetKind(), "Where requests go and what they are.",
			func(s *draft) *scenario.Target { return &s.Target }),
		key("partition", partitionKind(), "What the limiter tells clients apart by.",
			func(s *draft) *scenario.Partition { return &s.Partition }),
		key("limit", limitKind(), "The declared limit that the target is held against.",
			func(s *draft) *spec.Limit { return &s.Limit }).must(),
		key("allowed", allowedKind(),
			"Which answers are admissions; those with a status below 400 that are no denials by default.",
			func(s *draft) *[]int { return &s.Allowed }),
		key("denied", deniedKind(), "Which answers are denials.",
			func(s *draft) *scenario.Denied { return &s.Denied }),
		key("phases", list("phases", phaseKind()), "What is sent, one phase after the other.",
			func(s *draft) *[]phaseDraft { return &s.phases }).must(),
		aboutKey(), promisesKey(),
		key("expect", expectKind(), "What the answers must show.",
			func(s *draft) *draft { return s }),
		key("example", boolean("example"),
			"The limits of phases, and the paths, methods and fields that they are for, are those of the "+
				"embedded target. For another one write its own, and example: false.",
			func(s *draft) *bool { return &s.Example }),
		key("safety", safetyKind(), "Ceilings of the run.",
			func(s *draft) *scenario.Safety { return &s.Safety }),
	}, nil)
}

func defaultTarget() scenario.Target {
	return scenario.Target{URL: scenario.Builtin, Method: "GET", Timeout: 5 * time.Second,
		Tick: time.Millisecond, RetryAfter: "seconds", Protocol: scenario.H1}
}

// targetKind is the kind of the target mapping.
func targetKind() kind[*scenario.Target] {
	return object("a target", []field[*scenario.Target]{
		key("url", urlKind(), `An http or https URL, or "builtin" for the embedded target.`,
			func(t *scenario.Target) *string { return &t.URL }),
		key("origin", urlKind(), "What stands behind the proxy at url, for phases with origin: true.",
			func(t *scenario.Target) *string { return &t.Origin }),
		key("method", methodKind(), "GET by default.", func(t *scenario.Target) *string { return &t.Method }),
		key("header", headerKind(), "Header fields of every request.",
			func(t *scenario.Target) *map[string]string { return &t.Header }),
		key("body", word("a body is text", ""), "The body of every request.",
			func(t *scenario.Target) *string { return &t.Body }),
		key("timeout", duration(time.Millisecond, time.Hour),
			"How long an answer is waited for; 5s by default.",
			func(t *scenario.Target) *time.Duration { return &t.Timeout }),
		key("tick", duration(0, time.Minute), "How coarse the target's clock may be; 1ms by default.",
			func(t *scenario.Target) *time.Duration { return &t.Tick }),
		key("fault", word("a fault is a name that \"rlcheck serve --fault list\" prints", idPattern),
			"A deliberate defect of the embedded target.",
			func(t *scenario.Target) *string { return &t.Fault }),
		key("retry_after", choice("the form of Retry-After", "seconds", "date"),
			"How the embedded target writes Retry-After.",
			func(t *scenario.Target) *string { return &t.RetryAfter }),
		key("on_store_error", choice("the choice on a store error", "allow", "deny", "error"),
			"What the embedded target answers while its store is gone; error by default.",
			func(t *scenario.Target) *string { return &t.OnStoreError }),
		key("client_address", word("a field name is an HTTP token", tokenPattern),
			"The field in whose last element the embedded target finds the address of a client without a "+
				"key, as a trusted proxy writes it; that of the connection by default.",
			func(t *scenario.Target) *string { return &t.ClientAddress }),
		key("insecure", boolean("insecure"), "Accept any TLS certificate.",
			func(t *scenario.Target) *bool { return &t.Insecure }),
		key("protocol", protocolKind(),
			"h1 (HTTP/1.1) by default, or h2: HTTP/2, with TLS by ALPN, else by prior knowledge.",
			func(t *scenario.Target) *scenario.Protocol { return &t.Protocol }),
		key("unix_socket", word("a socket is a path", `\S`),
			"The path of a Unix socket to connect to in place of url's host.",
			func(t *scenario.Target) *string { return &t.UnixSocket }),
		key("proxy", proxyKind(), "An HTTP proxy: http://HOST:PORT. The environment is never asked for one.",
			func(t *scenario.Target) *string { return &t.Proxy }),
	}, func(d *decoder, n *tree.Node, t *scenario.Target) {
		checkWay(d, n, t)
		if f := n.Get("fault"); f != nil && t.URL != scenario.Builtin {
			d.add(f, tree.Quote(f.Text),
				"only the embedded target wears faults, and url is "+tree.Quote(t.URL),
				"remove it, or write url: builtin")
		}
	})
}

func protocolKind() kind[*scenario.Protocol] {
	return choice("a protocol", scenario.H1, scenario.H2)
}

// proxyKind is the kind of the URL of a proxy.
func proxyKind() kind[*string] {
	const rule = "a proxy is http://HOST:PORT"
	is := regexp.MustCompile(`^http://([^/?#\s@]+@)?[^/?#\s@]+/?$`)
	schema := &jsonschema.Schema{Type: "string", Pattern: is.String()}
	return kind[*string]{schema: orVariable(schema), read: func(d *decoder, n *tree.Node, v *string) {
		if !d.wants(n, tree.Scalar, rule) {
			return
		}
		if u, err := url.Parse(n.Text); err != nil || !is.MatchString(n.Text) || u.Hostname() == "" {
			d.add(n, "this url", rule+" or http://USER:PASSWORD@HOST:PORT",
				"") // it is not quoted: it may hold a password
			return
		}
		*v = n.Text
	}}
}

// checkWay refuses ways to the target that exclude each other.
func checkWay(d *decoder, n *tree.Node, t *scenario.Target) {
	socket, proxy := n.Get("unix_socket"), n.Get("proxy")
	switch {
	case socket != nil && proxy != nil:
		d.add(proxy, "a proxy", "a Unix socket is connected to directly", "remove one of them")
	case socket != nil && t.Origin != "":
		d.add(socket, tree.Quote(socket.Text), "one socket cannot be both the target and its origin",
			"remove origin")
	case socket != nil && t.URL == scenario.Builtin:
		d.add(socket, tree.Quote(socket.Text), "the embedded target listens at no socket",
			"write the url of the target")
	case proxy != nil && t.URL == scenario.Builtin:
		d.add(proxy, "a proxy", "the embedded target is connected to directly", "write the url of the target")
	}
}

func methodKind() kind[*string] {
	const rule = "a method is in capitals"
	is := regexp.MustCompile(`^[A-Z][A-Z-]*$`)
	return textKind(rule, &jsonschema.Schema{Type: "string", Pattern: is.String()},
		func(s string) (string, string, string) {
			switch upper := strings.ToUpper(s); {
			case is.MatchString(s):
				return s, "", ""
			case is.MatchString(upper):
				return "", rule, fmt.Sprintf("write %q", upper)
			default:
				return "", rule + " and has no other characters", ""
			}
		})
}

// urlKind is the kind of a URL, or the word builtin.
func urlKind() kind[*string] {
	return textKind(`a url begins with http:// or https://, or is "builtin"`,
		&jsonschema.Schema{Type: "string", Pattern: `^(builtin|https?://[^/?#\s@]+([/?][^#\s]*)?)$`},
		parseURL)
}

func parseURL(s string) (string, string, string) {
	const form = `a url begins with http:// or https://, or is "builtin"`
	if s == scenario.Builtin {
		return s, "", ""
	}
	u, err := url.Parse(s)
	switch {
	case strings.ContainsAny(s, " \t\r\n"):
		return "", "a url has no spaces", ""
	case !strings.Contains(s, "://") && strings.ContainsAny(s, ".:"):
		return "", form, fmt.Sprintf("write %q", "http://"+strings.TrimPrefix(s, "//"))
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return "", form, ""
	case u.Hostname() == "":
		return "", "a url names a host", ""
	case u.User != nil:
		return "", "a url has no user or password", "write them in target.header as Authorization"
	case strings.Contains(s, "#"):
		return "", "a fragment is not sent", "leave out what follows the #"
	}
	return s, "", ""
}

// notForFiles are header fields that the generator writes itself.
func notForFiles() []string {
	return []string{"connection", "content-length", "transfer-encoding", "upgrade", "te", "trailer",
		"keep-alive", "proxy-connection"}
}

// headerKind is the kind of header fields: names to values, both as HTTP wants them.
func headerKind() kind[*map[string]string] {
	const rule = "header fields are a mapping of names to texts"
	name := word("a field name is an HTTP token", tokenPattern)
	return kind[*map[string]string]{
		schema: &jsonschema.Schema{Type: "object", PropertyNames: pattern(tokenPattern),
			AdditionalProperties: &jsonschema.Schema{Type: "string", Pattern: `^[^\r\n]*$`}},
		read: func(d *decoder, n *tree.Node, h *map[string]string) {
			if !d.wants(n, tree.Mapping, rule) {
				return
			}
			*h = make(map[string]string, len(n.Keys))
			for i, k := range n.Keys {
				v, got := n.Items[i], ""
				name.read(d, k, &got)
				switch {
				case !d.wants(v, tree.Scalar, "a field value is text"):
				case slices.Contains(notForFiles(), strings.ToLower(k.Text)):
					d.add(k, tree.Quote(k.Text), "this field is written by the generator", "remove it")
				case !v.IsText():
					d.add(v, v.Describe(), "a field value is text, and YAML reads this as something else",
						"put it in quotes")
				case strings.ContainsAny(v.Text, "\r\n"):
					d.add(v, tree.Quote(v.Raw), "a field value is one line", "")
				case strings.TrimSpace(v.Text) != v.Text:
					d.add(v, tree.Quote(v.Raw), "a field value neither begins nor ends with a space", "")
				default:
					(*h)[k.Text] = v.Text
				}
			}
		}}
}

// bodyPattern is that of the name of a field of a body.
const bodyPattern = `^[0-9A-Za-z_.~-]+$`

func defaultPartition() scenario.Partition {
	return scenario.Partition{Kind: scenario.ByHeader, Name: "X-Api-Key", Count: 1, Fresh: true,
		Exclusive: true}
}

// isPartitionKind tells whether a key of the partition mapping names a kind.
func isPartitionKind(key string) bool {
	all := []scenario.PartitionKind{scenario.ByHeader, scenario.ByAddress, scenario.ByPath, scenario.ByQuery,
		scenario.ByCookie, scenario.ByBody, scenario.ByNone}
	return slices.Contains(all, scenario.PartitionKind(key))
}

// nameless tells whether partitions of a kind have no name of a field or a parameter.
func nameless(k scenario.PartitionKind) bool {
	return k == scenario.ByAddress || k == scenario.ByPath || k == scenario.ByNone
}

// partitionNode turns header:NAME, header:NAME: FORMAT, query:NAME, cookie:NAME, body:NAME, address, path or
// none into
// the mapping that it stands for. Other text stays.
func partitionNode(n *tree.Node) *tree.Node {
	kind, name, named := strings.Cut(n.Text, ":")
	if !isPartitionKind(kind) || named == nameless(scenario.PartitionKind(kind)) {
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

// partitionFlag overrides the kind of the partition below root with the text of --partition; count and the
// rest stay.
func partitionFlag(root *tree.Node, text string) {
	at := tree.Position{Setting: "--partition"}
	flag := partitionNode(&tree.Node{Text: text, Raw: text, Plain: true, At: at, Path: "partition"})
	slot, _ := root.Slot("partition", at) // the root is a mapping and the step not empty: there is a slot
	if old := *slot; old.Form == tree.Mapping && flag.Form == tree.Mapping {
		for i, k := range old.Keys {
			if !isPartitionKind(k.Text) && k.Text != "format" {
				flag.Keys, flag.Items = append(flag.Keys, k), append(flag.Items, old.Items[i])
			}
		}
	}
	*slot = flag
}

// partitionKind is the kind of the partition: a mapping, or the text that --partition takes.
func partitionKind() kind[*scenario.Partition] {
	const why = "a partition is header:NAME, query:NAME, cookie:NAME, body:NAME, address, path or none, " +
		"or a mapping with one of them"
	on := true
	mapped := object("a partition", []field[*scenario.Partition]{
		key("header", word("a header field has an HTTP token for a name", tokenPattern),
			"The header field that holds the key.", func(p *scenario.Partition) *string { return &p.Name }),
		key("query", word("a query parameter has a name", `^[0-9A-Za-z_.~-]+$`),
			"The query parameter that holds the key.",
			func(p *scenario.Partition) *string { return &p.Name }),
		key("cookie", word("a cookie has an HTTP token for a name", tokenPattern),
			"The cookie that holds the key.", func(p *scenario.Partition) *string { return &p.Name }),
		key("body", word("a field of a body has a name", bodyPattern),
			"The field of a JSON object, or of a form, in target.body that holds the key.",
			func(p *scenario.Partition) *string { return &p.Name }),
		key("format", word("a format has {key} where the key stands", `^[^\r\n]*\{key\}[^\r\n]*$`),
			`The value of the header field, {key} standing for the key, as in "Bearer {key}".`,
			func(p *scenario.Partition) *string { return &p.Format }),
		key("address", boolean("address"), "The source address is the key (loopback targets).",
			func(*scenario.Partition) *bool { return &on }),
		key("path", boolean("path"), "The last segment of the path is the key.",
			func(*scenario.Partition) *bool { return &on }),
		key("none", boolean("none"), "All clients share one quota.",
			func(*scenario.Partition) *bool { return &on }),
		key("count", whole("a count", 1, maxPartitions), "The number of partitions; 1 by default.",
			func(p *scenario.Partition) *int { return &p.Count }),
		key("fresh", boolean("fresh"), "New keys for every run; true by default.",
			func(p *scenario.Partition) *bool { return &p.Fresh }),
		key("exclusive", boolean("exclusive"), "Nobody else uses the keys; true by default.",
			func(p *scenario.Partition) *bool { return &p.Exclusive }),
	}, checkPartition)
	field := tokenPattern[1 : len(tokenPattern)-1]
	text := &jsonschema.Schema{Type: "string",
		Pattern: `^(header:` + field + `(: ?.*\{key\}.*)?|query:[0-9A-Za-z_.~-]+|cookie:` +
			field + `|body:[0-9A-Za-z_.~-]+|address|path|none)$`}
	return kind[*scenario.Partition]{schema: anyOf(mapped.schema, orVariable(text)),
		read: func(d *decoder, n *tree.Node, p *scenario.Partition) {
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

// checkPartition finds the kind of a partition.
func checkPartition(d *decoder, n *tree.Node, p *scenario.Partition) {
	var kinds []*tree.Node
	for i, k := range n.Keys {
		if isPartitionKind(k.Text) {
			kinds = append(kinds, k)
			p.Kind = scenario.PartitionKind(k.Text)
			if n.Items[i].Text == "false" && n.Items[i].Plain {
				d.add(n.Items[i], `"false"`, "what clients are not told apart by is left out",
					"remove the key")
			}
		}
	}
	if nameless(p.Kind) {
		p.Name = ""
	}
	if p.Kind != scenario.ByHeader && p.Format != "" {
		d.add(n.Get("format"), tree.Quote(p.Format), "only a header field has a format", "remove it")
	}
	if len(kinds) > 1 {
		d.add(kinds[1], tree.Quote(kinds[1].Text), "clients are told apart by one thing",
			"remove it or "+tree.Quote(kinds[0].Text))
	}
}

// allowedKind is the kind of the allowed mapping.
func allowedKind() kind[*[]int] {
	return object("allowed", []field[*[]int]{
		key("status", list("statuses", whole("a status", 100, 599)), "Statuses that are admissions.",
			func(v *[]int) *[]int { return v }).must(),
	}, nil)
}

// deniedKind is the kind of the denied mapping.
func deniedKind() kind[*scenario.Denied] {
	status := list("statuses", whole("a status", 100, 599))
	k := object("denied", []field[*scenario.Denied]{
		key("status", status, "Statuses that are denials; 429 by default.",
			func(v *scenario.Denied) *[]int { return &v.Status }),
		key("unanswered", boolean("unanswered"), "A request that gets no answer is denied: the "+
			"connection is closed, "+
			"or nothing comes in time (nginx 444, HAProxy silent-drop).",
			func(v *scenario.Denied) *bool { return &v.Unanswered }),
		key("header", word("a mark is a field name, or NAME: VALUE",
			`^`+tokenPattern[1:len(tokenPattern)-1]+`(: ?\S.*)?$`),
			"A field that makes an admission a denial, as one that is served degraded: X-Degraded, or with "+
				"its value.", func(v *scenario.Denied) *string { return &v.Header }),
	}, func(d *decoder, n *tree.Node, _ *scenario.Denied) {
		if len(n.Keys) == 0 {
			d.add(n, "an empty mapping", "denied has status, unanswered or header", "leave the key out")
		}
	})
	one := 1
	k.schema.MinProperties = &one
	return k
}

func defaultSafety() scenario.Safety {
	return scenario.Safety{MaxRequests: 1_000_000, MaxRate: spec.Rate{N: 20_000, Per: time.Second},
		MaxDuration: time.Hour, MaxConnections: 1000}
}

// safetyKind is the kind of the ceilings.
func safetyKind() kind[*scenario.Safety] {
	return object("safety", []field[*scenario.Safety]{
		key("max_requests", whole("a ceiling of requests", 1, maxRequests),
			"The most requests of a run; 1_000_000 by default.",
			func(s *scenario.Safety) *int { return &s.MaxRequests }),
		key("max_rate", rateKind(),
			"The highest planned rate of all partitions together; 20000/s by default.",
			func(s *scenario.Safety) *spec.Rate { return &s.MaxRate }),
		key("max_duration", duration(time.Millisecond, longest), "The longest planned run; 1h by default.",
			func(s *scenario.Safety) *time.Duration { return &s.MaxDuration }),
		key("max_connections", whole("a ceiling of connections", 1, maxConnections),
			"The most connections that are open at once; 1000 by default.",
			func(s *scenario.Safety) *int { return &s.MaxConnections }),
	}, nil)
}
