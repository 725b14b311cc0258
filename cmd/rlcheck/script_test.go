package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
)

var update = flag.Bool("update", false, "rewrite what the scripts compare with")

// TestMain lets more tests run at a time than there are processors, as most of them wait.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "4") // a number that is above 0
	testscript.Main(m, map[string]func(){"rlcheck": main})
}

// TestScripts runs the scripts of testdata/script: one behaviour a file, named <command>_<what>. Each has
// testdata/burst.yaml in its folder: the bundled burst for a limit that gives nothing back meanwhile, so that
// no machine is too slow for its verdict. Their own commands:
//
//	exits N PROGRAM ARGS...            run, and demand this exit status
//	judged N PROGRAM ARGS...           as exits, but run again what was INCONCLUSIVE: a busy machine may
//	                                   show too little
//	json FILE [PATH VALUE]...          FILE (or stdout) is JSON, and has these values
//	fits NAME FILE                     FILE (or stdout) is JSON that rlcheck schema NAME allows
//	adds-up FILE                       the counts of a report add up
//	absent TEXT FOLDER                 no file below FOLDER has TEXT in it
//	no-controls FILE                   FILE has no control characters but newlines and tabs
//	sparse FILE SIZE                   make a file of that size that takes no room
//	server KIND [SPEC]                 start a server that misbehaves (server_test.go); $URL is where
//	start NAME rlcheck ARGS...         start in the background; $NAME is the URL that it prints
//	halt NAME N                        send SIGINT, and demand this exit status
//	get URL [HEADER...]                request; status, fields and body go to stdout
//	terminal COLSxROWS[,...] N [NAME=VALUE] rlcheck ...  run on a terminal of that size, or resized
//	                                   (terminal_linux_test.go)
//	interrupt SIGNAL AFTER N rlcheck ...  run, signal after so many requests at $URL, demand this exit
//	                                      status; what it
//	                                   says goes to out.txt and err.txt
func TestScripts(t *testing.T) {
	burst, err := os.ReadFile(filepath.Join("testdata", "burst.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Files:               scripts(t),
		UpdateScripts:       *update,
		RequireUniqueNames:  true,
		RequireExplicitExec: false,
		Condition:           condition,
		Setup: func(env *testscript.Env) error {
			env.Setenv("TERM", "xterm")
			if err := os.WriteFile(filepath.Join(env.WorkDir, "burst.yaml"), burst, 0o600); err != nil {
				return err
			}
			env.Values[backgroundKey{}] = map[string]*background{}
			env.Values[serverKey{}] = &counter{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": cmdExits, "judged": cmdJudged, "json": cmdJSON, "fits": cmdFits,
			"adds-up": cmdAddsUp, "absent": cmdAbsent, "no-controls": cmdNoControls,
			"sparse": cmdSparse, "server": cmdServer, "start": cmdStart, "halt": cmdHalt, "get": cmdGet,
			"interrupt": cmdInterrupt,
			"terminal":  cmdTerminal,
		},
	})
}

// scripts returns the scripts to run. Usually that is all. Under -short it is every sixth that is not long.
// With -update it is those that compare whole files.
func scripts(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil || len(all) == 0 {
		t.Fatal("no scripts", err)
	}
	if *update {
		return slices.DeleteFunc(all, func(path string) bool {
			text, err := os.ReadFile(path)
			return err == nil && !bytes.Contains(text, []byte("\ncmp "))
		})
	}
	if !testing.Short() {
		return all
	}
	var some []string
	for i := 0; i < len(all); i += 6 {
		if !slices.Contains(long, strings.TrimSuffix(filepath.Base(all[i]), ".txtar")) {
			some = append(some, all[i])
		}
	}
	return some
}

// long are scripts that take two seconds of CPU each, half as much as all others of a short run.
var long = []string{"identify_names", "report_only", "run_abuse", "run_beside", "run_fresh_quota"}

// condition knows [root], [devfull] (there is a device that is always full) and [mount] (private mounts are
// allowed).
func condition(cond string) (bool, error) {
	switch cond {
	case "root":
		return os.Geteuid() == 0, nil
	case "devfull":
		info, err := os.Stat("/dev/full")
		return err == nil && info.Mode()&os.ModeCharDevice != 0, nil
	case "mount":
		return exec.Command("unshare", "-m", "true").Run() == nil, nil
	default:
		return false, fmt.Errorf("unknown condition %q", cond)
	}
}

func usage(ts *testscript.TestScript, bad bool, form string) {
	if bad {
		ts.Fatalf("usage: %s", form)
	}
}

func number(ts *testscript.TestScript, s string) int {
	n, err := strconv.Atoi(s)
	ts.Check(err)
	return n
}

func exitCode(ts *testscript.TestScript, err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	ts.Check(err)
	return 0
}

func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg || len(args) < 2, "exits N PROGRAM ARGS...")
	want := number(ts, args[0])
	if got := exitCode(ts, ts.Exec(args[1], args[2:]...)); got != want {
		ts.Fatalf("exit status: got %d, want %d", got, want)
	}
}

