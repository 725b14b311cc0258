package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/rlcheck/rlcheck"

// ours returns the room of an import path of this module, "." for its root.
func ours(path string) (room string, ok bool) {
	if path == module {
		return ".", true
	}
	return strings.CutPrefix(path, module+"/")
}

// users is the table of third-party modules: outside tests, each has one importing package. What a command
// line is written with is for all packages of cmd. Five are fixed parts of rlcheck, and stay:
// hdrhistogram-go, go-redis, tablewriter, cobra and mpb.
var users = map[string][]string{
	"github.com/HdrHistogram/hdrhistogram-go": {"internal/report"},
	"github.com/redis/go-redis/v9":            {"internal/lab"},
	"github.com/alicebob/miniredis/v2":        {"internal/lab"},
	"github.com/dunglas/httpsfv":              {"internal/headers"},
	"github.com/klauspost/compress/zstd":      {"cmd/rlcheck/internal/cli"},
	"github.com/olekukonko/tablewriter":       {"internal/report"},
	"go.yaml.in/yaml/v4":                      {"internal/scenario"},
	"mvdan.cc/sh/v3":                          {"cmd/rlcheck"},
	"github.com/google/jsonschema-go":         {"internal/scenario"},
	"github.com/spf13/cobra":                  {"cmd/..."},
	"github.com/spf13/pflag":                  {"cmd/..."},
	"github.com/vbauerster/mpb/v8":            {"cmd/rlcheck/internal/cli"},
	"golang.org/x/term":                       {"cmd/rlcheck/internal/cli"},
	"golang.org/x/net":                        {"internal/http2"},
}

// source is one parsed file of the module.
type source struct {
	pkg, path string
	test      bool
	lines     int
	ast       *ast.File
	set       *token.FileSet
}

// sources parses every Go file of the module.
func sources(t *testing.T) []source {
	t.Helper()
	root := filepath.Join("..", "..")
	var out []source
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || d.Name() == "testdata" ||
			d.Name() == "reports") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		out = append(out, source{filepath.ToSlash(filepath.Dir(rel)), filepath.ToSlash(rel),
			strings.HasSuffix(path, "_test.go"),
			strings.Count(string(text), "\n"), f, set})
		return nil
	})
	if err != nil || len(out) < 20 {
		t.Fatalf("read %d files: %v", len(out), err)
	}
	return out
}

func imports(f *ast.File) []string {
	var out []string
	for _, spec := range f.Imports {
		out = append(out, strings.Trim(spec.Path.Value, `"`))
	}
	return out
}

func TestEveryModuleHasOneUser(t *testing.T) {
	for _, s := range sources(t) {
		for _, imp := range imports(s.ast) {
			if _, inside := ours(imp); s.test || inside ||
				!strings.Contains(strings.Split(imp, "/")[0], ".") {
				continue
			}
			mod := ""
			for m := range users {
				if imp == m || strings.HasPrefix(imp, m+"/") {
					mod = m
				}
			}
			if mod == "" || !slices.Contains(users[mod], s.pkg) &&
				!(slices.Contains(users[mod], "cmd/...") && strings.HasPrefix(s.pkg, "cmd/")) {
				t.Errorf("%s imports %s, whose only user is %v", s.path, imp, users[mod])
			}
		}
	}
}

// TestNobodyBelowTheCommandsSpeaks: main.go alone exits and has the environment and the standard files. It
// hands them to the commands; nobody else prints or asks for them.
func TestNobodyBelowTheCommandsSpeaks(t *testing.T) {
	forbidden := map[string][]string{
		"os":  {"Exit", "Getenv", "LookupEnv", "Environ", "Stdout", "Stderr", "Stdin", "Args"},
		"fmt": {"Print", "Printf", "Println", "Scan", "Scanln", "Scanf"},
		"log": {"Print", "Printf", "Println", "Fatal", "Fatalf", "Fatalln", "Panic", "Panicf"},
	}
	for _, s := range sources(t) {
		if s.test || s.path == "cmd/rlcheck/main.go" || s.pkg == "internal/live" {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Obj == nil &&
				slices.Contains(forbidden[x.Name], sel.Sel.Name) {
				t.Errorf("%s: %s.%s", s.set.Position(sel.Pos()), x.Name, sel.Sel.Name)
			}
			return true
		})
	}
}

// TestExportedNamesAreDocumented: every exported declaration outside tests has a comment.
func TestExportedNamesAreDocumented(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, d := range s.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) {
					t.Errorf("%s: %s has no comment", s.set.Position(d.Pos()), d.Name.Name)
				}
			case *ast.GenDecl:
				undocumented(t, s, d)
			}
		}
	}
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	x := d.Recv.List[0].Type
	if star, ok := x.(*ast.StarExpr); ok {
		x = star.X
	}
	if gen, ok := x.(*ast.IndexExpr); ok {
		x = gen.X
	}
	id, ok := x.(*ast.Ident)
	return ok && id.IsExported() && d.Name.Name != "Error" && d.Name.Name != "String"
}

func undocumented(t *testing.T, s source, d *ast.GenDecl) {
	t.Helper()
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.Name.IsExported() && d.Doc == nil && spec.Doc == nil {
				t.Errorf("%s: %s has no comment", s.set.Position(spec.Pos()), spec.Name.Name)
			}
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				if name.IsExported() && d.Doc == nil && spec.Doc == nil && spec.Comment == nil {
					t.Errorf("%s: %s has no comment", s.set.Position(name.Pos()), name.Name)
				}
			}
		}
	}
}
