package main

import (
	"go/parser"
	"go/token"
	"testing"
)

// TestTheZonesAreInTheBinary: a machine without a data base of zones, as a container with nothing but the
// binary, knows them as well. The machine of the test has one, so that only the import can be looked at.
func TestTheZonesAreInTheBinary(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "accesslog.go", nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range f.Imports {
		if i.Path.Value == `"time/tzdata"` {
			return
		}
	}
	t.Error("time/tzdata is not imported: --zone Europe/Berlin is refused where there are no zones")
}
