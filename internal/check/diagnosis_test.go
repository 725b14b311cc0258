package check

import (
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// evenly returns n instants, gap apart, the first at begin.
func evenly(n int, begin, gap time.Duration) []time.Duration {
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = begin + time.Duration(i)*gap
	}
	return out
}

// clients assigns the requests of a recording to the named clients in turn.
func clients(tl *timeline.Timeline, names ...string) *timeline.Timeline {
	for i := range tl.Observations {
		tl.Observations[i].Partition = names[i%len(names)]
	}
	return tl
}

// since returns the part of a recording from an instant on. Its times begin at 0 there.
func since(tl *timeline.Timeline, from time.Duration) *timeline.Timeline {
	out := &timeline.Timeline{}
	for _, o := range tl.Observations {
		if o.Sent < from {
			continue
		}
		o.Sent, o.FirstByte = o.Sent-from, o.FirstByte-from
		out.Observations = append(out.Observations, o)
	}
	out.Header.Ended = out.End()
	return out
}

// TestSharedQuotaIsDiagnosed: where clients share one quota, that is told before any other finding, also if
// an earlier run used the quota up. It is not told where each client has a smaller quota of its own, or where
// one went wrong later.
func TestSharedQuotaIsDiagnosed(t *testing.T) {
	const bucket, window = "token-bucket,rate=10/s,burst=20", "fixed-window,rate=20/2s,align=first"
	twice := append(evenly(40, 0, time.Millisecond), evenly(80, 500*time.Millisecond, 5*time.Millisecond)...)
	twice = append(twice, evenly(40, 5*time.Second, time.Millisecond)...)
	type recording = timeline.Timeline
	same := func(tl *recording) *recording { return tl }
	again := func(tl *recording) *recording { return since(tl, 500*time.Millisecond) }
	for _, c := range []struct {
		name, right, declared string
		tl                    func(tl *recording) *recording
		want                  bool
	}{
		{"two clients and one bucket", bucket, bucket,
			func(tl *recording) *recording { return clients(tl, "a", "b") }, true},
		{"two clients and one window", window, window,
			func(tl *recording) *recording { return clients(tl, "a", "a", "b") }, true},
		{"a bucket that an earlier run used", bucket, bucket, again, true},
		{"a window that an earlier run used", window, window, again, true},
		{"three clients of a bucket that an earlier run used", bucket, bucket,
			func(tl *recording) *recording {
				return clients(again(tl), "a", "b", "c")
			}, true},
		{"partitions that an earlier run may have used too", bucket, bucket, func(tl *recording) *recording {
			out := again(tl)
			out.Header.CompleteFrom = 1
			return out
		}, false},
		{"one client with a smaller bucket", "token-bucket,rate=10/s,burst=19", bucket, same, false},
		{"one client that is banned after its first denial", bucket + ",ban=1s", bucket, same, false},
		{"two clients with a right bucket", bucket, bucket, same, false},
	} {
		tl := c.tl(answered(t, mustPolicy(t, c.right), twice))
		j, err := Judge(tl, spec.Limit{mustPolicy(t, c.declared)}, Options{Hint: true})
		if err != nil {
			t.Fatal(err)
		}
		if (j.Diagnosis != nil) != c.want {
			t.Errorf("%s: got %v, diagnosis %v, hint %q", c.name, j.Verdict, j.Diagnosis, j.Hint)
		}
		d := j.Diagnosis
		if d != nil && (!strings.HasPrefix(d.Text, sharedText) || d.Why == "" || j.Hint != "") {
			t.Errorf("%s: got %v, hint %q, want the diagnosis alone", c.name, d, j.Hint)
		}
	}
}

// TestTwoClientsWithHalfTheQuota: each client has half of the declared quota. A quota shared by both would
// also explain the recording, but nobody could tell the two apart.
func TestTwoClientsWithHalfTheQuota(t *testing.T) {
	const text = "token-bucket,rate=1/s,burst=20"
	tl := clients(answered(t, mustPolicy(t, text), evenly(40, 0, time.Millisecond)), "a", "b")
	j, err := Judge(tl, spec.Limit{mustPolicy(t, text)}, Options{Hint: true})
	if err != nil || j.Verdict != result.Fail || j.Diagnosis != nil ||
		!strings.Contains(j.Hint, "burst of 10") {
		t.Errorf("got %v, %v, hint %q, error %v, want a burst of 10", j.Verdict, j.Diagnosis, j.Hint, err)
	}
}
