package report

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// remark is what a reader needs to know before any finding: the route may not be the limited one. Scenarios
// with one text share one remark.
type remark struct {
	text, mend string
	// of and all count requests: those that the remark is about, and all that were answered.
	of, all int
	// instead: what could not be judged follows from it.
	instead bool
}

// The mends of routes that are not the limited one.
const (
	limitedRoute = "check the path of --target, what the limiter tells clients apart by (--partition), " +
		"that no cache answers (--past-caches), and that no body says what is denied (--denied " +
		"body:PATH=VALUE)"
	limitedLog  = "check which requests --match keeps, and what identifies a client (--log-partition)"
	notFollowed = "give the final URL with --target: rlcheck follows no redirects"
)

// tally counts the answers of s: all, the admissions, the right ones of a limited route, the strange ones.
// most are the strange answers of the commonest status.
func tally(s *result.Scenario) (most timeline.StatusCount, strange, right, admitted, all int) {
	broken := s.Broken()
	for _, x := range s.Statuses {
		if all += x.Answers; x.Outcome == timeline.Allowed {
			admitted += x.Answers
		}
		if x.Outcome != timeline.Unknown && !x.Redirects() && !(broken && x.Breaks()) {
			right += x.Answers
			continue
		}
		if strange += x.Answers; x.Answers > most.Answers {
			most = x
		}
	}
	return most, strange, right, admitted, all
}

// remarkOn checks the answers of a scenario that did not pass. elsewhere: other scenarios of the run met
// denials. ok=false: a limited route answers so.
func remarkOn(s *result.Scenario, elsewhere bool) (r remark, ok bool) {
	if s.Verdict == result.Pass || s.FromCache() { // a note says all that there is to say
		return remark{}, false
	}
	most, strange, right, admitted, all := tally(s)
	switch {
	case 2*strange > all && right == 0:
		text, mend := strangeStatus("the route answers", most, s.Header.Notes)
		return remark{text, mend, most.Answers, all, true}, true
	case 2*strange > all && most.Status == http.StatusForbidden && s.Counts.Denied > 0 && admitted > 0:
		return remark{"most answers are 403 Forbidden: does the gateway ban a client that keeps asking?",
			"ask gently (rlcheck identify), or declare the ban: ban=30s in --limit, and " +
				"--denied 429,403", most.Answers, all, true}, true
	case 2*strange > all:
		text, mend := strangeStatus("most answers are", most, s.Header.Notes)
		return remark{text, mend, most.Answers, all, true}, true
	// The limiter stands before a route that does not exist.
	case strange > 0 && admitted == 0:
		text, mend := strangeStatus("requests that are not denied are answered", most, s.Header.Notes)
		return remark{text, mend, most.Answers, all, true}, true
	case s.NeverDenied():
		text := "nothing was ever denied: is this the limited route?"
		mend := limitedRoute
		switch {
		case elsewhere: // so the route is limited
			text, mend = "nothing was denied, unlike in other scenarios; this one says: "+s.Title, ""
		case s.Target == "": // a recording that is judged by itself
			mend = limitedLog
		case htmlPages(s):
			text = "nothing was ever denied, and the answers are HTML pages: is this a login page?"
			mend = "send what a client sends (-H, --partition cookie:NAME); else " + limitedRoute
		}
		return remark{text, mend, s.Counts.Allowed, all, false}, true
	default:
		return remark{}, false
	}
}

// htmlPages tells whether most answers of s are HTML pages.
func htmlPages(s *result.Scenario) bool {
	html, t := 0, s.Whole()
	if t == nil {
		return false
	}
	for i := range t.Observations {
		if media, _ := t.Observations[i].Fields.Get("Content-Type"); strings.HasPrefix(media, "text/html") {
			html++
		}
	}
	return 2*html > len(t.Observations)
}

// uncertified are the statuses of a target that was shown no certificate. The last two are those of nginx,
// which it sends as 400.
var uncertified = []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, 495, 496}

// strangeStatus says what the status of most answers may mean, and what to do about it.
func strangeStatus(who string, x timeline.StatusCount, notes []string) (text, mend string) {
	text = strings.TrimSpace(fmt.Sprintf("%s %d %s", who, x.Status, http.StatusText(x.Status)))
	switch {
	case slices.Contains(uncertified, x.Status) && slices.Contains(notes, transport.CauseNoCertificate):
		return text + ": is a client certificate missing?", transport.CauseCertify
	case x.Redirects():
		if x.Location != "" {
			text += ", a redirect to " + x.Location
		}
		return text + ": is this the limited route?", notFollowed
	case x.Status == http.StatusUnauthorized:
		return text + ": is a key missing?",
			"send it: -H 'Authorization: Bearer ${TOKEN}', or --api-keys FILE; issued keys are sent as " +
				"they are, unless --partition has their form: 'header:Authorization: Bearer {key}'"
	case x.Status >= 200 && x.Status < 300:
		return text + ": is this the limited route?", "check the path and the host of --target"
	case x.Status == http.StatusProxyAuthRequired:
		return text + ": does the proxy want a password?", "name it: --proxy http://USER:PASSWORD@HOST:PORT"
	case x.Status == http.StatusNotFound, x.Status == http.StatusGone:
		return text + ": is the path right?", "check the path of the URL given with --target"
	case x.Status == http.StatusMethodNotAllowed:
		return text + ": is the method right?", "name it: -X POST"
	case x.Breaks():
		return text + ": is the target broken?", "read its log; if these are denials, begin with a full quota"
	case x.Status >= 500:
		return text + ": is the target broken, or is that a denial?",
			"read its log; if it is a denial, declare it with " + denial(x.Status)
	default:
		return text + ": is a field missing, or is that a denial?",
			"send a field with -H 'NAME: VALUE'; if it is a denial, declare it with " + denial(x.Status)
	}
}

// denial returns the flag that makes a status a denial.
func denial(status int) string { return fmt.Sprintf("--denied %d", status) }
