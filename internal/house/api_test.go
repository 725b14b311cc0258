package house

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var updateAPI = flag.Bool("update-api", false, "write testdata/api: what other modules may use")

// public are the packages that other modules import: their names are a promise.
var public = []string{".", "rlchecktest"}

// TestTheAPIIsKept compares the exported declarations of the public packages with golden files, so that no
// name of a user changes unseen. Each has an example that runs.
func TestTheAPIIsKept(t *testing.T) {
	for _, dir := range public {
		p, examples := publicPackage(t, dir)
		got := strings.Join(declarations(t, p), "\n") + "\n"
		golden := filepath.Join("testdata", "api", p.Name+".txt")
		if *updateAPI {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s has other exported names than %s (what was there may not change; go test "+
				"./internal/house -update-api writes what was added):\n%s", p.Name, golden, got)
		}
		if strings.Count(p.Doc, "\n") < 10 {
			t.Errorf("%s has no documentation of the package with a picture", p.Name)
		}
		unshown(t, p, examples)
	}
}

// unshown reports the exported functions, methods and structs without an example.
func unshown(t *testing.T, p *doc.Package, examples []string) {
	t.Helper()
	need := func(name string) {
		if !slices.Contains(examples, name) {
			t.Errorf("%s.%s has no example that runs", p.Name, name)
		}
	}
	for _, f := range p.Funcs {
		need(f.Name)
	}
	for _, typ := range p.Types {
		for _, f := range typ.Funcs {
			need(f.Name)
		}
		for _, m := range typ.Methods {
			if m.Name != "String" {
				need(typ.Name + "_" + m.Name)
			}
		}
	}
}

// TestTheAPIPullsFewModules: whoever imports a public package gets the modules of all rooms below it. What
// prints reports, keeps state in Redis or serves targets is none of them.
func TestTheAPIPullsFewModules(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	below := map[string][]string{}
	for _, s := range sources(t) {
		if !s.test {
			below[s.pkg] = append(below[s.pkg], imports(s.ast)...)
		}
	}
	for dir, want := range map[string][]string{".": nil, "rlchecktest": {"github.com/dunglas/httpsfv",
		"github.com/google/jsonschema-go/jsonschema", "go.yaml.in/yaml/v4", "golang.org/x/net/http2",
		"golang.org/x/net/http2/hpack"}} {
		var got []string
		seen := map[string]bool{}
		var walk func(room string)
		walk = func(room string) {
			for _, imp := range below[room] {
				if seen[imp] {
					continue
				}
				seen[imp] = true
				if under, is := ours(imp); is {
					walk(under)
				} else if strings.Contains(strings.Split(imp, "/")[0], ".") {
					got = append(got, imp)
				}
			}
		}
		walk(dir)
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s pulls %v, want %v", dir, got, want)
		}
	}
}

// publicPackage returns the documentation of a package, and the names that its examples with an output show.
func publicPackage(t *testing.T, dir string) (p *doc.Package, examples []string) {
	t.Helper()
	set := token.NewFileSet()
	names, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %d files, %v", dir, len(names), err)
	}
	var files, tests []*ast.File
	for _, name := range names {
		f, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			tests = append(tests, f)
		} else {
			files = append(files, f)
		}
	}
	p, err = doc.NewFromFiles(set, files, module+"/"+dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range doc.Examples(tests...) {
		if e.Output != "" || e.EmptyOutput {
			name, _, _ := strings.Cut(e.Name+"_", "_any")
			examples = append(examples, strings.TrimSuffix(name, "_"))
		}
	}
	return p, examples
}

// declarations returns every exported declaration on its own, without comments and bodies, sorted.
func declarations(t *testing.T, p *doc.Package) (out []string) {
	t.Helper()
	add := func(d ast.Decl) {
		var b bytes.Buffer
		switch d := d.(type) {
		case *ast.FuncDecl:
			d.Body, d.Doc = nil, nil
		case *ast.GenDecl:
			d.Doc = nil
		}
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Field:
				n.Doc, n.Comment = nil, nil
			case *ast.ValueSpec:
				n.Doc, n.Comment = nil, nil
			case *ast.TypeSpec:
				n.Doc, n.Comment = nil, nil
			}
			return true
		})
		if err := format.Node(&b, token.NewFileSet(), d); err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s: %s", p.Name, b.String()))
	}
	values := func(all []*doc.Value) {
		for _, v := range all {
			add(v.Decl)
		}
	}
	funcs := func(all []*doc.Func) {
		for _, f := range all {
			add(f.Decl)
		}
	}
	values(p.Consts)
	values(p.Vars)
	funcs(p.Funcs)
	for _, typ := range p.Types {
		add(typ.Decl)
		values(typ.Consts)
		values(typ.Vars)
		funcs(typ.Funcs)
		funcs(typ.Methods)
	}
	slices.Sort(out)
	return out
}
