package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// action is the part of action.yml, the composite action of GitHub, that the test reads.
type action struct {
	Inputs map[string]struct {
		Default  string
		Required bool
	}
	Runs struct {
		Steps []struct {
			Name, Run string
			Env       map[string]string
		}
	}
}

// readYAML decodes a file of the repository's root into out.
func readYAML(t *testing.T, name string, out any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", name))
	if err == nil {
		err = yaml.Unmarshal(text, out)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// TestActionRuns starts the step of action.yml that runs rlcheck, with the inputs of a workflow, as GitHub's
// runner would. It leaves the report where the next step takes it from.
func TestActionRuns(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("the action needs bash")
	}
	var a action
	readYAML(t, "action.yml", &a)
	dir := workDir(t)
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(dir, "rlcheck"))
	}
	if err != nil {
		t.Fatal(err)
	}
	const limit = "token-bucket,rate=100/s,burst=20"
	with := map[string]string{"target": serveFor(t, dir, "--limit", limit), "limit": limit,
		"scenarios": "builtin:burst", "retries": "20"}
	for _, step := range a.Runs.Steps {
		if step.Name != "run" {
			continue
		}
		cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "RUNNER_TEMP="+dir, "CI=true")
		for name, value := range step.Env {
			cmd.Env = append(cmd.Env, name+"="+a.value(t, value, with))
		}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "PASS") {
			t.Fatalf("step run: %v\n%s", err, out)
		}
		if _, err := os.Stat(filepath.Join(dir, "rlcheck-report", "report.html")); err != nil {
			t.Errorf("the step left no report for the artifact: %v", err)
		}
		return
	}
	t.Error("action.yml has no step named run")
}

// value replaces ${{ inputs.NAME }} by the value that a workflow gives, or by its default.
func (a action) value(t *testing.T, text string, with map[string]string) string {
	t.Helper()
	input := regexp.MustCompile(`\$\{\{ inputs\.[a-z]+ \}\}`)
	return input.ReplaceAllStringFunc(text, func(s string) string {
		name := strings.Fields(s)[1][len("inputs."):]
		in, known := a.Inputs[name]
		if !known {
			t.Errorf("action.yml: a step reads the input %q, which is not declared", name)
		}
		if v, given := with[name]; given {
			return v
		}
		return in.Default
	})
}

// TestKubernetesJob: rlcheck understands the arguments of the container of the Job, and nothing starts it
// twice.
func TestKubernetesJob(t *testing.T) {
	var job struct {
		Kind string
		Spec struct {
			BackoffLimit *int `yaml:"backoffLimit"`
			Template     struct {
				Spec struct {
					RestartPolicy string `yaml:"restartPolicy"`
					Containers    []struct{ Args []string }
				}
			}
		}
	}
	readYAML(t, filepath.Join("deploy", "kubernetes", "job.yaml"), &job)
	pod := job.Spec.Template.Spec
	once := job.Spec.BackoffLimit != nil && *job.Spec.BackoffLimit == 0 && pod.RestartPolicy == "Never"
	if job.Kind != "Job" || !once {
		t.Errorf("got a %s that may start a run twice, want a Job that starts it once", job.Kind)
	}
	args := append(pod.Containers[0].Args, "--dry-run")
	out, err := program(t, t.TempDir(), args...).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "nothing was sent") {
		t.Errorf("rlcheck %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// resource is the part of a Kubernetes object that the test reads.
type resource struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		BackoffLimit, Completions, Parallelism *int
		CompletionMode                         string
		Template                               struct {
			Spec struct {
				RestartPolicy string
				Containers    []struct{ Args []string }
			}
		}
	}
}

