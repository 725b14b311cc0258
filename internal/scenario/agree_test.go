package scenario

import (
	"bytes"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// compiled returns the committed schema as an editor reads it.
func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	src, err := os.ReadFile(schemaPath)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(src))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(schemaID, doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(schemaID)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

var (
	coreInt   = regexp.MustCompile(`^[-+]?[0-9]+$`)
	coreFloat = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
)

// value is what an editor sees in n with the core schema of YAML 1.2.
func value(n *Node) any {
	switch n.Form {
	case Mapping:
		m := make(map[string]any, len(n.Keys))
		for i, k := range n.Keys {
			m[k.Text] = value(n.Items[i])
		}
		return m
	case Sequence:
		s := make([]any, len(n.Items))
		for i, item := range n.Items {
			s[i] = value(item)
		}
		return s
	}
	switch {
	case n.IsNull():
		return nil
	case !n.Plain:
		return n.Text
	case coreInt.MatchString(n.Text):
		i, err := strconv.ParseInt(n.Text, 10, 64)
		if err != nil {
			return n.Text
		}
		return i
	case coreFloat.MatchString(n.Text):
		f, _ := strconv.ParseFloat(n.Text, 64)
		return f
	case n.Text == "true", n.Text == "false":
		return n.Text == "true"
	}
	return n.Text
}

func TestSchemaAcceptsWhatParses(t *testing.T) {
	schema := compiled(t)
	files := testdata(t, "good/*.yaml")
	files["template.yaml"] = Template("")
	for name, src := range bundled(t) {
		files[name] = src
	}
	for name, src := range files {
		root, errs := parseYAML(src, name, scenarioDocument())
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		if err := schema.Validate(value(root)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSchemaRefusesWhatDoesNotParse: the schema refuses every bad file, apart from those whose mistakes are
// not of form. It cannot know these.
func TestSchemaRefusesWhatDoesNotParse(t *testing.T) {
	beyond := map[string]string{
		"ceilings.yaml": "sums", "sums.yaml": "sums", "limits.yaml": "references between phases",
		"together.yaml": "references between phases", "unnamed.yaml": "references between keys",
		"reloads.yaml": "references between keys", "variables.yaml": "the environment",
		"documents.yaml": "YAML", "duplicate.yaml": "YAML",
	}
	schema := compiled(t)
	for name, src := range testdata(t, "bad/*.yaml") {
		if beyond[name] != "" {
			continue
		}
		root, _ := parseYAML(src, name, scenarioDocument())
		if root == nil { // no YAML, so nothing that a schema can see
			continue
		}
		if schema.Validate(value(root)) == nil {
			t.Errorf("%s: the schema accepts it", name)
		}
	}
}

// TestSchemaAndDecoderAgree: each row changes one value of testdata/good/full.yaml, and the decoder and the
// schema must agree about it. (They do not agree about 1e3. That is the integer 1000 to JSON Schema, and the
// decoder refuses it.)
func TestSchemaAndDecoderAgree(t *testing.T) {
	schema := compiled(t)
	src := testdata(t, "good/full.yaml")["full.yaml"]
	for _, row := range agreement() {
		root, errs := parseYAML(src, "full.yaml", Document{})
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		set, err := ParseSetting(row.setting)
		if err != nil {
			t.Fatal(err)
		}
		if errs := set.Apply(root); len(errs) > 0 {
			t.Fatalf("%s: %v", row.setting, errs)
		}
		schemaErr := schema.Validate(value(root))
		_, parseErr := Parse(src, "full.yaml", ParseOptions{Set: []Setting{set}})
		if (parseErr == nil) != row.good {
			t.Errorf("%s: the decoder says %v, want good=%v", row.setting, parseErr, row.good)
		}
		if (schemaErr == nil) != row.good {
			t.Errorf("%s: the schema says %v, want good=%v", row.setting, schemaErr, row.good)
		}
	}
}

type agreementRow struct {
	setting string
	good    bool
}

func agreement() []agreementRow {
	var rows []agreementRow
	for _, s := range []string{
		"id=a-b2", "kind=required", "title=T", "tags=[x]", "target.url=builtin",
		"target.url=http://127.0.0.1:8080/a?b", "target.url=http://[::1]:80", "target.method=DELETE",
		"target.timeout=1m30s", "target.timeout=1.5s", "target.insecure=false", "target.retry_after=seconds",
		"partition=address", "partition=header:X-Y", "partition={path: true}", "partition.count=1_0",
		"partition.count=${N:-3}", "limit=gcra,rate=1/s,burst=2",
		"limit={algorithm: gcra, rate: 10r/s, burst: 2}",
		"limit={algorithm: fixed-window, rate: 5/1m30s, align: first}",
		"limit={algorithm: leaky-bucket-queue, rate: 5/min, queue: 0, undelayed: 0}",
		"limit={algorithm: fixed-window, rate: 5/s, phase: 10ms..20ms}",
		"limit={algorithm: concurrency, limit: 5}",
		"limit={algorithm: concurrency, limit: 5, hold: 100ms..2s, linger: 10ms}",
		"limit={algorithm: gcra, rate: 1/s, burst: 1, ttl: 5s}",
		"limit={algorithm: fixed-window, rate: 5/s, charge: completion, hold: 1m30s..}",
		"limit={algorithm: fixed-window, rate: 5/s, count: own}",
		"limit={algorithm: gcra, rate: 9..11/s, burst: 18..20, start: 3..5, ban: 1s..1m5s, ttl: 50s..1d}",
		"limit={algorithm: leaky-bucket, rate: 5/s, burst: 3, start: 2}",
		"limit={algorithm: leaky-bucket-queue, rate: 5/s, queue: 1_0..2_0}",
		"limit={algorithm: concurrency, limit: 5..9}", "limit={algorithm: fixed-window, rate: 5..9/50s..70s}",
		"denied.status=[403]", "phases.a.requests=5", "phases.a.requests=20_0", "phases.a.requests=2.5x-1",
		"phases.a.cost=1", "phases.b.duration=1.1x", "safety.max_duration=1d12h", "phases.b.duration={x: 2}",
		"phases.b.duration={x: 0.5, max: 3s}", "phases.c.rate=100/s", "phases.c.rate=0.5x",
		"phases.h.aim=auto", "phases.e={name: z, shape: ramp, from: 1x, to: 2x, requests: 5}",
		"phases.f.clients=10", "expect.conformance=exact", "expect.resolution.rate=none",
		"expect.resolution.windowed=60%", "expect.resolution.rate=10%", "expect.fields=[date]",
		"expect.latency={allowed_max: 1s}", "safety.max_rate=5000/1s", "safety.max_requests=9000",
		"phases.a.path=//x/%41?y", "phases.a.method=PUT", "phases.a.header={A: b}",
		"phases.a.spelling=[query]", "phases.m.client=other", "phases.a.connections=kept",
		"phases.m.limit=3x", "phases.m.limit=none", "phases.m.limit=zero", "phases.o.unnamed=true",
		"example=true", "phases.p.addresses=one-network", "target.client_address=Forwarded",
		"phases.m.limit=gcra,rate=1/s,burst=5", "phases.m.limit={algorithm: fixed-window, rate: 5/s}",
		"phases.i.rates=[1x]", "phases.k.retry={policy: fixed}", "phases.l.action=reload",
		"phases.l.command=reboot $$X", "allowed.status=[200]", "expect.quota={counts: true}",
		"expect.answers=[{phase: a, status: [200, 500]}]", "expect.parity=[{phase: a, like: c}]",
		"expect.storm=[{phase: k}]", "expect.latency={denied_p99: 1x}", "target.on_store_error=allow",
		"target.protocol=h2",
	} {
		rows = append(rows, agreementRow{s, true})
	}
	for _, s := range []string{
		"id=A", "id=a--b", "id=5", "id=", "id=[a]", "kind=must", "kind=5", "title=5", "title=' '", "tags=x",
		"tags=[5]", "target.url=localhost", "target.url=http://u@h/", "target.url=http://h/#f",
		"target.url=http://", "target.url=5", "target.method=get", "target.timeout=5", "target.timeout=5 s",
		"target.timeout=''", "target.timeout=-1s", "target.timeout=[1s]", "target.insecure=yes",
		"target.insecure='true'", "target.retry_after=both", "target.protocol=h3", "target.unix_socket=5",
		"target.unix_socket=''", "target.proxy=https://p:1", "target.proxy=http://",
		"target.proxy=http://p/x", "target.header.A=5", "target.header={A B: c}", "target.unknown=1",
		"partition=cookie", "partition=header", "partition=address:x", "partition.count=0",
		"partition.count=2.5", "partition.count='2'", "partition.fresh=1", "limit=5", "limit=[]", "limit={}",
		"limit={algorithm: gcra}", "limit={algorithm: gcra, rate: 1/s}",
		"limit={algorithm: gcra, rate: 10, burst: 1}", "limit={algorithm: gcra, rate: 1/s, burst: 0}",
		"limit={algorithm: gcra, rate: 1/s, burst: 1, queue: 1}",
		"limit={algorithm: fixed-window, rate: 5/s, burst: 1}",
		"limit={algorithm: leaky-bucket-queue, rate: 5/s}", "limit={algorithm: fifo, rate: 5/s}",
		"limit={algorithm: gcra, rate: 1/s, burst: 1, start: half}",
		"limit={algorithm: gcra, rate: 1/s, burst: 1, quota: 5}",
		"limit={algorithm: gcra, rate: 1/s, burst: 1.., start: 0}",
		"limit={algorithm: gcra, rate: 1/s, burst: 1, ban: 1s..2}",
		"limit={algorithm: gcra, rate: 1/s, burst: 1, tick: 1s..2s}", "limit={algorithm: concurrency}",
		"limit={algorithm: concurrency, limit: 5, rate: 5/s}",
		"limit={algorithm: concurrency, limit: 5, hold: 1s}",
		"limit={algorithm: fixed-window, rate: 5/s, charge: late}", "denied.status=429", "denied.status=[]",
		"denied.status=[99]", "denied.status=[600]", "denied={}", "phases={}", "phases.a.requests=0",
		"phases.a.requests=2y", "phases.a.requests=1.5", "phases.a.requests=x", "phases.a.cost=0",
		"phases.a.shape=boom", "phases.a.duration=1s", "phases.b.requests=5", "phases.b.duration=5",
		"phases.b.duration={min: 1s}", "phases.b.duration={x: 0}", "phases.b.duration={x: 2, least: 1s}",
		"phases.c.rate=10", "phases.c.requests=5", "phases.c.rate=1/0.s.", "phases.d.name=D",
		"phases.f.clients=0", "phases.h.aim=north", "phases.e={name: z, shape: ramp, to: 1x, duration: 1s}",
		"phases.e={name: z, shape: ramp, from: 1x, to: 2x}", "phases.e.requests=5",
		"phases.e={shape: silence, duration: 1s}", "phases.e={name: z, shape: constant, rate: 1x}",
		"expect.conformance=loose", "expect.resolution.rate=2", "expect.resolution.rate=2 %",
		"expect.fields=[etag]", "expect.fields=date", "expect.latency={p99: 1s}",
		"expect.latency={denied_p99: 20}", "expect.schedule={}", "expect.intact.fields=[A B]",
		"expect.denials=[{phase: c}]", "expect.denials=[{phase: c, max: -1}]", "safety.max_requests=many",
		"safety.max_rate=2x", "safety.max_duration=never", "nonsense=1", "phases.a.path=x",
		"phases.a.path=/a b", "phases.a.path='/a#b'", "phases.a.method=get", "phases.a.header=[A]",
		"phases.a.spelling=[backwards]", "phases.a.client=A", "phases.p.unnamed=yes",
		"phases.p.addresses=ipv6", "phases.b.unnamed=true", "example=yes", "target.client_address=a b",
		"phases.a.connections=new", "phases.m.limit={}", "phases.i.rates=[]", "phases.i.rates=[1]",
		"phases.i.requests=5", "phases.k.retry={base: 1s}", "phases.k.retry={policy: luck}",
		"phases.k.retry={policy: fixed, budget: 0}", "phases.l.action=reboot", "phases.l.requests=1",
		"phases.l.partition=a", "phases.l.path=/a", "phases.b.limit=2x", "phases.b.client=a",
		"phases.a.action=restart", "phases.a.retry={policy: fixed}", "allowed={}", "allowed.status=200",
		"expect.quota={truth: true}", "expect.answers=[{phase: a}]", "expect.parity=[{phase: a}]",
		"expect.storm=[{drained: true}]", "target.on_store_error=panic",
	} {
		rows = append(rows, agreementRow{s, false})
	}
	return rows
}
