package main

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// otherLanguages are the tests of docs/library.md, and how a machine runs them without their frameworks: the
// code is the same, and what a framework does is a call or two.
var otherLanguages = []struct{ language, program, file, also, alsoText string }{
	{"python", "python3", "test_limit.py", "run.py", "import test_limit\ntest_limit.test_limit()\n"},
	{"js", "node", "limit.test.mjs", "node_modules/vitest/index.mjs", "import assert from 'node:assert'\n" +
		"export const test = (name, f) => f()\n" +
		"export const expect = (got, why) => ({ toBe: (want) => assert.strictEqual(got, want, why) })\n"},
}

// TestOtherLanguagesJudge runs the tests of docs/library.md against a right limiter, which passes, and
// against one with twice the burst, which fails with a proof.
func TestOtherLanguagesJudge(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs whole scenarios")
	}
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "library.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range otherLanguages {
		t.Run(x.language, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(x.program); err != nil && os.Getenv("CI") != "true" {
				t.Skip(x.program + " is not installed")
			}
			_, code, found := strings.Cut(string(doc), "```"+x.language+"\n")
			code, _, _ = strings.Cut(code, "```")
			dir := t.TempDir()
			if !found || len(strings.Split(code, "\n")) > 45 {
				t.Fatalf("docs/library.md has no short test in %s", x.language)
			}
			write(t, filepath.Join(dir, x.file), code)
			write(t, filepath.Join(dir, x.also), x.alsoText)
			write(t, filepath.Join(dir, "node_modules/vitest/package.json"), `{"exports": "./index.mjs"}`)
			for limit, passes := range map[string]bool{"token-bucket,rate=10/s,burst=20": true,
				"token-bucket,rate=10/s,burst=50": false} {
				out, err := runAgainst(t, x.program, filepath.Join(dir, x.file), filepath.Join(dir, "run.py"),
					limit)
				if (err == nil) != passes || !passes && !strings.Contains(out, "requests allowed within") {
					t.Errorf("%s: %v: %s", limit, err, out)
				}
			}
		})
	}
}

// TestTheGatewayExampleCompiles: the conformance test of docs/library.md stands in a module of its own, which
// RLCHECK_SOAK compiles.
func TestTheGatewayExampleCompiles(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "library.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join("..", "..", "internal", "live", "testdata", "gatewayapi")
	test, err := os.ReadFile(filepath.Join(dir, "conformance_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, code, found := strings.Cut(string(doc), "```go\nvar RateLimitConformance")
	code, _, _ = strings.Cut(code, "```")
	if !found || !strings.Contains(string(test), "var RateLimitConformance"+code) {
		t.Error("docs/library.md and conformance_test.go differ")
	}
	if os.Getenv("RLCHECK_SOAK") == "" {
		return
	}
	if out, err := exec.Command("go", "-C", dir, "vet", ".").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// write writes a file, and the folders that it is in.
func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// runAgainst runs a test against a right limiter of a limit. rlcheck is in the PATH. Of Python, it runs what
// calls the test.
func runAgainst(t *testing.T, program, file, python, limit string) (string, error) {
	t.Helper()
	policies, err := spec.Parse(limit)
	if err != nil {
		t.Fatal(err)
	}
	target, err := lab.New(lab.Options{Limit: policies})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(target)
	defer server.Close()
	if program == "python3" {
		file = python
	}
	cmd := exec.Command(program, file)
	cmd.Env = append(os.Environ(), "URL="+server.URL+"/")
	out, err := cmd.CombinedOutput()
	return string(out), err
}
