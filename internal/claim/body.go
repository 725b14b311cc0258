package claim

import (
	"mime"
	"unicode"
	"unicode/utf8"

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

// IsText tells whether the beginning of a body can be read as text. It cannot if it is compressed or no
// UTF-8. Its last character may be cut off.
func IsText(body string) bool {
	for i, c := range body {
		if c == utf8.RuneError && i < len(body)-utf8.UTFMax || c < ' ' && !unicode.IsSpace(c) {
			return false
		}
	}
	return true
}
