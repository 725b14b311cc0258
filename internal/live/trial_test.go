package live

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	product "github.com/rlcheck/rlcheck/internal/trial"
	"github.com/rlcheck/rlcheck/scenarios"
)

// quiet lets a run be late: a busy machine is not a fault of the judged limiter.
var quiet = []string{"expect.latency.denied_p99=10s", "expect.schedule.late_p99=10s"}

// trial is one scenario against one limiter, with the SPEC that explains it and others that do not.
type trial struct {
	scenario, url, right string
	// sets are settings as on the command line; may be empty.
	sets  []string
	wrong []string
	// redis is where the embedded target keeps its state; "" for other targets.
	redis string
	// limitOnly drops the scenario's other expectations: about fields of answers, and about lateness.
	limitOnly bool
	// turns tells that the limiter reads its clock once per turn of its event loop; see standsStill.
	turns bool
}

// Bounds on repeated runs. If the machine stood still, or ran something else meanwhile, a recording may show
// too little.
const (
	tries   = 20
	tryTime = 4 * time.Minute
	// soon is how many tries follow at once. Later tries wait a while for a less busy machine.
	soon  = 4
	while = 4 * time.Second
)

// patience counts the tries of one trial.
type patience struct {
	began time.Time
	tried int
}

// left tells whether another try is allowed.
func (p *patience) left() bool {
	if p.tried == 0 {
		p.began = time.Now()
	}
	if p.tried++; p.tried > soon {
		time.Sleep(while)
	}
	return p.tried <= tries && (p.tried <= soon || time.Since(p.began) < tryTime)
}

// judged runs the trial until the right SPEC has passed and every wrong one has failed. They need not do so
// on the same recording, since what one shows depends on when the machine let its requests run. That replaces
// a resolution of the rate. A FAIL of the right SPEC ends the test at once, except for a limiter whose clock
// may have stopped. It returns the last recording that passed.
func (c trial) judged(t testing.TB) result.Scenario {
	t.Helper()
	// the wrong SPECs demand it instead, of any recording
	sets := append([]string{"expect.resolution.rate=none"}, c.sets...)
	if c.scenario == "overload-10x" {
		sets = append(sets, quiet...)
	}
	wrong, stood := slices.Clone(c.wrong), 0
	var r, passed result.Scenario
	for p := (patience{}); p.left(); {
		still := watch(t)
		r = run(t, read(t, c.scenario, c.url, c.right, sets...), c.redis)
		longest := still()
		if c.limitOnly {
			r = ofTheLimit(r)
		}
		if r.Verdict == result.Fail && c.turns && standsStill(t, r, longest) {
			stood++
			continue
		}
		if r.Timeline != nil {
			wrong = slices.DeleteFunc(wrong, func(spec string) bool { return fails(t, again(t, r, spec)) })
		}
		if r.Verdict != result.Inconclusive {
			mustPass(t, r)
			passed = r
		}
		if passed.Timeline != nil && len(wrong) == 0 || t.Failed() {
			return passed
		}
	}
	switch {
	case passed.Timeline != nil:
		t.Errorf("%s: no recording refutes %q; the last one is kept at %s", line(&passed), wrong,
			keep(t, passed))
	case stood > 0:
		t.Skipf("the machine stood still in %d runs, and none passed", stood)
	default:
		mustPass(t, r)
	}
	return passed
}

// ofTheLimit returns a run with the verdict on its limit alone.
func ofTheLimit(r result.Scenario) result.Scenario {
	for _, c := range r.Claims {
		if c.Kind == result.ClaimConformance {
			r.Verdict, r.Reason, r.Detail = c.Verdict, c.Reason, c.Text
		}
	}
	return r
}

// longestTrial bounds one scenario in time.
const longestTrial = 2 * time.Minute

// trials counts the runs of this process. Each run has its own partitions.
var trials atomic.Int64

