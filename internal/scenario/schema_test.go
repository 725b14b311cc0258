package scenario

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

var update = flag.Bool("update", false, "rewrite golden files")

const schemaPath = "../../scenarios/scenario.schema.json"

func TestCommittedSchemaIsTheOneThatIsMade(t *testing.T) {
	got, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, schemaPath, got)
}

// TestEveryKeyIsExplained: each key has a line of keys.txt, and each line a key.
func TestEveryKeyIsExplained(t *testing.T) {
	lines := 0
	for _, docs := range keyDocs() {
		lines += len(docs)
	}
	if all := strings.Count(keysText, "\n") - 2*len(keyDocs()) + 1; all != lines {
		t.Errorf("keys.txt: got %d lines with %d keys, want no key twice", all, lines)
	}
	var look func(path string, s *jsonschema.Schema)
	look = func(path string, s *jsonschema.Schema) {
		for name, p := range s.Properties {
			if p.Description == "" {
				t.Errorf("%s.%s: got no explanation", path, name)
			}
			look(path+"."+name, p)
		}
		for _, inner := range append(s.AnyOf, s.Items) {
			if inner != nil {
				look(path, inner)
			}
		}
	}
	look("scenario", grammar().schema)
	look("config", configKind().schema)
}

// golden compares got with the content of a file, or writes it with -update.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run go test -update)", err)
	}
	if string(got) != string(want) {
		t.Errorf("%s is stale (run go test -update and read the diff)\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}
