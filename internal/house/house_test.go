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

const module = "github.com/rlcheck/rlcheck/"

// layers is the table of packages: a package imports only packages of a lower layer. A new package that is
// not in it fails the build.
var layers = map[string]int{
	"internal/spell":             -2,
	"internal/exact":             -2,
	"internal/scenario/tree":     -1,
	"internal/preset":            -1,
	"internal/quantity":          -1,
	"internal/check/zone":        -1,
	"scenarios":                  0,
	"internal/timeline":          0,
	"internal/ndjson":            1,
	"internal/spec":              0,
	"internal/headers":           0,
	"internal/curl":              0,
	"internal/shell":             0,
	"internal/verdict":           1,
	"internal/reference":         1,
	"internal/http2":             0,
	"internal/httpd":             1,
	"internal/eventloop":         1,
	"internal/redis":             1,
	"internal/check/history":     2,
	"internal/load/pacing":       1,
	"internal/load/cause":        1,
	"internal/load/grpc":         1,
	"internal/load/audit":        2,
	"internal/load/options":      2,
	"internal/load/journal":      2,
	"internal/load/message":      3,
	"internal/load/transport":    4,
	"internal/load":              5,
	"internal/latency":           2,
	"internal/fleet":             2,
	"internal/simulate":          2,
	"internal/target/proxy":      2,
	"internal/target/state":      2,
	"internal/target/wrong":      3,
	"internal/target/redisstore": 3,
	"internal/target":            4,
	"internal/accesslog":         2,
	"internal/check/limiter":     3,
	"internal/check/search":      4,
	"internal/check/phases":      5,
	"internal/check/witness":     6,
	"internal/check/judge":       7,
	"internal/check/pieces":      8,
	"internal/check":             9,
	"internal/claim/phrase":      1,
	"internal/claim/answer":      2,
	"internal/claim/finding":     2,
	"internal/claim/sample":      2,
	"internal/claim/recorded":    3,
	"internal/claim/fields":      4,
	"internal/claim/intact":      4,
	"internal/claim/quota":       4,
	"internal/claim":             10,
	"internal/client":            10,
	"internal/result":            10,
	"internal/scenario":          11,
	"internal/scenario/grammar":  12,
	"internal/scenario/sample":   13,
	"internal/redact":            12,
	"internal/compare":           11,
	"internal/identify/beat":     11,
	"internal/identify/clients":  11,
	"internal/identify/trip":     11,
	"internal/identify/refute":   12,
	"internal/identify/space":    13,
	"internal/identify/plan":     14,
	"internal/identify/identity": 14,
	"internal/identify":          15,
	"internal/identify/endpoint": 16,
	"internal/report/columns":    11,
	"internal/report/plain":      11,
	"internal/report/sample":     11,
	"internal/report/chart":      12,
	"internal/report/evidence":   12,
	"internal/report/recording":  12,
	"internal/report/ci":         13,
	"internal/report/document":   15,
	"internal/report":            16,
	"internal/trial/guess":       16,
	"internal/trial/joint":       17,
	"internal/trial":             18,
	"internal/selftest":          19,

	"cmd/rlcheck/internal/cli":         20,
	"cmd/rlcheck/internal/output":      21,
	"cmd/rlcheck/internal/progress":    21,
	"cmd/rlcheck/internal/recording":   21,
	"cmd/rlcheck/internal/rundir":      22,
	"cmd/rlcheck/internal/child":       20,
	"cmd/rlcheck/internal/sources":     23,
	"cmd/rlcheck/internal/request":     24,
	"cmd/rlcheck/internal/servecmd":    25,
	"cmd/rlcheck/internal/runcmd":      25,
	"cmd/rlcheck/internal/checkcmd":    25,
	"cmd/rlcheck/internal/identifycmd": 26,
	"cmd/rlcheck":                      30,
	"internal/live":                    30,
	"internal/house":                   30,
}

// users is the table of third-party modules: outside tests, each has one importing package. What a command
// line is written with is for all packages of cmd.
var users = map[string][]string{
	"github.com/HdrHistogram/hdrhistogram-go": {"internal/latency"},
	"github.com/redis/go-redis/v9":            {"internal/redis"},
	"github.com/alicebob/miniredis/v2":        {"internal/redis"},
	"github.com/dunglas/httpsfv":              {"internal/headers"},
	"github.com/klauspost/compress/zstd":      {"internal/ndjson"},
	"github.com/olekukonko/tablewriter":       {"internal/report/columns"},
	"go.yaml.in/yaml/v4":                      {"internal/scenario/tree"},
	"github.com/google/jsonschema-go":         {"internal/scenario/grammar"},
	"github.com/spf13/cobra":                  {"cmd/..."},
	"github.com/spf13/pflag":                  {"cmd/..."},
	"github.com/vbauerster/mpb/v8":            {"cmd/rlcheck/internal/progress"},
	"golang.org/x/term":                       {"cmd/rlcheck/internal/cli"},
	"golang.org/x/net":                        {"internal/http2"},
	"github.com/google/go-cmp":                {"internal/report/sample"}, // for tests
	"github.com/mattn/go-runewidth":           {"internal/report/columns"},
}

// The ceilings, in lines.
const (
	fileCeiling     = 500
	testFileCeiling = 700
	funcCeiling     = 60
)

// exceptions are the functions and files over a ceiling, each with its reason.
var exceptions = map[string]string{}

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

func TestImportsGoDown(t *testing.T) {
	for _, s := range sources(t) {
		layer, known := layers[s.pkg]
		if !known {
			t.Errorf("%s: package %s is not in the table of layers", s.path, s.pkg)
			continue
		}
		if s.test {
			continue
		}
		for _, imp := range imports(s.ast) {
			if ours, ok := strings.CutPrefix(imp, module); ok && layers[ours] >= layer {
				t.Errorf("%s imports %s: layer %d may not import layer %d", s.path, ours, layer, layers[ours])
			}
		}
	}
}

func TestEveryModuleHasOneUser(t *testing.T) {
	for _, s := range sources(t) {
		for _, imp := range imports(s.ast) {
			if s.test || strings.HasPrefix(imp, module) ||
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

func TestSizes(t *testing.T) {
	for _, s := range sources(t) {
		ceiling := fileCeiling
		if s.test {
			ceiling = testFileCeiling
		}
		if s.lines > ceiling && exceptions[s.path] == "" {
			t.Errorf("%s has %d lines, over %d", s.path, s.lines, ceiling)
		}
		if s.test {
			continue
		}
		for _, d := range s.ast.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			n := s.set.Position(f.End()).Line - s.set.Position(f.Pos()).Line + 1
			if name := s.path + ":" + f.Name.Name; n > ceilingsOf(s.pkg).lines && exceptions[name] == "" {
				t.Errorf("%s: %s has %d lines, over %d", s.path, f.Name.Name, n, ceilingsOf(s.pkg).lines)
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
