package main

import (
	"bufio"
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// readmeCommand is one command of a console block of README.md and the lines below it.
type readmeCommand struct {
	line   string
	output []string
}

// docFiles are README.md and the documents in docs/, in the order of their names.
func docFiles(t *testing.T) []string {
	t.Helper()
	docs, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil || len(docs) == 0 {
		t.Fatalf("docs/ has no documents: %v", err)
	}
	return append([]string{filepath.Join("..", "..", "README.md")}, docs...)
}

// readme returns the text of all documents and their console blocks: indented, beginning with "$ ".
func readme(t *testing.T) (text string, blocks [][]readmeCommand) {
	t.Helper()
	var src []byte
	for _, name := range docFiles(t) {
		doc, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		src = append(append(src, doc...), "\n# end\n"...) // no block goes on in another document
	}
	var block []readmeCommand
	flush := func() {
		if block != nil {
			blocks = append(blocks, block)
		}
		block = nil
	}
	for line := range strings.Lines(string(src)) {
		line = strings.TrimRight(line, "\n")
		code, indented := strings.CutPrefix(line, "    ")
		if cmd, ok := strings.CutPrefix(code, "$ "); indented && ok {
			block = append(block, readmeCommand{line: cmd})
		} else if indented && len(block) > 0 {
			last := &block[len(block)-1]
			last.output = append(last.output, code)
		} else if line != "" {
			flush()
		}
	}
	flush()
	return string(src), blocks
}

// TestReadmeConsole runs the console blocks of README.md. It starts the server that a block names in the
// background, on a port of its own. Without one it starts a right server for the declared limit. Every line
// of README.md must be printed, except for numbers that differ between runs.
func TestReadmeConsole(t *testing.T) {
	_, blocks := readme(t)
	if len(blocks) < 3 {
		t.Fatalf("README.md has %d console blocks, want at least 3", len(blocks))
	}
	for _, block := range blocks {
		t.Run(block[len(block)-1].line, func(t *testing.T) {
			t.Parallel()
			url := ""
			dir := workDir(t)
			for _, c := range block {
				args := strings.Fields(strings.NewReplacer("'", "", "&", "").Replace(c.line))[1:]
				limit := ""
				for i := range args {
					if args[i] == "--limit" {
						limit = args[i+1]
					}
				}
				switch {
				case args[0] == "serve":
					url = serveFor(t, dir, args[1:]...)
					continue
				case url == "" && slices.Contains(args, "-t"):
					url = serveFor(t, dir, "--limit", limit)
				}
				for i := range args {
					args[i] = strings.Replace(args[i], "http://127.0.0.1:8080/", url, 1)
				}
				compareReadme(t, dir, args, c.output)
			}
		})
	}
}

// workDir is a folder with the files that the commands of README.md name: scenarios, and a recording.
func workDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	from, err := filepath.Abs(filepath.Join("..", "..", "scenarios"))
	if err == nil {
		err = os.Symlink(from, filepath.Join(dir, "scenarios"))
	}
	recording := `{"sent_ns":0,"first_byte_ns":1000,"outcome":"allowed"}` + "\n" +
		`{"sent_ns":2000,"first_byte_ns":3000,"status":200}` + "\n"
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "timeline.ndjson"), []byte(recording), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// program is rlcheck as TestMain runs it.
func program(t testing.TB, dir string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &exec.Cmd{Path: self, Args: append([]string{"rlcheck"}, args...), Dir: dir,
		Env: append(os.Environ(), "NO_COLOR=1")}
}

// serveFor starts rlcheck serve and returns its URL.
func serveFor(t *testing.T, dir string, args ...string) string {
	t.Helper()
	if i := slices.Index(args, "--addr"); i >= 0 {
		args = slices.Delete(slices.Clone(args), i, i+2)
	}
	cmd := program(t, dir, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("serve %q printed no URL: %v", args, err)
	}
	return strings.TrimSpace(line)
}

// compareReadme runs a command and demands the lines of README.md in its output, with the exit status that
// they tell. On a busy machine a run may show too little, or wider intervals than README.md has; it is then
// repeated. Another verdict is a failure.
func compareReadme(t *testing.T, dir string, args, want []string) {
	t.Helper()
	all := strings.Join(want, "\n")
	for n := 1; ; n++ {
		out, errs, status := runReadme(t, dir, args)
		switch {
		case status == cli.ExitInconclusive && n < judgings:
			continue
		case strings.Contains(all, "FAIL") && status != cli.ExitFail, strings.Contains(all, "PASS") &&
			status != cli.ExitPass, status == cli.ExitNothing, status < 0:
			t.Fatalf("%q: exit status %d, the document shows %q; stderr: %s", args, status, all, errs)
		}
		got, missing := steady(out), ""
		for _, line := range want {
			if key := steady(keyOf.FindString(line)); missing == "" && !strings.Contains(got, key) {
				missing = key
			}
		}
		if missing == "" {
			return
		}
		if n == judgings {
			t.Fatalf("%q:\ngot  %s\nwant %s", args, got, missing)
		}
	}
}

