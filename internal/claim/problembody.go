package claim

import (
	"encoding/json"
	"fmt"
	"mime"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

const problemJSON = "application/problem+json"

// mediaType returns the media type of an answer in lower case, without parameters; empty where there is none
// that can be read.
func mediaType(o *timeline.Observation) string {
	v, _ := o.Fields.Get("Content-Type")
	t, _, _ := mime.ParseMediaType(v) // an error about parameters leaves the type
	return t
}

// isText tells whether the beginning of a body can be read: not if it is compressed, or no UTF-8, of which
// the last character may be cut off.
func isText(body string) bool {
	for i, c := range body {
		if c == utf8.RuneError && i < len(body)-utf8.UTFMax || c < ' ' && !unicode.IsSpace(c) {
			return false
		}
	}
	return true
}

// readProblem reads the problem body of a denial: present if the media type says so. The body itself is
// judged as far as it was kept: it is an object (RFC 9457 section 3), and its status member is the status of
// the answer (section 3.1.2).
func readProblem(o *timeline.Observation) (bool, []headers.Problem) {
	if mediaType(o) != problemJSON {
		return false, nil
	}
	body := strings.TrimSpace(o.Body)
	if body == "" || !isText(body) {
		return true, nil
	}
	if body[0] != '{' {
		return true, []headers.Problem{{Rule: headers.PDType, Field: "body", Value: body,
			Why: "a problem is a JSON object"}}
	}
	var p struct {
		Status *json.Number `json:"status"`
	}
	if err := json.Unmarshal([]byte(body), &p); err != nil || p.Status == nil || o.Status == 0 {
		return true, nil
	}
	if n, err := p.Status.Float64(); err != nil || n != float64(o.Status) {
		want := fmt.Sprint(o.Status)
		return true, []headers.Problem{{Rule: headers.PDStatus, Field: "status", Value: p.Status.String(),
			Why: "it is the status of the answer", Mend: "write " + want}}
	}
	return true, nil
}
