package report

import (
	"bytes"
	"cmp"
	_ "embed" // the words of the schemas
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/rlcheck/rlcheck/internal/identify"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Schema returns the JSON Schema (draft 2020-12) of what is written as json: by run (report), check
// (verdict), compare or identify (identity). It is indented and ends in a newline. Every object allows more
// members, as a later version may add some. Its identifier need not be fetched.
func Schema(name string) ([]byte, error) {
	title, form := name, map[string]reflect.Type{"report": reflect.TypeFor[run](),
		"verdict": reflect.TypeFor[result.Judgement](), "compare": reflect.TypeFor[Comparison](),
		"identity": identify.Form()}[name]
	if name == "identity" {
		title = "identify"
	}
	return marshal(schemaOf("https://rlcheck.github.io/"+name+".schema.json", "rlcheck "+title, form))
}

// schemaText describes the structs of the documents. A line "name: sentence" begins a struct. The indented
// lines below it describe its members. The name is that of the Go type, in lower case and without json, or
// its name in renamed.
//
//go:embed schema.txt
var schemaText string

// Member is a member of the JSON documents that rlcheck writes, with its description in the schema.
type Member struct{ Object, Name, About string }

// Members returns the members of all JSON documents, in the order of their schemas.
func Members() (out []Member) {
	for _, d := range described() {
		out = append(out, d.members...)
	}
	return out
}

// description is the description of a struct in schemaText.
type description struct {
	name, about string
	members     []Member
}

// of returns the description of a member. Empty: it has none.
func (d description) of(name string) string {
	for _, m := range d.members {
		if m.Name == name {
			return m.About
		}
	}
	return ""
}

// described has the descriptions in the order of schemaText.
var described = sync.OnceValue(func() (out []description) {
	for line := range strings.Lines(schemaText) {
		name, about, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case name == "":
		case strings.HasPrefix(line, " "):
			d := &out[len(out)-1]
			d.members = append(d.members, Member{d.name, name, about})
		default:
			out = append(out, description{name, about, nil})
		}
	}
	return out
})

var renamed = map[reflect.Type]string{reflect.TypeFor[timeline.StatusCount](): "status",
	reflect.TypeFor[result.Comparison](): "attribute", reflect.TypeFor[timeline.Header](): "recording",
	reflect.TypeFor[timeline.LatencySummary](): "latency",
	reflect.TypeFor[result.PartitionVerdict](): "partition",
	reflect.TypeFor[ComparedScenario]():        "compared", reflect.TypeFor[ComparedLatency](): "shift"}

// writtenAs are the types of JSON values that structs write themselves as. Others write a string.
var writtenAs = map[reflect.Type]reflect.Type{
	reflect.TypeFor[result.Interval]():        reflect.TypeFor[[]*float64](),
	reflect.TypeFor[timeline.LatencyBucket](): reflect.TypeFor[[3]int64]()}

// descriptionOf returns the description of a struct. Empty: schemaText does not name it.
func descriptionOf(t reflect.Type) description {
	for _, d := range described() {
		if d.name == cmp.Or(renamed[t], strings.TrimPrefix(strings.ToLower(t.Name()), "json")) {
			return d
		}
	}
	return description{}
}

// object is a JSON object whose members keep their order.
type object []member

type member struct {
	key   string
	value any
}

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	b := bytes.NewBufferString("{")
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := e.Encode(m.key); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := e.Encode(m.value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// schemaOf returns the schema of the documents that a struct is marshalled to.
func schemaOf(id, title string, root reflect.Type) object {
	w := schemaWriter{}
	body := w.structure(root)
	out := object{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"$id", id}, {"title", title}}
	var parts object
	for _, d := range described() {
		if part, used := w[d.name]; used && d.name != descriptionOf(root).name {
			parts = append(parts, member{d.name, part})
		}
	}
	return append(append(out, body...), member{"$defs", parts})
}

// schemaWriter has the schemas of the structs so far, by name.
type schemaWriter map[string]object

// structure returns the schema of a struct, with its members in the order in which they are written.
func (w schemaWriter) structure(t reflect.Type) object {
	d := descriptionOf(t)
	if o, known := w[d.name]; known {
		return o
	}
	w[d.name] = nil // a struct may contain itself
	var properties object
	required := []string{}
	for _, f := range jsonFields(t) {
		of := closedWords(t, f.name)
		if of == nil {
			of = w.value(f.of, f.optional)
		}
		property := append(object{{"description", d.of(f.name)}}, of...)
		properties = append(properties, member{f.name, property})
		if !f.optional {
			required = append(required, f.name)
		}
	}
	w[d.name] = object{{"description", d.about}, {"type", "object"}, {"required", required},
		{"properties", properties}, {"additionalProperties", true}}
	return w[d.name]
}

// value returns the schema of a value. A pointer may be null, unless the member is then left out.
func (w schemaWriter) value(t reflect.Type, optional bool) object {
	if as, own := writtenAs[t]; own {
		t = as
	}
	if t.Kind() != reflect.Pointer && t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return object{{"type", "string"}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		some := w.value(t.Elem(), false)
		if optional {
			return some
		}
		return object{{"anyOf", []object{some, {{"type", "null"}}}}}
	case reflect.Struct:
		w.structure(t)
		return object{{"$ref", "#/$defs/" + descriptionOf(t).name}}
	case reflect.Slice:
		return object{{"type", "array"}, {"items", w.value(t.Elem(), false)}}
	case reflect.Array:
		size := object{{"minItems", t.Len()}, {"maxItems", t.Len()}}
		return append(object{{"type", "array"}, {"items", w.value(t.Elem(), false)}}, size...)
	case reflect.Map:
		return object{{"type", "object"}, {"additionalProperties", w.value(t.Elem(), false)}}
	case reflect.Bool:
		return object{{"type", "boolean"}}
	case reflect.String:
		return object{{"type", "string"}}
	case reflect.Float64:
		return object{{"type", "number"}}
	default:
		return object{{"type", "integer"}}
	}
}

// jsonField is a member of a JSON object.
type jsonField struct {
	name     string
	of       reflect.Type
	optional bool
}

// jsonFields returns the members that a struct is marshalled to, including those of embedded structs.
func jsonFields(t reflect.Type) (out []jsonField) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			out = append(out, jsonFields(f.Type)...)
		case name != "-" && f.IsExported():
			out = append(out, jsonField{name, f.Type, options != ""})
		}
	}
	return out
}

// closedWords returns the schema of a member with a closed list of words; nil for every other member.
func closedWords(in reflect.Type, name string) object {
	switch {
	case name == "schema" && in == reflect.TypeFor[run]():
		return object{{"const", reportForm}}
	case name == "schema" && in == reflect.TypeFor[Comparison]():
		return object{{"const", compareForm}}
	case in == identify.Form() && name == "schema":
		return object{{"const", identify.Schema}}
	case in == identify.Form() && name == "verdict", name == "answer":
		return object{{"enum", []identify.Verdict{identify.Identified, identify.Open, identify.None}}}
	case name == "schema":
		return object{{"const", verdictForm}}
	case name == "change" && in == reflect.TypeFor[ComparedScenario]():
		return object{{"enum", []string{"same", "worse", "better"}}}
	case name == "verdict":
		return object{{"enum", []string{"pass", "fail", "inconclusive"}}}
	case name == "outcome":
		return object{{"enum", []string{"allowed", "denied", "unknown"}}}
	}
	return nil
}
