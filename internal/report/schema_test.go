package report

import (
	"bytes"
	"encoding"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/identify"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// documents are the names of the schemas. Their committed copies are compared with what Schema makes.
var documents = []string{"report", "verdict", "compare", "identity"}

// compiled returns a schema as a validator reads it.
func compiled(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	text, err := Schema(name)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// jsonText prints a run as a JSON document.
func jsonText(t *testing.T, r *result.Run) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := writeDocument(&b, r, Options{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func validate(t *testing.T, s *jsonschema.Schema, text []byte) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

func TestCommittedSchemasAreThoseThatAreMade(t *testing.T) {
	for _, name := range documents {
		text, err := Schema(name)
		if err != nil {
			t.Fatal(err)
		}
		Golden(t, "../../docs/"+name+".schema.json", text)
	}
}

func TestReportsFitTheirSchema(t *testing.T) {
	s, compared := compiled(t, "report"), compiled(t, "compare")
	for name, r := range SampleRuns(t) {
		if err := validate(t, s, jsonText(t, r)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	files, _ := filepath.Glob("testdata/*.json")
	if len(files) < 9 {
		t.Errorf("%d golden files were read, want 9 or more", len(files))
	}
	for _, name := range files {
		of := s
		if strings.HasSuffix(name, ".ctrf.json") {
			continue // another format, with a schema of its own
		}
		if strings.HasPrefix(filepath.Base(name), "compare") {
			of = compared
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, of, text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestVerdictsFitTheirSchema(t *testing.T) {
	several := result.Measured{Burst: Between(632, 348),
		Policies: []result.Measured{{Rate: Between(9, 11)}}}
	s, judged := compiled(t, "verdict"),
		[]*result.Judgement{{}, {Partitions: []result.PartitionVerdict{{}}},
			{Measured: several, Diagnosis: &result.Diagnosis{}}}
	for _, r := range SampleRuns(t) {
		for i := range r.Scenarios {
			if j := r.Scenarios[i].Judgement; j != nil {
				judged = append(judged, j)
			}
		}
	}
	for i, j := range judged {
		text, err := VerdictDocument(j)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, s, text); err != nil {
			t.Errorf("judgement %d: %v in\n%s", i, err, text)
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	text := string(jsonText(t, SampleRuns(t)["fail"]))
	s := compiled(t, "report")
	for _, x := range []struct{ from, to, want string }{
		{`"rlcheck.report/v1"`, `"rlcheck.report/v2"`, "/schema"},
		{`"verdict": "fail"`, `"verdict": "FAIL"`, "verdict"},
		{`"planned": `, `"planed": `, "planned"},
		{`"strict": false`, `"strict": "no"`, "/strict"},
		{`"duration_ns": `, `"duration_ns": 0.5e-1, "was": `, "duration_ns"},
		{`"burst": [`, `"burst": ["20", `, "burst"},
		{`"kind": "over-admission"`, `"kind": 3`, "kind"},
	} {
		wrong := strings.Replace(text, x.from, x.to, 1)
		if wrong == text {
			t.Errorf("%s is not in the report", x.from)
			continue
		}
		err := validate(t, s, []byte(wrong))
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("with %s: got %v, want an error at %s", x.to, err, x.want)
		}
	}
	more := strings.Replace(text, `"strict"`, `"added_later": {"a": [1]}, "strict"`, 1)
	if err := validate(t, s, []byte(more)); err != nil {
		t.Errorf("with a member of a later version: %v", err)
	}
}

// TestEveryMemberIsDescribed: schema.txt and the structs have the same members. Members that are times name
// their unit.
func TestEveryMemberIsDescribed(t *testing.T) {
	w := schemaWriter{}
	met := append(w.met(reflect.TypeFor[run]()), w.met(reflect.TypeFor[result.Judgement]())...)
	met = append(met, w.met(reflect.TypeFor[Comparison]())...)
	met = append(met, w.met(identify.Form())...)
	for _, of := range met {
		d, known := descriptionOf(of), map[string]bool{}
		if d.Name == "" {
			t.Errorf("%s is not described", of)
		}
		for _, f := range jsonFields(of) {
			known[f.name] = true
			about := d.Get(f.name)
			unitless := strings.HasSuffix(f.name, "_ns") && !strings.Contains(about, "nanoseconds")
			if unitless || !strings.HasSuffix(about, ".") {
				t.Errorf("%s.%s: got %q, want a sentence, with the unit of a time", d.Kind, f.name, about)
			}
		}
		for _, m := range d.Lines {
			if !known[m.Word] {
				t.Errorf("%s.%s is described and is no member", d.Kind, m.Word)
			}
		}
	}
	if len(met) != len(Described()) || len(met) < 15 {
		t.Errorf("%d structs are marshalled, %d are described", len(met), len(Described()))
	}
}

// met returns t and the structs inside it, except those met before.
func (w schemaWriter) met(t reflect.Type) (out []reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return w.met(t.Elem())
	case reflect.Struct:
		if t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) || writtenAs[t] != nil {
			return nil
		}
		if _, known := w[descriptionOf(t).Kind+t.Name()]; known {
			return nil
		}
		w[descriptionOf(t).Kind+t.Name()] = nil
		out = append(out, t)
		for _, f := range jsonFields(t) {
			out = append(out, w.met(f.of)...)
		}
	}
	return out
}
