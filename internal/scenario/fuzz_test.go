package scenario

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// FuzzParse demands that nothing panics, and that every problem lies inside the file. Its seeds are those of
// testdata/fuzz and all other files.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/bad/*.yaml", "testdata/good/*.yaml",
		"../../scenarios/*.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			f.Fatalf("%s: got %d files, %v", pattern, len(paths), err)
		}
		for _, p := range paths {
			src, err := os.ReadFile(p)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(src)
		}
	}
	f.Add(Template(""))
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 1<<16 {
			t.Skip("large inputs only take longer")
		}
		s, err := Parse(src, "f.yaml", ParseOptions{Env: environment("TARGET=http://127.0.0.1/", "N=5")})
		var problems Errors
		switch {
		case err == nil && s.Unmet() != "": // it sends nothing
		case err == nil:
			checkParsed(t, s)
		case !errors.As(err, &problems) || len(problems) == 0 || s != nil:
			t.Fatalf("got %v and a %T: %v, want Errors", s, err, err)
		}
		for i, p := range problems {
			checkPlace(t, src, p)
			if i > 0 && (p.Line < problems[i-1].Line || p.Line == problems[i-1].Line &&
				p.Col < problems[i-1].Col) {
				t.Errorf("%q stands before %q", problems[i-1].Error(), p.Error())
			}
		}
	})
}

// checkParsed checks what every scenario that parses promises.
func checkParsed(t *testing.T, s *Scenario) {
	t.Helper()
	sum := s.Summary()
	if sum.Requests < 1 || sum.Requests > s.Safety.MaxRequests || sum.Duration > s.Safety.MaxDuration ||
		sum.Connections > s.Safety.MaxConnections {
		t.Fatalf("%d requests in %s on %d connections, with ceilings %+v", sum.Requests, sum.Duration,
			sum.Connections, s.Safety)
	}
	if sum.Requests > 50_000 {
		return // planning them takes longer and shows nothing else
	}
	plan, err := s.Plan("r", 1)
	if err != nil {
		t.Fatalf("plan: %v", err)
	}
	for _, p := range plan.Phases {
		last := -time.Duration(1 << 62)
		for _, a := range p.Arrivals {
			if a.At < last || a.Cost < 1 || a.Partition == "" {
				t.Fatalf("phase %s: arrival %+v after %s", p.Name, a, last)
			}
			last = a.At
		}
	}
	if requests, _ := plan.Planned(); requests != sum.Requests {
		t.Fatalf("the plan has %d requests, the summary %d", requests, sum.Requests)
	}
}
