package identify

import (
	"strings"
	"testing"

	"github.com/rlcheck/rlcheck/internal/load/cause"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestTroubleNamesWhatIsMissing: a target that asked for a certificate and answers 400 does not have the wrong
// URL.
func TestTroubleNamesWhatIsMissing(t *testing.T) {
	tl := &timeline.Timeline{Observations: []timeline.Observation{{Answered: true, Status: 400}}}
	if got := trouble(tl); !strings.Contains(got, "(status 400): is it the right URL") {
		t.Errorf("got %q", got)
	}
	tl.Header.Notes = []string{cause.NoCertificate}
	if got := trouble(tl); !strings.HasSuffix(got, "(status 400): "+cause.Certify) {
		t.Errorf("asked for a certificate: got %q", got)
	}
}
