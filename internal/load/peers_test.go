package load

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// generator is another load generator that keeps a rate: its command line and its input for URL, RATE and
// SECONDS.
type generator struct{ command, input string }

var peers = []generator{
	{"vegeta attack -rate=RATE/s -duration=SECONDSs", "GET URL"},
	{"wrk2 -t1 -c16 -RRATE -dSECONDSs URL", ""},
	{"oha --no-tui -q RATE -z SECONDSs URL", ""},
	{"k6 run --quiet -", `import http from "k6/http"
		export const options = {discardResponseBodies: true, scenarios: {c: {rate: RATE, duration: "SECONDSs",
			executor: "constant-arrival-rate", preAllocatedVUs: 100}}}
		export default function () { http.get("URL") }`},
}

// peerSeconds is how long each peer sends: wrk2 needs 10 s to find its pace.
const peerSeconds = 12

// BenchmarkPeers prints how late the requests of other generators arrive at the target, for those that are on
// the PATH. It also prints the ratios of ours to them, all by the log of the target. The plan of a peer is
// not known. It is assumed to begin as late as possible without any request being early.
func BenchmarkPeers(b *testing.B) {
	for _, rate := range []int{500, 2000, 5000, 10000, 20000} {
		b.Run(fmt.Sprintf("rate=%d", rate), func(b *testing.B) {
			u := startTarget(b).JoinPath("logged")
			gap := time.Second / time.Duration(rate)
			for b.Loop() {
				mustRecord(b, schedule(timeline.Phase{Name: "l", Shape: timeline.Constant,
					Arrivals: each(peerSeconds*rate, gap, "k", 0)}), Options{URL: u})
				ours := logged(b, u, gap)
				quiet := quietest(ours)
				p50, p99 := quantiles(ours)
				b.ReportMetric(quiet, "quiet-p99-us")
				b.ReportMetric(p50, "p50-us")
				b.ReportMetric(p99, "p99-us")
				for _, p := range peers {
					name, ok := p.run(u, rate)
					if !ok {
						continue
					}
					theirs := logged(b, u, gap)
					b.ReportMetric(float64(len(theirs))/float64(rate*peerSeconds), name+"-sent")
					least := quietest(theirs)
					q50, q99 := quantiles(theirs)
					b.ReportMetric(least, name+"-quiet-p99-us")
					b.ReportMetric(quiet/least, "quiet-p99/"+name)
					b.ReportMetric(p50/q50, "p50/"+name)
					b.ReportMetric(p99/q99, "p99/"+name)
				}
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// run lets a peer send, and reports false if it is not installed.
func (p generator) run(u *url.URL, rate int) (name string, ok bool) {
	fill := strings.NewReplacer("URL", u.String(), "RATE", strconv.Itoa(rate),
		"SECONDS", strconv.Itoa(peerSeconds))
	args := strings.Fields(fill.Replace(p.command))
	ctx, cancel := context.WithTimeout(context.Background(), 2*peerSeconds*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdin = strings.NewReader(fill.Replace(p.input))
	return args[0], cmd.Run() == nil
}

// logged returns how late the requests since its last call were.
func logged(b *testing.B, u *url.URL, gap time.Duration) []time.Duration {
	resp := must(http.Get(u.JoinPath("../log").String()))
	defer resp.Body.Close()
	var out []time.Duration
	for _, at := range strings.Fields(string(must(io.ReadAll(resp.Body)))) {
		out = append(out, time.Duration(must(strconv.ParseInt(at, 10, 64))))
	}
	if len(out) == 0 {
		b.Fatal("nothing came")
	}
	slices.Sort(out)
	first := out[0]
	for i := range out {
		out[i] -= time.Duration(i) * gap
		first = min(first, out[i])
	}
	for i := range out {
		out[i] -= first
	}
	return out
}