// judgings is how often a run that shows too little is made.
const judgings = 20

func cmdJudged(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg || len(args) < 2, "judged N PROGRAM ARGS...")
	want := number(ts, args[0])
	for n := 1; ; n++ {
		got := exitCode(ts, ts.Exec(args[1], args[2:]...))
		if got == cli.ExitInconclusive && want != cli.ExitInconclusive && n < judgings {
			continue
		}
		if got != want {
			ts.Fatalf("exit status: got %d, want %d", got, want)
		}
		return
	}
}

func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg || len(args)%2 != 1, "json FILE [PATH VALUE]...")
	var doc any
	text := ts.ReadFile(args[0])
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		ts.Fatalf("%s: %v", args[0], err)
	}
	for i := 1; i < len(args); i += 2 {
		if got := fmt.Sprint(member(doc, args[i])); got != args[i+1] {
			ts.Fatalf("%s: %s: got %s, want %s", args[0], args[i], got, args[i+1])
		}
	}
}

func cmdFits(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) != 2, "fits NAME FILE")
	text, err := schemaText(args[0])
	ts.Check(err)
	var schema jsonschema.Schema
	ts.Check(json.Unmarshal(text, &schema))
	s, err := schema.Resolve(nil)
	ts.Check(err)
	var doc any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &doc))
	if err := s.Validate(doc); (err != nil) != neg {
		ts.Fatalf("%s: got %v", args[1], err)
	}
}

// member walks a dotted path of keys and indices; #PATH is the length of what is there.
func member(doc any, path string) any {
	path, length := strings.CutPrefix(path, "#")
	for step := range strings.SplitSeq(path, ".") {
		switch d := doc.(type) {
		case map[string]any:
			doc = d[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(d) {
				return "nothing at " + step
			}
			doc = d[i]
		}
	}
	if list, ok := doc.([]any); ok && length {
		return len(list)
	}
	return doc
}

func cmdAddsUp(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg || len(args) != 1, "adds-up FILE")
	type counts struct{ Planned, Sent, Unsent, Allowed, Denied, Unknown int }
	var doc struct {
		Counts    counts
		Scenarios []struct{ Counts counts }
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &doc))
	var sum counts
	for _, s := range doc.Scenarios {
		c := s.Counts
		if c.Planned != c.Sent+c.Unsent || c.Sent != c.Allowed+c.Denied+c.Unknown {
			ts.Fatalf("counts do not add up: %+v", c)
		}
		sum.Planned += c.Planned
		sum.Sent += c.Sent
	}
	if sum.Planned != doc.Counts.Planned || sum.Sent != doc.Counts.Sent || len(doc.Scenarios) == 0 {
		ts.Fatalf("%d scenarios planned %d and sent %d, the run says %+v", len(doc.Scenarios), sum.Planned,
			sum.Sent, doc.Counts)
	}
}

func cmdAbsent(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg || len(args) != 2 || args[0] == "", "absent TEXT FOLDER")
	files := 0
	ts.Check(filepath.WalkDir(ts.MkAbs(args[1]), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		if at := bytes.Index(text, []byte(args[0])); at >= 0 {
			ts.Fatalf("%s has %q at byte %d", path, args[0], at)
		}
		return err
	}))
	if files == 0 {
		ts.Fatalf("%s: no file was looked at", args[1])
	}
}

func cmdNoControls(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg || len(args) != 1, "no-controls FILE")
	text := ts.ReadFile(args[0])
	if i := strings.IndexFunc(text, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' ||
			r == 0x7f
	}); i >= 0 {
		ts.Fatalf("%s: control character %q at byte %d of %q", args[0], text[i], i, text[max(0, i-40):i+1])
	}
	if text == "" {
		ts.Fatalf("%s is empty", args[0])
	}
}