// runReadme runs a command.
func runReadme(t *testing.T, dir string, args []string) (out, errs string, status int) {
	t.Helper()
	cmd := program(t, dir, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	var exit *exec.ExitError
	if err := cmd.Wait(); errors.As(err, &exit) {
		status = exit.ExitCode()
	}
	return stdout.String(), stderr.String(), status
}

// keyOf is the part of a line that every run prints. For a witness it ends before the requests, since there
// may be only one.
var keyOf = regexp.MustCompile(`^.*partition \S+:|^\s*#|^.*`)

// numbers matches numbers. The alternatives with words are the same in every run: the burst, measured and
// declared, and a bound. The others differ between runs. The keys of a run begin with its start and six
// letters.
var numbers = regexp.MustCompile(`burst \d+\.\.\d+ \(declared \d+\)|at most \d+|= \d+ are|` +
	`\d[-\dT]+T[-\d]+-[a-z2-7]{6}|\d[-\dT.,]*`)

// steady replaces the numbers that differ between runs, and each run of white space by a space.
func steady(text string) string {
	text = numbers.ReplaceAllStringFunc(text, func(s string) string {
		if s[0] >= '0' && s[0] <= '9' {
			return "N"
		}
		return s
	})
	return strings.Join(strings.Fields(text), " ")
}

// TestReadmeNames: every command and flag that README.md names exists, and every SPEC in it parses. Its
// tables of reasons and scenarios are complete.
func TestReadmeNames(t *testing.T) {
	text, _ := readme(t)
	e := &cli.Env{Say: &cli.Speaker{}, Getenv: os.LookupEnv}
	root := newRootCmd(e)
	for _, m := range regexp.MustCompile("rlcheck\\s+([a-z][a-z-]+)[ `]").FindAllStringSubmatch(text, -1) {
		if m[1] == "sends" { // the first sentence
			continue
		}
		if cmd, _, err := root.Find([]string{m[1]}); (err != nil || cmd == root) &&
			strings.Contains(text, "`"+m[0]) {
			t.Errorf("README.md and docs/ names a command %q", m[1])
		}
	}
	flags := map[string]bool{"retry": true} // a flag of curl
	for _, c := range append([]*cobra.Command{root}, root.Commands()...) {
		c.Flags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
		for old := range renamed(c.Name()) {
			flags[old] = true // troubleshooting.md names them
		}
	}
	for _, m := range regexp.MustCompile(`--([a-z][a-z0-9-]+)`).FindAllStringSubmatch(text, -1) {
		if !flags[m[1]] {
			t.Errorf("README.md and docs/ names a flag --%s", m[1])
		}
	}
	specs := 0
	for _, m := range regexp.MustCompile(`[a-z]+(-[a-z]+)+,rate=[A-Za-z0-9=/_,.-]*[A-Za-z0-9]`).FindAllString(text,
		-1) {
		specs++
		if _, err := spec.Parse(m); err != nil {
			t.Errorf("README.md, docs/: %v", err)
		}
	}
	if specs < 7 {
		t.Errorf("README.md and docs/ has %d SPECs, want one for each algorithm", specs)
	}
	for _, r := range []result.Reason{result.ScheduleMissed, result.Unreachable, result.SetupFailed,
		result.NeedsFailed, result.TooFew,
		result.ForeignTraffic, result.UnclassifiedStatus, result.SearchLimit, result.Interrupted} {
		if !strings.Contains(text, "\n| `"+string(r)+"` |") {
			t.Errorf("README.md, docs/: the table of reasons lacks %s", r)
		}
	}
	for _, key := range spec.Keys("") {
		if !regexp.MustCompile("[`,]" + key + "[`=]").MatchString(text) {
			t.Errorf("README.md, docs/: no table or example has the key %s of a SPEC", key)
		}
	}
	for _, c := range root.Commands() {
		if !strings.Contains(text, "rlcheck "+c.Name()) && c.Name() != "help" && !c.Hidden {
			t.Errorf("README.md and docs/ does not name the command %s", c.Name())
		}
	}
	rows, _, _ := strings.Cut(text, "<!-- fault table") // it has a row for each scenario too
	for _, name := range builtinNames() {
		if !strings.Contains(rows, "\n| `"+name+"` |") {
			t.Errorf("README.md, docs/: the table of scenarios lacks %s", name)
		}
	}
}

// TestDocumentLinks: every link between documents leads to a file.
func TestDocumentLinks(t *testing.T) {
	links := 0
	for _, name := range docFiles(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\]\(([^):#]+)[^):]*\)`).FindAllStringSubmatch(string(text),
			-1) {
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", filepath.Base(name), m[1])
			}
		}
	}
	if links < 10 {
		t.Errorf("found %d links, want at least 10", links)
	}
}

