package live

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/claim"
	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// clientWaits lets clients ask a limiter that states waits in one form, and judges the waits in the
// recording. run gets the URL and starts the clients. It returns when they are done.
func clientWaits(
	t *testing.T, form string, run func(ctx context.Context, url string) *exec.Cmd,
) result.Claim {
	t.Helper()
	limit, err := spec.Parse("fixed-window,rate=3/3s,align=first")
	if err != nil {
		t.Fatal(err)
	}
	front, err := lab.New(lab.Options{Limit: limit, RetryAfter: form})
	if err != nil {
		t.Fatal(err)
	}
	defer front.Close()
	var file bytes.Buffer
	r, err := lab.NewRecorder(front, &file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := lab.Listen(r, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if out, err := run(ctx, s.URL()).CombinedOutput(); err != nil {
		t.Logf("the client: %v\n%s", err, out)
	}
	if err := s.Close(ctx); err != nil {
		t.Error(err)
	}
	if _, err := r.Close(); err != nil {
		t.Error(err)
	}
	tl, err := timeline.Read(&file, form, timeline.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, claims := claim.JudgeClients(tl, claim.ClientOptions{})
	return claims[0]
}

// TestClientsOfGuides: a client that reads a date as a number does not wait. Jitter to both sides is too
// early, and jitter on top is not.
func TestClientsOfGuides(t *testing.T) {
	t.Parallel()
	node := find(t, "node")
	script, err := filepath.Abs(filepath.Join("testdata", "clients", "fetch.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		way, form string
		want      result.Verdict
	}{
		{"bothSides", lab.RetryAfterSeconds, result.Fail},
		{"onTop", lab.RetryAfterSeconds, result.Pass},
		{"onTop", lab.RetryAfterDate, result.Fail},
		{"plain", lab.RetryAfterSeconds, result.Pass},
		{"plain", lab.RetryAfterDate, result.Fail},
	} {
		t.Run(x.way+" "+x.form, func(t *testing.T) {
			t.Parallel()
			c := clientWaits(t, x.form, func(ctx context.Context, url string) *exec.Cmd {
				return exec.CommandContext(ctx, node, script, x.way, url, "16")
			})
			if c.Verdict != x.want {
				t.Errorf("got %v (%s), want %v", c.Verdict, c.Text, x.want)
			}
		})
	}
}

// TestCurlWaits: curl --retry keeps waits in both forms.
func TestCurlWaits(t *testing.T) {
	t.Parallel()
	curl := find(t, "curl")
	for _, form := range []string{lab.RetryAfterSeconds, lab.RetryAfterDate} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			c := clientWaits(t, form, func(ctx context.Context, url string) *exec.Cmd {
				loop := fmt.Sprintf(`for i in 1 2 3 4 5 6
				do %s -s --retry 3 -H "Idempotency-Key: $i" %s >&2 &
				done
					wait`, curl, url)
				return exec.CommandContext(ctx, "sh", "-c", loop)
			})
			if c.Verdict != result.Pass {
				t.Errorf("got %v (%s), want PASS", c.Verdict, c.Text)
			}
		})
	}
}
