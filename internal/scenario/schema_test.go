package scenario

import (
	"flag"
	"os"
	"testing"
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