// read returns a bundled scenario for a target and a limit, with settings as on the command line.
func read(t testing.TB, id, url, spec string, sets ...string) *scenario.Scenario {
	t.Helper()
	src, err := scenarios.FS.ReadFile(id + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	opts := scenario.ParseOptions{Target: url, Limit: spec,
		Env: func(string) (string, bool) { return "", false }}
	for _, set := range sets {
		s, err := scenario.ParseSetting(set)
		if err != nil {
			t.Fatal(err)
		}
		opts.Set = append(opts.Set, s)
	}
	s, err := scenario.Parse(src, id+".yaml", opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs a scenario against a target.
func run(t testing.TB, s *scenario.Scenario, redis string) result.Scenario {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), longestTrial)
	defer cancel()
	n := trials.Add(1)
	r := product.Scenario(ctx, s, product.Options{
		ID: fmt.Sprintf("live-%d-%d", time.Now().UnixNano(), n), Seed: uint64(n), Version: "test",
		Redis: redis,
		Embed: func(s *scenario.Scenario, seed uint64, n product.Network) (product.Embedded, error) {
			return lab.Embed(s, seed, redis, n)
		},
	})
	t.Log(line(&r))
	return r
}

// again judges the recording of r under another SPEC. The requests stay those that fit the first SPEC.
func again(t testing.TB, r result.Scenario, text string) result.Scenario {
	t.Helper()
	limit, err := spec.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	j, err := check.Judge(r.Timeline, limit, check.Options{Resolution: check.Resolution{BurstExact: true}})
	if err != nil {
		t.Fatal(err)
	}
	other := r
	other.Limit, other.Judgement, other.Claims = limit, j, nil
	other.Verdict, other.Reason, other.Detail = j.Verdict, j.Reason, j.Detail
	return other
}

// mustPass fails the test unless r is a PASS on evidence.
func mustPass(t testing.TB, r result.Scenario) {
	t.Helper()
	if r.Verdict != result.Pass {
		t.Errorf("got %s, want a PASS; the recording is kept at %s", line(&r), keep(t, r))
		return
	}
	if c := r.Counts; c.Allowed == 0 || c.Denied == 0 || c.Sent != c.Allowed+c.Denied+c.Unknown ||
		c.Planned != c.Sent+c.Unsent {
		t.Errorf("%s: got counts %+v, want some allowed, some denied, and sums that are right", line(&r), c)
	}
	for _, p := range r.Judgement.Partitions {
		if p.Judged == 0 {
			t.Errorf("partition %s: got 0 judged observations of a PASS, want some", p.Partition)
		}
	}
}

// fails tells whether r is a FAIL of conformance. It fails the test if one of the findings does not fail
// alone.
func fails(t testing.TB, r result.Scenario) bool {
	t.Helper()
	if r.Judgement == nil || r.Judgement.Verdict != result.Fail {
		return false
	}
	findings := findingsOf(r.Judgement)
	if len(findings) == 0 {
		t.Errorf("got a FAIL with no finding, want one at least: %s", line(&r))
	}
	for _, f := range findings {
		alone := witness(r.Timeline, f)
		if len(alone.Observations) != len(f.Observations) || len(f.Observations) == 0 {
			t.Errorf("finding %q: got %d of its %d observations in the recording, want all", f.Text,
				len(alone.Observations), len(f.Observations))
		}
		j, err := check.Judge(alone, r.Limit, check.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if j.Verdict != result.Fail {
			t.Errorf("finding %q of %s: got %s when its %d observations are judged alone, want a FAIL; the "+
				"recording is kept at %s",
				f.Text, r.Limit, j.Verdict, len(alone.Observations), keep(t, r))
		}
	}
	return true
}

func findingsOf(j *result.Judgement) []result.Finding {
	var all []result.Finding
	for _, p := range j.Partitions {
		all = append(all, p.Findings...)
	}
	return all
}

// witness returns the recording with only the observations of a finding.
func witness(tl *timeline.Timeline, f result.Finding) *timeline.Timeline {
	alone := &timeline.Timeline{Header: tl.Header}
	alone.Header.Ended = tl.End()
	wanted := map[int]bool{}
	for _, seq := range f.Observations {
		wanted[seq] = true
	}
	for _, o := range tl.Observations {
		if wanted[o.Seq] && o.Partition == f.Partition {
			alone.Observations = append(alone.Observations, o)
		}
	}
	return alone
}

// line returns one line about the result of a run.
func line(r *result.Scenario) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s under %s: %s %s %s, %+v in %s", strings.ToUpper(r.Verdict.String()), r.ID,
		r.Limit, r.Reason, r.Detail, r.Target, r.Counts, r.Duration.Round(time.Millisecond))
	for _, c := range r.Claims {
		fmt.Fprintf(&b, "\n  %s: %s %s %s", c.ID, c.Verdict, c.Reason, c.Text)
	}
	return b.String()
}

// keep writes the recording of a failed test to a place that outlives the test, and returns its path.
func keep(t testing.TB, r result.Scenario) string {
	t.Helper()
	if r.Timeline == nil {
		return "(there is none)"
	}
	dir, err := os.MkdirTemp("", "rlcheck-live-")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, r.ID+".ndjson")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := timeline.Write(f, r.Timeline); err != nil {
		t.Fatal(err)
	}
	return path
}
