package live

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/client"
	"github.com/rlcheck/rlcheck/internal/httpd"
	"github.com/rlcheck/rlcheck/internal/ndjson"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/target"

	"github.com/rlcheck/rlcheck/internal/verdict"
)

// clientWaits lets clients ask a limiter that states waits in one form, and judges the waits in the
// recording. run gets the URL and starts the clients. It returns when they are done.
func clientWaits(
	t *testing.T, form string, run func(ctx context.Context, url string) *exec.Cmd,
) verdict.Claim {
	t.Helper()
	limit, err := spec.Parse("fixed-window,rate=3/3s,align=first")
	if err != nil {
		t.Fatal(err)
	}
	front, err := target.New(target.Options{Limit: limit, RetryAfter: form})
	if err != nil {
		t.Fatal(err)
	}
	defer front.Close()
	var file bytes.Buffer
	r, err := target.NewRecorder(front, &file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := httpd.Listen(r, "127.0.0.1:0")
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
	tl, err := ndjson.Read(&file, form, ndjson.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, claims := client.Judge(tl, client.Options{})
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
		want      verdict.Verdict
	}{
		{"bothSides", target.RetryAfterSeconds, verdict.Fail},
		{"onTop", target.RetryAfterSeconds, verdict.Pass},
		{"onTop", target.RetryAfterDate, verdict.Fail},
		{"plain", target.RetryAfterSeconds, verdict.Pass},
		{"plain", target.RetryAfterDate, verdict.Fail},
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
	for _, form := range []string{target.RetryAfterSeconds, target.RetryAfterDate} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			c := clientWaits(t, form, func(ctx context.Context, url string) *exec.Cmd {
				loop := fmt.Sprintf(`for i in 1 2 3 4 5 6
				do %s -s --retry 3 -H "Idempotency-Key: $i" %s >&2 &
				done
					wait`, curl, url)
				return exec.CommandContext(ctx, "sh", "-c", loop)
			})
			if c.Verdict != verdict.Pass {
				t.Errorf("got %v (%s), want PASS", c.Verdict, c.Text)
			}
		})
	}
}