func cmdSparse(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg || len(args) != 2, "sparse FILE SIZE")
	path := ts.MkAbs(args[0])
	ts.Check(os.WriteFile(path, nil, 0o600))
	ts.Check(os.Truncate(path, int64(number(ts, args[1]))))
}

// background is a program that a script started.
type background struct {
	cmd  *exec.Cmd
	done chan error
	errs bytes.Buffer // to be read after done only
}

type backgroundKey struct{}

// command makes a process that runs as ts.Exec would, but does not capture the output.
func command(ts *testscript.TestScript, name string, args []string) *exec.Cmd {
	path := name
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			path = filepath.Join(dir, name)
			break
		}
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = ts.MkAbs(".")
	for _, key := range []string{"PATH", "HOME", "TMPDIR", "TERM", "GOCOVERDIR", "RLCHECK_LIMIT"} {
		if v := ts.Getenv(key); v != "" {
			cmd.Env = append(cmd.Env, key+"="+v)
		}
	}
	return cmd
}

// patience is how long a script waits for a program that it started.
const patience = 2 * time.Minute

func cmdStart(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg || len(args) < 2, "start NAME rlcheck ARGS...")
	b := &background{cmd: command(ts, args[1], args[2:]), done: make(chan error, 1)}
	out, err := b.cmd.StdoutPipe()
	ts.Check(err)
	b.cmd.Stderr = &b.errs
	ts.Check(b.cmd.Start())
	ts.Defer(func() { _ = b.cmd.Process.Kill() })
	line := make(chan string, 1)
	go func() {
		lines := bufio.NewReader(out)
		first, _ := lines.ReadString('\n')
		if slices.Contains(args, "--control") {
			second, _ := lines.ReadString('\n')
			first += " " + second
		}
		line <- strings.TrimSpace(first)
		b.done <- b.cmd.Wait()
	}()
	select {
	case url := <-line:
		if !strings.HasPrefix(url, "http://") {
			<-b.done
			ts.Fatalf("it printed %q and %q instead of a URL", url, b.errs.String())
		}
		url, events, _ := strings.Cut(url, "\n")
		ts.Setenv(args[0], url)
		ts.Setenv(args[0]+"_EVENTS", strings.TrimSpace(events))
	case <-time.After(patience):
		ts.Fatalf("it printed no URL")
	}
	ts.Value(backgroundKey{}).(map[string]*background)[args[0]] = b
}

func cmdHalt(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg || len(args) != 2, "halt NAME N")
	b := ts.Value(backgroundKey{}).(map[string]*background)[args[0]]
	if b == nil {
		ts.Fatalf("%s was not started", args[0])
	}
	ts.Check(b.cmd.Process.Signal(os.Interrupt))
	b.wait(ts, number(ts, args[1]))
	_, err := ts.Stderr().Write(b.errs.Bytes())
	ts.Check(err)
}

func (b *background) wait(ts *testscript.TestScript, want int) {
	select {
	case err := <-b.done:
		if got := exitCode(ts, err); got != want {
			ts.Fatalf("exit status: got %d, want %d; stderr: %s", got, want, b.errs.String())
		}
	case <-time.After(patience):
		_ = b.cmd.Process.Kill()
		ts.Fatalf("it did not end")
	}
}

func cmdInterrupt(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg || len(args) < 5, "interrupt SIGNAL AFTER N rlcheck ARGS...")
	sig, known := map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM}[args[0]]
	usage(ts, !known, "interrupt INT|TERM ...")
	after, want := number(ts, args[1]), number(ts, args[2])
	b := &background{cmd: command(ts, args[3], args[4:]), done: make(chan error, 1)}
	out, err := os.Create(ts.MkAbs("out.txt"))
	ts.Check(err)
	defer out.Close()
	b.cmd.Stdout, b.cmd.Stderr = out, &b.errs
	ts.Check(b.cmd.Start())
	ts.Defer(func() { _ = b.cmd.Process.Kill() })
	go func() { b.done <- b.cmd.Wait() }()
	if !ts.Value(serverKey{}).(*counter).reaches(after, patience) {
		ts.Fatalf("%d requests did not come; stderr: %s", after, b.errs.String())
	}
	ts.Check(b.cmd.Process.Signal(sig))
	b.wait(ts, want)
	ts.Check(os.WriteFile(ts.MkAbs("err.txt"), b.errs.Bytes(), 0o600))
}
