package transport

import "testing"

// TestKeepAliveTimeoutIsRespected: a connection is given up before its target closes it.
func TestKeepAliveTimeoutIsRespected(t *testing.T) {
	for v, want := range map[string]int{"timeout=5": 4000, "timeout=1, max=3": 500,
		`max=9, Timeout="2"`: 1000, "timeout=x": 0, "max=1": 0, "timeout=99999999999999": 0} {
		if got := int(patience([]string{v}).Milliseconds()); got != want {
			t.Errorf("%q: got %d ms, want %d", v, got, want)
		}
	}
}