// TestKubernetesFleet: the objects of a run with several agents agree on the number of agents. Nothing starts
// load twice. rlcheck understands the arguments of both.
func TestKubernetesFleet(t *testing.T) {
	folder := filepath.Join("deploy", "kubernetes", "fleet")
	var of struct{ Resources []string }
	readYAML(t, filepath.Join(folder, "kustomization.yaml"), &of)
	jobs := map[string]resource{}
	for _, name := range of.Resources {
		var object map[string]any
		if name == "redis.yaml" {
			continue // several documents, none of which sends load
		}
		readYAML(t, filepath.Join(folder, name), &object)
		text, err := json.Marshal(object)
		var r resource
		if err == nil {
			err = json.Unmarshal(text, &r)
		}
		if err != nil {
			t.Fatal(err)
		}
		s := r.Spec
		if r.Kind != "Job" || s.BackoffLimit == nil || *s.BackoffLimit != 0 ||
			s.Template.Spec.RestartPolicy != "Never" {
			t.Errorf("%s: it may start load twice", name)
		}
		jobs[r.Metadata.Name] = r
	}
	agents, run := jobs["rlcheck-agents"].Spec, jobs["rlcheck-run"].Spec
	if agents.CompletionMode != "Indexed" || *agents.Completions != *agents.Parallelism {
		t.Errorf("the agents do not start together: %+v", agents)
	}
	args := slices.Clone(run.Template.Spec.Containers[0].Args)
	if want := "--agents=" + strconv.Itoa(*agents.Parallelism); !slices.Contains(args, want) {
		t.Errorf("got %q, want %s", args, want)
	}
	file, err := filepath.Abs(filepath.Join("..", "..", folder, "load.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	args[1] = file
	dry := program(t, t.TempDir(), append(args, "--dry-run")...)
	dry.Env = append(dry.Env, "TOKEN=secret")
	if out, err := dry.CombinedOutput(); err != nil || !strings.Contains(string(out), "nothing was sent") {
		t.Errorf("rlcheck %q: %v\n%s", args, err, out)
	}
	args = append(slices.Clone(agents.Template.Spec.Containers[0].Args), "--redis=redis://127.0.0.1:1")
	out, _ := program(t, t.TempDir(), args...).CombinedOutput()
	if !strings.Contains(string(out), "is the server up?") {
		t.Errorf("rlcheck %q: %s", args, out)
	}
}

// TestDeploymentsArePinned: actions are named by commits and images of others by exact versions. Each
// container has the seccomp profile of its runtime, and only the pods of a run reach its Redis.
func TestDeploymentsArePinned(t *testing.T) {
	root := filepath.Join("..", "..")
	files, err := filepath.Glob(filepath.Join(root, "deploy", "kubernetes", "*", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	files = append(files, filepath.Join(root, "deploy", "kubernetes", "job.yaml"),
		filepath.Join(root, "deploy", "compose.yaml"), filepath.Join(root, "action.yml"))
	named := regexp.MustCompile(`(?m)(uses|image): (\S+)`)
	pinned := regexp.MustCompile(`^\S+@[0-9a-f]{40}$|^\S+:\d+\.\d+\.\d+@sha256:[0-9a-f]{64}$|` +
		`^rlcheck:latest$`)
	closed := false
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all := named.FindAllStringSubmatch(string(text), -1)
		for _, m := range all {
			if !pinned.MatchString(m[2]) {
				t.Errorf("%s: %s may change: want a commit, or a version with its digest", name, m[2])
			}
		}
		pods := strings.Contains(name, "kubernetes")
		if n := strings.Count(string(text), "seccompProfile: {type: RuntimeDefault}"); pods && n != len(all) {
			t.Errorf("%s: %d of %d containers have a seccomp profile", name, n, len(all))
		}
		closed = closed || strings.Contains(string(text), "kind: NetworkPolicy")
	}
	if !closed {
		t.Error("every pod of the cluster reaches the Redis of a fleet")
	}
}

// TestDockerfile: the image has the files that it copies and no others. It runs as a user without rights.
func TestDockerfile(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]string{} // the last line of each instruction
	stage, ca := 0, false
	for line := range strings.Lines(string(text)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		last[word] = rest
		switch word {
		case "FROM":
			stage++
		case "COPY":
			ca = ca || strings.Contains(rest, "ca-certificates.crt /etc/ssl/certs/")
			checkCopy(t, stage, strings.Fields(rest), string(text))
		case "", "#", "WORKDIR", "RUN", "ARG", "USER", "ENTRYPOINT":
		default:
			t.Errorf("Dockerfile: %q is no instruction that this image needs", word)
		}
	}
	if last["FROM"] != "scratch" || stage != 2 || !ca {
		t.Errorf("the image is %q of %d stages, certificates %t; want scratch of 2 with them",
			last["FROM"], stage, ca)
	}
	if !regexp.MustCompile(`^[1-9][0-9]*:[1-9][0-9]*$`).MatchString(last["USER"]) {
		t.Errorf("USER %q: want numbers, and not root", last["USER"])
	}
	if last["ENTRYPOINT"] != `["/rlcheck"]` || !strings.Contains(string(text), " /rlcheck\n") {
		t.Errorf("ENTRYPOINT %q: want the binary that is copied", last["ENTRYPOINT"])
	}
	needs, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	base := regexp.MustCompile(`FROM golang:([0-9]+\.[0-9]+)\.[0-9]+@sha256:[0-9a-f]{64} `)
	from := base.FindStringSubmatch(string(text))
	if err != nil || from == nil || !strings.Contains(string(needs), "\ngo "+from[1]) {
		t.Errorf("the image is built with Go %q, go.mod has another (%v)", from, err)
	}
}

// checkCopy demands that a COPY finds its files, either in the repository or made by the build stage.
func checkCopy(t *testing.T, stage int, words []string, all string) {
	t.Helper()
	made := false
	for _, word := range words[:len(words)-1] {
		name, flag := strings.CutPrefix(word, "--")
		switch {
		case flag:
			made = made || name == "from=build"
		case made && strings.HasPrefix(word, "/out/"):
			if !regexp.MustCompile(`RUN .*[ ]` + regexp.QuoteMeta(word) + `\s`).MatchString(all) {
				t.Errorf("Dockerfile: %s is copied, and nothing makes it", word)
			}
		case made:
		default:
			if _, err := os.Stat(filepath.Join("..", "..", word)); err != nil {
				t.Errorf("Dockerfile: stage %d copies %s: %v", stage, word, err)
			}
		}
	}
	if stage > 1 && !made {
		t.Errorf("Dockerfile: the image copies %q from the repository", words)
	}
}

// TestComposeWords: every key of deploy/compose.yaml is a word of Compose, and the file needs it.
func TestComposeWords(t *testing.T) {
	var file map[string]any
	readYAML(t, filepath.Join("deploy", "compose.yaml"), &file)
	known := strings.Fields("name x-rlcheck services build image depends_on condition environment restart " +
		"read_only tmpfs command healthcheck test interval retries volumes deploy replicas " +
		"run agent redis REDISCLI_AUTH RLCHECK_REDIS")
	var walk func(at string, v any)
	walk = func(at string, v any) {
		of, _ := v.(map[string]any)
		for key, below := range of {
			if !slices.Contains(known, key) {
				t.Errorf("compose.yaml: %s has %q, which is no word of Compose that this file needs", at, key)
			}
			walk(at+"/"+key, below)
		}
	}
	walk("", file)
}

// TestComposeRuns: services wait for conditions that become true, and rlcheck understands its arguments.
// There are as many agents as the run waits for.
func TestComposeRuns(t *testing.T) {
	var c struct {
		Services map[string]struct {
			DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
			Command     []string
			HealthCheck struct{ Test []string }
			Deploy      struct{ Replicas int }
		}
	}
	readYAML(t, filepath.Join("deploy", "compose.yaml"), &c)
	for _, name := range []string{"run", "agent"} {
		for on, how := range c.Services[name].DependsOn {
			if how.Condition != "service_healthy" || len(c.Services[on].HealthCheck.Test) == 0 {
				t.Errorf("service %s waits for %q to be %q, which it never is", name, on, how.Condition)
			}
		}
		if len(c.Services[name].DependsOn) != 1 {
			t.Errorf("service %s waits for %v, want redis", name, c.Services[name].DependsOn)
		}
	}
	given := strings.NewReplacer("${TARGET:?the URL}", "http://127.0.0.1:1/",
		"${LIMIT:?the SPEC}", "token-bucket,rate=100/s,burst=20")
	args := append(slices.Clone(c.Services["run"].Command), "--dry-run")
	for i := range args {
		args[i] = given.Replace(args[i])
	}
	run := program(t, t.TempDir(), args...)
	run.Env = append(run.Env, "RLCHECK_REDIS=redis://127.0.0.1:1")
	if out, err := run.CombinedOutput(); err != nil || !strings.Contains(string(out), "nothing was sent") {
		t.Errorf("rlcheck %q: %v\n%s", args, err, out)
	}
	if n := c.Services["agent"].Deploy.Replicas; !slices.Contains(args, "--agents="+strconv.Itoa(n)) {
		t.Errorf("got %d agents, and the run waits with %q", n, args)
	}
}
