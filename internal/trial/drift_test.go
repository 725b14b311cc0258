package trial

import (
	"testing"

	"github.com/rlcheck/rlcheck/internal/scenario"
)

// The clock of the embedded target is ours; any other one may run faster or slower, and the recording says by
// how much. What is reached on loopback may be at the other end of a tunnel.
func TestOtherMachinesHaveClocksOfTheirOwn(t *testing.T) {
	for url, want := range map[string]int64{
		scenario.Builtin: 0, "http://127.0.0.5:8080/": otherDrift, "http://[::1]/": otherDrift,
		"http://localhost:1/": otherDrift,
		"http://10.0.0.1/":    otherDrift, "http://192.0.2.1:8080/": otherDrift,
		"http://[2001:db8::1]/": otherDrift, "http://gateway.example/": otherDrift,
	} {
		s := parsed(t, "target: {url: \""+url+"\"}\nphases:\n  - {name: a, shape: at-once, requests: 1}\n")
		out := virtually(t, s) // of the others nobody is there
		if out.Timeline == nil || out.Timeline.Header.DriftPPM != want || out.Header.DriftPPM != want {
			t.Errorf("%s: got a drift of %d ppm, want %d: %s", url, out.Header.DriftPPM, want, explain(out))
		}
	}
}
