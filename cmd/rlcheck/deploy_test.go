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

// action is what the test reads of action.yml, the composite action of GitHub.
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
		"scenarios": "builtin:burst", "args": "--retries 20"}
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

// value replaces ${{ inputs.NAME }} by what a workflow gives, or by its default.
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

// TestKubernetesJob: the arguments of the container of the Job are understood, and nothing starts it twice.
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

// resource is what the test reads of one object of Kubernetes.
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

// TestKubernetesFleet: the objects of a run with several agents agree on their number, nothing starts load
// twice, and the arguments of both are understood.
func TestKubernetesFleet(t *testing.T) {
	folder := filepath.Join("deploy", "kubernetes", "fleet")
	var of struct{ Resources []string }
	readYAML(t, filepath.Join(folder, "kustomization.yaml"), &of)
	jobs := map[string]resource{}
	for _, name := range of.Resources {
		var object map[string]any
		if name == "redis.yaml" {
			continue // several documents, of which none sends load
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
