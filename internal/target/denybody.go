package target

import (
	"fmt"
	"strconv"

	"github.com/rlcheck/rlcheck/internal/reference"
)

// DenyBody says what the body of a denial is.
type DenyBody string

// The bodies. The first three are problem details (RFC 9457), application/problem+json, of the types that
// draft-ietf-httpapi-ratelimit-headers-10 and -11 define in sections 5.1 to 5.3.
const (
	// DenyQuotaExceeded is the zero value too.
	DenyQuotaExceeded   DenyBody = "quota-exceeded"
	DenyReducedCapacity DenyBody = "temporary-reduced-capacity"
	DenyAbnormalUsage   DenyBody = "abnormal-usage-detected"
	// DenyJSON is a JSON object that is no problem, as many products send it: a code, a message, the wait
	// in seconds, the limit, and when the quota is back, in seconds since 1970.
	DenyJSON DenyBody = "json"
	// DenyText is a line of plain text.
	DenyText DenyBody = "text"
	// DenyEmpty has no byte and no media type.
	DenyEmpty DenyBody = "none"
)

// problemTypes begins the problem types of the draft.
const problemTypes = "https://iana.org/assignments/http-problem-types#"

// QuotaExceeded is the problem type of denials by default.
const QuotaExceeded = problemTypes + string(DenyQuotaExceeded)

// complete returns the body, DenyQuotaExceeded for none; another word is an error.
func (b DenyBody) complete() (DenyBody, error) {
	switch b {
	case "":
		return DenyQuotaExceeded, nil
	case DenyQuotaExceeded, DenyReducedCapacity, DenyAbnormalUsage, DenyJSON, DenyText, DenyEmpty:
		return b, nil
	}
	return b, fmt.Errorf("target: body of a denial %q: it is %q, %q, %q, %q, %q or %q",
		b, DenyQuotaExceeded, DenyReducedCapacity, DenyAbnormalUsage, DenyJSON, DenyText, DenyEmpty)
}

// title returns the title of the problem type b.
func (b DenyBody) title() string {
	switch b {
	case DenyReducedCapacity:
		return "Request cannot be satisfied due to temporary server capacity constraints"
	case DenyAbnormalUsage:
		return "Request not satisfied due to detection of abnormal request pattern"
	default:
		return "Request cannot be satisfied as assigned quota has been exceeded"
	}
}

// denial returns the body of a denial and its media type.
func (a *answer) denial() (string, []string) {
	switch a.target.opts.DenyBody {
	case DenyEmpty:
		return "", nil
	case DenyJSON:
		return `{"error":{"code":"rate_limited","message":"` + a.detail() + `",` + a.members() + "}}\n",
			jsonType
	case DenyText:
		return a.detail() + "\n", plainType
	default:
		return a.problem(a.status), problemType
	}
}

// detail says in words what was exceeded, and when to come back.
func (a *answer) detail() string {
	text := "At most " + a.target.facts.limit[0] + " units; this request needs " +
		strconv.FormatInt(a.cost, 10) + "."
	if a.ruling.RetryAfter != reference.Never {
		text += " Try again in " + strconv.FormatInt(max(1, ceilSeconds(a.wait())), 10) + " s."
	}
	return text
}

// members are the numbers of a denial as members of a JSON object.
func (a *answer) members() string {
	text := `"limit":` + a.target.facts.limit[0]
	if a.ruling.RetryAfter != reference.Never {
		text = `"retry_after":` + strconv.FormatInt(max(1, ceilSeconds(a.wait())), 10) + "," + text
	}
	return text + `,"reset_at":` + strconv.FormatInt(ceilSeconds(a.now+a.reset()), 10)
}

// problem returns the problem details of a denial. violated-policies names the policies of RateLimit-Policy.
func (a *answer) problem(status int) string {
	of := a.target.opts.DenyBody
	if of == DenyText || of == DenyEmpty || of == DenyJSON {
		of = DenyQuotaExceeded
	}
	return `{"type":"` + problemTypes + string(of) + `","title":"` + of.title() + `","status":` +
		strconv.Itoa(status) +
		`,"detail":"` + a.detail() + `","violated-policies":[` + a.target.facts.item + `]}` + "\n"
}