// TestEveryReasonHasAnAnswer: the index of troubles has every reason of an INCONCLUSIVE.
func TestEveryReasonHasAnAnswer(t *testing.T) {
	index, err := os.ReadFile(filepath.Join("..", "..", "docs", "troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join("..", "..", "internal", "result", "verdict.go"))
	if err != nil {
		t.Fatal(err)
	}
	all := regexp.MustCompile(`Reason = "([^"]+)"`).FindAllSubmatch(source, -1)
	for _, m := range all {
		if !bytes.Contains(index, fmt.Appendf(nil, "`%s`", m[1])) {
			t.Errorf("docs/troubleshooting.md does not say what to do about %s", m[1])
		}
	}
	if len(all) < 9 {
		t.Errorf("found %d reasons, want 9 or more", len(all))
	}
}

// TestReadmeCI: rlcheck understands the command of the CI snippet.
func TestReadmeCI(t *testing.T) {
	text, _ := readme(t)
	m := regexp.MustCompile(`- run: rlcheck (.*)\n\s*env: \{URL: "(.*?)", LIMIT: "(.*?)"\}`).FindStringSubmatch(text)
	if m == nil {
		t.Fatal("README.md has no CI snippet")
	}
	line := strings.NewReplacer(`"$URL"`, m[2], `"$LIMIT"`, m[3]).Replace(m[1])
	var out, errs bytes.Buffer
	if status := run(append(strings.Fields(line), "--dry-run"), strings.NewReader(""), &out,
		&errs); status != cli.ExitPass {
		t.Errorf("rlcheck %s: exit status %d: %s", line, status, errs.String())
	}
	if !strings.Contains(out.String(), "nothing was sent") {
		t.Errorf("rlcheck %s --dry-run: got %q", line, out.String())
	}
}

// TestDocumentedCommands runs each indented command of README.md and docs/ that begins with rlcheck. For run
// it shows what would be sent. The other commands only parse their flags. A line that ends in a backslash
// goes on in the next.
func TestDocumentedCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("the commands are written for a shell")
	}
	text, _ := readme(t)
	text = regexp.MustCompile(` *\\\n +`).ReplaceAllString(text, " ")
	dir := documentsDir(t)
	commands := 0
	for _, m := range regexp.MustCompile(`(?m)^    (rlcheck [a-z].*)$`).FindAllStringSubmatch(text, -1) {
		line, _, _ := strings.Cut(m[1], "; ")
		line, _, _ = strings.Cut(line, " # ")
		ask := " --help"
		if strings.HasPrefix(line, "rlcheck run ") {
			ask = " --dry-run"
		}
		commands++
		cmd := exec.Command("bash", "-c", line+ask)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "TOKEN=secret-token",
			"KEY=secret-key", "RLCHECK_REDIS=redis://127.0.0.1:1/0", "URL=http://127.0.0.1:8080/",
			"LIMIT=token-bucket,rate=100/s,burst=20")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
	if commands < 15 {
		t.Errorf("found %d commands, want at least 15", commands)
	}
}

// TestRecipesTellTheirSPEC: where docs/gateways.md tells the SPEC of the preset in the next command, it is
// the SPEC that the preset becomes.
func TestRecipesTellTheirSPEC(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "gateways.md"))
	if err != nil {
		t.Fatal(err)
	}
	recipe := regexp.MustCompile("`([a-z-]+,[^`]*)`\\)?[.:]\n\n    rlcheck run .* --limit (.*)\n")
	all := recipe.FindAllStringSubmatch(string(text), -1)
	if len(all) < 4 {
		t.Errorf("found %d recipes with a SPEC, want at least 4", len(all))
	}
	for _, m := range all {
		told, err := spec.Parse(m[1])
		preset, bad := spec.Parse(strings.Trim(m[2], "'"))
		if err := errors.Join(err, bad); err != nil || told.String() != preset.String() {
			t.Errorf("%s is told to be %s, want %s: %v", m[2], m[1], preset, err)
		}
	}
}

// documentsDir is a folder with the files that the documented commands name, and rlcheck.
func documentsDir(t *testing.T) string {
	t.Helper()
	dir := workDir(t)
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(dir, "rlcheck"))
	}
	server := httptest.NewTLSServer(nil) // for its certificate
	server.Close()
	pair := server.TLS.Certificates[0]
	key, bad := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})
	load, gone := os.ReadFile(filepath.Join("testdata", "burst.yaml"))
	tokens, lost := os.ReadFile("../../docs/tokens.md") // its first block is a scenario
	_, budget, _ := bytes.Cut(tokens, []byte("```yaml\n"))
	budget, _, _ = bytes.Cut(budget, []byte("```\n"))
	err = errors.Join(err, bad, gone, lost)
	for name, text := range map[string][]byte{"ca.pem": certificate, "client.pem": certificate,
		"client.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY",
			Bytes: key}), "item.json": []byte("{}"),
		"keys.txt": []byte("issued-alpha\nissued-bravo\n"), "load.yaml": load,
		"token-budget.yaml": budget} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
