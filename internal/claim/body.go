package claim

import (
	"mime"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// ProblemJSON is the media type of a problem (RFC 9457 section 3).
const ProblemJSON = "application/problem+json"

// MediaType returns the media type of an answer in lower case, without parameters. Empty: the answer has none
// that can be read.
func MediaType(o *timeline.Observation) string {
	v, _ := o.Fields.Get("Content-Type")
	t, _, _ := mime.ParseMediaType(v) // an error about parameters leaves the type
	return t
}
