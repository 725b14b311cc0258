package transport

import (
	"encoding/base64"
	"testing"

	"github.com/rlcheck/rlcheck/internal/http2"
)

// text returns a length-delimited field in the wire format of protocol buffers.
func text(tag byte, v string) string { return string([]byte{tag<<3 | 2, byte(len(v))}) + v }

// details returns a google.rpc.Status with one detail.
func details(code byte, kind string) string {
	status := string([]byte{1 << 3, code}) + text(2, "slow down") +
		text(3, text(1, "type.googleapis.com/"+kind)+text(2, "\x0a\x02\x08\x03"))
	return base64.RawStdEncoding.EncodeToString([]byte(status))
}

// TestUnavailableWithAWaitIsADenial: UNAVAILABLE with a stated wait comes from a limiter. Other details do
// not show that.
func TestUnavailableWithAWaitIsADenial(t *testing.T) {
	for kind, want := range map[string]int{"google.rpc.RetryInfo": 429, "google.rpc.DebugInfo": 503} {
		trailers := []http2.Field{{Name: "grpc-status", Value: "14"},
			{Name: "grpc-status-details-bin", Value: details(14, kind)}}
		if got, ok := GRPCStatus(trailers); got != want || !ok {
			t.Errorf("%s: got %d, %v, want %d", kind, got, ok, want)
		}
	}
}

// FuzzRetryInfo reads arbitrary bytes as details.
func FuzzRetryInfo(f *testing.F) {
	long := []byte{0x1a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1}
	for _, s := range []string{"", "=", details(14, "google.rpc.RetryInfo"), details(8, ""), "CA4",
		"////////",
		base64.StdEncoding.EncodeToString(long)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, details string) {
		if found := retryInfo(details); found && len(details) < len("/google.rpc.RetryInfo") {
			t.Errorf("found in %q", details)
		}
	})
}
