package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/claim"
	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestEveryWordOfAVerdictIsExplained: every reason, finding and claim that a report prints has an entry.
func TestEveryWordOfAVerdictIsExplained(t *testing.T) {
	e := &cli.Env{Getenv: os.LookupEnv}
	entries, err := glossary(e)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, g := range entries {
		for _, w := range g.all {
			if seen[g.kind+" "+w.id] {
				t.Errorf("%s is explained twice", w.id)
			}
			if seen[g.kind+" "+w.id] = true; w.text == "" {
				t.Errorf("%s has no text", w.id)
			}
		}
	}
	for word, kind := range map[string]string{
		string(result.ScheduleMissed): "reason", string(result.Unreachable): "reason",
		string(result.SetupFailed): "reason",
		string(result.NeedsFailed): "reason", string(result.TooFew): "reason",
		string(result.ForeignTraffic):     "reason",
		string(result.UnclassifiedStatus): "reason", string(result.SearchLimit): "reason",
		string(result.Interrupted):   "reason",
		string(result.OverAdmission): "finding", string(result.UnderAdmission): "finding",
		string(result.NoExplanation):   "finding",
		string(result.RetryAfterEarly): "finding", string(result.RetryAfterLate): "finding",
		string(result.FieldMissing): "finding",
		string(result.FieldInvalid): "finding", string(result.DeniedStatus): "claim",
		string(result.DeniedInPhase): "finding",
		string(headers.R3Range):      "rule", string(headers.XRReset): "rule",
		string(headers.RASyntax): "rule",
		string(result.Latency):   "claim", string(result.FieldLost): "finding",
		string(result.FieldChanged):  "finding",
		string(result.StatusChanged): "finding", string(result.BodyChanged): "finding",
		"conformance": "claim", "denials-below": "claim", "latency-denied-p99": "claim",
		"fields-" + string(claim.ProblemBody): "claim",
		result.Pass.String():                  "verdict", result.Fail.String(): "verdict",
		result.Inconclusive.String(): "verdict",
		"FAIL":                       "verdict", "not judged": "word", "not_judged": "word",
		"align=first":              "key",
		string(result.SharedQuota): "diagnosis", "ra-syntax": "rule",
	} {
		if id := entries.find(word); id == "" || !seen[kind+" "+id] {
			t.Errorf("%s: got %q, want a %s", word, id, kind)
		}
	}
	for _, word := range reportWords() {
		if !seen[word] {
			t.Errorf("%s is not explained", word)
		}
	}
}

// TestExplainKnowsItsWords: testdata/explain.txt has the words that explain knows, each on a line behind its
// kind. Words may come, and none may go unseen.
func TestExplainKnowsItsWords(t *testing.T) {
	groups, err := glossary(&cli.Env{Getenv: os.LookupEnv})
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, g := range groups {
		for _, w := range g.all {
			got.WriteString(g.kind + " " + w.id + "\n")
		}
	}
	const path = "testdata/explain.txt"
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(want)) {
		if !strings.Contains("\n"+got.String(), "\n"+line) {
			t.Errorf("explain no longer knows the %s", line)
		}
	}
}

// wordTypes are the types whose constants are words of reports, by the folder of their package.
var wordTypes = map[string][]string{
	"result":         {"Reason", "Kind", "ClaimKind", "DiagnosisKind", "Promise"},
	"report":         {"Change"},
	"identify":       {"Verdict"},
	"timeline":       {"Shape"},
	"headers":        {"Rule"},
	"spec":           {"Algorithm"},
	"load/transport": {"word"},
}

// TestEveryWordOfTheSourcesIsExplained covers the constants of the types above, members of the JSON
// documents, formats, flags and commands.
func TestEveryWordOfTheSourcesIsExplained(t *testing.T) {
	entries, err := glossary(&cli.Env{Getenv: os.LookupEnv})
	if err != nil {
		t.Fatal(err)
	}
	demand := func(from, word string) {
		if entries.find(word) == "" {
			t.Errorf("%s: explain does not know %q", from, word)
		}
	}
	for folder, types := range wordTypes {
		words := constants(t, folder, types)
		if len(words) == 0 {
			t.Errorf("internal/%s has no constants of %v", folder, types)
		}
		for _, w := range words {
			demand("internal/"+folder, w)
		}
	}
	for _, name := range schemaNames[1:] {
		text, err := schemaText(name)
		if err != nil {
			t.Fatal(err)
		}
		var doc any
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		for _, w := range properties(doc) {
			demand("schema "+name, w)
		}
	}
	for _, w := range slices.Concat(report.Formats(), report.ComparisonFormats(), simulationFormats) {
		demand("formats", w)
	}
	for _, c := range newRootCmd(&cli.Env{Say: &cli.Speaker{}, Getenv: os.LookupEnv}).Commands() {
		demand("commands", c.Name())
		c.Flags().VisitAll(func(f *pflag.Flag) { demand(c.Name(), "--"+f.Name) })
	}
}

// constants returns the values of the constants of some types of a package, except the empty string.
func constants(t *testing.T, folder string, types []string) (out []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "internal", folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("internal/%s: no files: %v", folder, err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || len(v.Values) != 1 {
				return true
			}
			kind := ""
			switch of := v.Type.(type) {
			case *ast.Ident:
				kind = of.Name
			case *ast.SelectorExpr:
				kind = of.Sel.Name
			}
			if text, ok := v.Values[0].(*ast.BasicLit); ok && slices.Contains(types, kind) {
				word, err := strconv.Unquote(text.Value)
				if err == nil && word != "" {
					out = append(out, word)
				}
			}
			return true
		})
	}
	return out
}

// properties are the names of the members that a JSON Schema describes.
func properties(doc any) (out []string) {
	switch x := doc.(type) {
	case []any:
		for _, y := range x {
			out = append(out, properties(y)...)
		}
	case map[string]any:
		for key, y := range x {
			if members, ok := y.(map[string]any); ok && key == "properties" {
				out = slices.AppendSeq(out, maps.Keys(members))
			}
			out = append(out, properties(y)...)
		}
	}
	return out
}

// reportWords are the words that reports print or flags take, each with its kind before it.
func reportWords() (out []string) {
	add := func(kind string, words ...string) {
		for _, w := range words {
			out = append(out, kind+" "+w)
		}
	}
	add("word", "partition", "witness", "unit", "resolution", "worth", "measured", "phase", "plan", "send",
		"generator", "late", "fresh", "shared", "exact-burst", "drift", "note", "not-judged", "declared",
		"perhaps", "simulated", "policy", "cached", "client", "quota", "bound", "interval", "step")
	add("kind", result.Required, result.Recommended, result.Informative)
	add("outcome", timeline.Allowed.String(), timeline.Denied.String(), timeline.Unknown.String())
	add("promise", text.Words(result.Promises())...)
	add("key", spec.Keys("")...)
	for _, a := range spec.Algorithms() {
		add("algorithm", string(a))
	}
	return out
}

// TestEveryFlagIsExplained: each command and each flag has words in help.txt.
func TestEveryFlagIsExplained(t *testing.T) {
	root := newRootCmd(&cli.Env{Say: &cli.Speaker{}, Getenv: os.LookupEnv})
	for _, c := range append(root.Commands(), root) {
		if c.Short == "" {
			t.Errorf("%s: got no words", c.Name())
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" || strings.HasPrefix(f.Usage, " (before") {
				t.Errorf("%s --%s: got no words", c.Name(), f.Name)
			}
		})
	}
}
