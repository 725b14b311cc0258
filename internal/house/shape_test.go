package house

import (
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// ceilings are what a reader holds in mind at once: the paths through a function, and how deep it is nested.
type ceilings struct{ complexity, nesting int }

// fileCeiling is the most lines of a file.
const fileCeiling = 700

// columnCeiling is the width of a line, a tab being four.
const columnCeiling = 110

// ceilingsOf returns the ceilings of a package: narrower ones for the judge, whose rooms are hard enough.
func ceilingsOf(pkg string) ceilings {
	if pkg == "internal/check" || strings.HasPrefix(pkg, "internal/check/") {
		return ceilings{15, 3}
	}
	return ceilings{20, 4}
}

// TestFilesAreShort: a file is about one noun.
func TestFilesAreShort(t *testing.T) {
	for _, s := range sources(t) {
		if s.lines > fileCeiling {
			t.Errorf("%s has %d lines, over %d", s.path, s.lines, fileCeiling)
		}
	}
}

// complexity counts the paths through a function: one, and one for each branch, case and operator that
// decides (McCabe 1976). Function literals count with the function around them.
func complexity(f *ast.FuncDecl) int {
	n := 1
	ast.Inspect(f.Body, func(node ast.Node) bool {
		switch x := node.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			if x.List != nil {
				n++
			}
		case *ast.CommClause:
			if x.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if x.Op == token.LAND || x.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}

// nesting is how deep the statements of a function stand in one another. An else if is as deep as its if.
func nesting(node ast.Node) int {
	deepest := 0
	var visit func(n ast.Node, depth int)
	visit = func(n ast.Node, depth int) {
		ast.Inspect(n, func(x ast.Node) bool {
			if x == nil || x == n {
				return true
			}
			inner := depth
			switch s := x.(type) {
			case *ast.IfStmt:
				inner++
				deepest = max(deepest, inner)
				visit(s.Body, inner)
				if s.Else != nil {
					if _, again := s.Else.(*ast.IfStmt); again {
						visit(&ast.BlockStmt{List: []ast.Stmt{s.Else}}, depth)
					} else {
						visit(s.Else, inner)
					}
				}
				return false
			case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
				inner++
				deepest = max(deepest, inner)
				visit(x, inner)
				return false
			}
			return true
		})
	}
	visit(node, 0)
	return deepest
}

// plainly are functions over a ceiling, each with what stands in the way.
var plainly = map[string]string{
	"internal/load/transport/conn.go:fail":          "a list of errors, a case each",
	"internal/load/transport/cause.go:CauseWord":    "a list of errors, a case each",
	"internal/load/transport/message.go:newRequest": "a list of fields, a case each",
}

func TestFunctionsAreSimple(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, d := range s.ast.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			if plainly[s.path+":"+f.Name.Name] != "" {
				continue
			}
			at, most := s.set.Position(f.Pos()), ceilingsOf(s.pkg)
			if n := complexity(f); n > most.complexity {
				t.Errorf("%s:%d: %s has a complexity of %d, over %d", s.path, at.Line, f.Name.Name, n,
					most.complexity)
			}
			if n := nesting(f.Body); n > most.nesting {
				t.Errorf("%s:%d: %s is nested %d deep, over %d", s.path, at.Line, f.Name.Name, n,
					most.nesting)
			}
		}
	}
}

// TestTypesAreNarrow: a type has no more members and methods than a reader keeps apart. Members that belong
// together are a type of their own, which may be embedded.
func TestTypesAreNarrow(t *testing.T) {
	const mostFields, mostMethods = 25, 60
	methods := map[string]int{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		ast.Inspect(s.ast, func(node ast.Node) bool {
			switch x := node.(type) {
			case *ast.FuncDecl:
				if x.Recv != nil {
					of := x.Recv.List[0].Type
					if star, is := of.(*ast.StarExpr); is {
						of = star.X
					}
					if id, is := of.(*ast.Ident); is {
						methods[s.pkg+"."+id.Name]++
					}
				}
			case *ast.TypeSpec:
				if of, is := x.Type.(*ast.StructType); is {
					if n := of.Fields.NumFields(); n > mostFields {
						t.Errorf("%s: %s has %d members, over %d", s.path, x.Name.Name, n, mostFields)
					}
				}
			}
			return true
		})
	}
	for name, n := range methods {
		if n > mostMethods {
			t.Errorf("%s has %d methods, over %d", name, n, mostMethods)
		}
	}
}

// TestTheJudgeTestsNoTypes: a bound or a model that another one looks through must be asked instead.
func TestTheJudgeTestsNoTypes(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || !strings.HasPrefix(s.pkg, "internal/check") {
			continue
		}
		ast.Inspect(s.ast, func(node ast.Node) bool {
			if x, ok := node.(*ast.TypeAssertExpr); ok {
				t.Errorf("%s:%d: a type test", s.path, s.set.Position(x.Pos()).Line)
			}
			return true
		})
	}
}

// TestFewNameAnAlgorithm: who needs what differs between algorithms asks the policy for it, so that a new
// algorithm has few places. The packages that are about algorithms name them, and few files beside them.
func TestFewNameAnAlgorithm(t *testing.T) {
	const most = 8
	named := map[string]bool{}
	for _, a := range []string{"TokenBucket", "GCRA", "LeakyBucket", "LeakyBucketQueue", "FixedWindow",
		"SlidingWindowLog", "SlidingWindowCounter", "Concurrency"} {
		named[a] = true
	}
	about := []string{"internal/spec", "internal/reference", "internal/check/limiter"}
	naming := map[string]bool{}
	for _, s := range sources(t) {
		if s.test || slices.Contains(about, s.pkg) {
			continue
		}
		ast.Inspect(s.ast, func(node ast.Node) bool {
			if x, ok := node.(*ast.SelectorExpr); ok && named[x.Sel.Name] {
				if of, ok := x.X.(*ast.Ident); ok && of.Name == "spec" {
					naming[s.path] = true
				}
			}
			return true
		})
	}
	if len(naming) > most {
		t.Errorf("%d files name an algorithm, over %d: %v", len(naming), most,
			slices.Sorted(maps.Keys(naming)))
	}
}

// TestLinesFit: no line is wider than 110 columns, a tab being four. Raw strings are texts of their own.
func TestLinesFit(t *testing.T) {
	for _, s := range sources(t) {
		text, err := os.ReadFile(filepath.Join("..", "..", s.path))
		if err != nil {
			t.Fatal(err)
		}
		raw := map[int]bool{}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if ok && lit.Kind == token.STRING && strings.HasPrefix(lit.Value, "`") {
				for i := s.set.Position(lit.Pos()).Line; i <= s.set.Position(lit.End()).Line; i++ {
					raw[i] = true
				}
			}
			return true
		})
		for i, line := range strings.Split(string(text), "\n") {
			n := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
			if n > columnCeiling && !raw[i+1] && !strings.HasPrefix(line, "//go:") {
				t.Errorf("%s:%d: %d columns, over %d", s.path, i+1, n, columnCeiling)
			}
		}
	}
}
