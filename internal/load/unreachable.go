package load

import (
	"fmt"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Unreachable tells whether no request of tl was answered although some were sent, and why: the commonest error. Of
// equally common ones the first counts. Requests that waited for an answer when the recording was stopped tell nothing of it.
func Unreachable(tl *timeline.Timeline) (why string, unreachable bool) {
	counts := map[string]int{}
	for i := range tl.Observations {
		o := &tl.Observations[i]
		if o.Answered {
			return "", false
		}
		if o.Error == wordInterrupted {
			continue
		}
		counts[o.Error]++
		if counts[o.Error] > counts[why] || why == "" {
			why = o.Error
		}
	}
	if len(counts) == 0 {
		return "", false
	}
	text := fmt.Sprintf("no request was answered: %d of %d %s", counts[why], len(tl.Observations), why)
	if means := meanings[why]; means != "" {
		text += ": " + means
	}
	return text, true
}

// meanings say what the words of Observation.Error mean.
var meanings = map[string]string{
	wordRefused:   "nothing listens at the address",
	wordReset:     "connections were reset before an answer came",
	wordTimeout:   "nothing came in time",
	wordMalformed: "what came is no HTTP",
	wordTooLarge:  "the header of the answer has no end",
	wordTLS:       "no TLS connection could be agreed on (https for http, or a certificate that is not trusted: on Linux SSL_CERT_FILE names those that are)",
	wordEOF:       "connections ended before an answer came",
	wordClosed:    "connections were closed before an answer came",
	wordDNS:       "the name of the host has no address",
	wordForbidden: "the address is not allowed",
	wordNoRoute:   "there is no route to the address",
}
