package claim

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// readProblem reads the problem body of a denial. It is present if the media type says so. The body is judged
// as far as it was kept. It must be an object (RFC 9457 section 3), and its status member must be the status
// of the answer (section 3.1.2).
func readProblem(o *timeline.Observation) (bool, []headers.Problem) {
	if MediaType(o) != ProblemJSON {
		return false, nil
	}
	body := strings.TrimSpace(o.Body)
	if body == "" || !headers.IsText(body) {
		return true, nil
	}
	if body[0] != '{' {
		return true, []headers.Problem{{Rule: headers.PDType, Field: "body", Value: body,
			Why: "a problem must be a JSON object"}}
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
			Why: "it must be the status of the answer", Mend: "write " + want}}
	}
	return true, nil
}
