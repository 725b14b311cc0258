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
	"github.com/rlcheck/rlcheck/internal/text"
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

// schemaText describes the structs of the documents. An entry is a struct: its name, and a sentence on it.
// Its lines are the members. The name is that of the Go type, in lower case and without json, or its name
// in renamed.
//
//go:embed schema.txt
var schemaText string

// Described returns the structs of all JSON documents, in the order of their schemas. Kind is the name of
// one, Name what it is, and a line is a member.
var Described = sync.OnceValue(func() []text.Entry { return text.Entries(schemaText) })

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
func descriptionOf(t reflect.Type) text.Entry {
	for _, d := range Described() {
		if d.Kind == cmp.Or(renamed[t], strings.TrimPrefix(strings.ToLower(t.Name()), "json")) {
			return d
		}
	}
	return text.Entry{}
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
	for _, d := range Described() {
		if part, used := w[d.Kind]; used && d.Kind != descriptionOf(root).Kind {
			parts = append(parts, member{d.Kind, part})
		}
	}
	return append(append(out, body...), member{"$defs", parts})
}

// schemaWriter has the schemas of the structs so far, by name.
type schemaWriter map[string]object

// structure returns the schema of a struct, with its members in the order in which they are written.
func (w schemaWriter) structure(t reflect.Type) object {
	d := descriptionOf(t)
	if o, known := w[d.Kind]; known {
		return o
	}
	w[d.Kind] = nil // a struct may contain itself
	var properties object
	required := []string{}
	for _, f := range jsonFields(t) {
		of := closedWords(t, f.name)
		if of == nil {
			of = w.value(f.of, f.optional)
		}
		property := append(object{{"description", d.Get(f.name)}}, of...)
		properties = append(properties, member{f.name, property})
		if !f.optional {
			required = append(required, f.name)
		}
	}
	w[d.Kind] = object{{"description", d.Name}, {"type", "object"}, {"required", required},
		{"properties", properties}, {"additionalProperties", true}}
	return w[d.Kind]
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
		return object{{"$ref", "#/$defs/" + descriptionOf(t).Kind}}
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
