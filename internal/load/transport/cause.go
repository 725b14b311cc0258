package transport

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/rlcheck/rlcheck/internal/http2"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// word is a word of Observation.Error; load.Record says what each stands for.
type word = string

// The words.
const (
	CauseRefused     word = "refused"
	CauseReset       word = "reset"
	CauseTimeout     word = "timeout"
	CauseMalformed   word = "malformed"
	CauseTooLarge    word = "header-too-large"
	CauseTLS         word = "tls"
	CauseCertificate word = "tls-certificate"
	CauseClient      word = "tls-client"
	CauseHostName    word = "tls-host"
	CauseNoTLS       word = "no-tls"
	CauseWantsTLS    word = "wants-tls"
	CauseHTTP2       word = "http2"
	CauseNoHTTP2     word = "no-http2"
	CauseProxy       word = "proxy"
	CauseNoProxy     word = "no-proxy"
	CauseNoSocket    word = "no-socket"
	CauseEOF         word = "eof"
	CauseClosed      word = "closed"
	CauseSurplus     word = "surplus"
	CauseEarly       word = "early"
	CauseDNS         word = "dns"
	CauseForbidden   word = "forbidden"
	CauseNoRoute     word = "no-route"
	CauseInterrupted word = "interrupted"
	CauseNetwork     word = "network"
)

// ErrInterrupted ends a connection that was made after the recording had been interrupted.
var ErrInterrupted = errors.New("the recording was interrupted")

// handshake is an error of a TLS handshake.
type handshake struct{ error }

// told is an error with a word of its own, which CauseWord returns.
type told struct {
	word string
	error
}

func (h handshake) Unwrap() error { return h.error }
func (t told) Unwrap() error      { return t.error }

// CauseOfProxy marks an error of the way to a proxy, or of the tunnel asked of it.
func CauseOfProxy(err error) error {
	switch CauseWord(err) {
	case CauseInterrupted, CauseForbidden:
		return err
	case CauseRefused:
		return told{CauseNoProxy, err}
	default:
		return told{CauseProxy, err}
	}
}

// CauseWord returns the word for an error: why a connection could not be made, or why it broke. It returns
// Network if there is no better word.
func CauseWord(err error) string {
	var dns *net.DNSError
	var timeout interface{ Timeout() bool }
	var own told
	var silent *http2.NotSpoken
	var op *net.OpError
	switch {
	case errors.As(err, &own):
		return own.word
	case alerted(err) != "":
		return alerted(err)
	case errors.As(err, &silent):
		return otherThanHTTP2(silent)
	case errors.Is(err, ErrInterrupted), errors.Is(err, context.Canceled):
		return CauseInterrupted
	case errors.As(err, &dns):
		return CauseDNS
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		return CauseTimeout
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return CauseCertificate
	case errors.As(err, new(tls.RecordHeaderError)):
		return CauseNoTLS
	case errors.As(err, new(handshake)), errors.As(err, new(tls.AlertError)):
		return CauseTLS
	case errors.As(err, &op) && op.Net == "unix" && op.Op == "dial":
		return CauseNoSocket
	case errors.Is(err, syscall.ECONNREFUSED):
		return CauseRefused
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.Is(err, syscall.ECONNABORTED), errors.Is(err, io.ErrClosedPipe):
		return CauseReset
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH),
		errors.Is(err, syscall.EADDRNOTAVAIL):
		return CauseNoRoute
	case errors.Is(err, http2.ErrReset):
		return CauseReset
	case errors.Is(err, http2.ErrGoneAway), errors.Is(err, net.ErrClosed):
		return CauseClosed
	case errors.Is(err, http2.ErrMalformed):
		return CauseMalformed
	case errors.Is(err, http2.ErrTooLarge):
		return CauseTooLarge
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return CauseEOF
	default:
		return CauseNetwork
	}
}

// CausePlain makes one line of at most about 200 bytes of an error, which may quote the target. Unprintable
// characters become spaces.
func CausePlain(err error) string {
	s := strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(err.Error(), "?"))
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "") + " ..."
	}
	return s
}

// wantsTLS are phrases that servers send with a 400 to plain HTTP on a port for HTTPS: Go, nginx, Apache,
// Tomcat.
var wantsTLS = [...]string{
	"HTTP request to an HTTPS server", "plain HTTP request was sent to HTTPS port",
	"SSL-enabled server port", "requires TLS",
}

// wantsCertificate are phrases that nginx sends with a 400 over TLS: no client certificate came, or one that
// it does not trust. It says so before it looks at any limit.
var wantsCertificate = [...]string{"No required SSL certificate was sent", "The SSL certificate error"}

// CausePageSize is how many bytes of the body of a 400 are enough for OfPage.
const CausePageSize = 1024

// CauseOfPage returns the error that b, the beginning of the body of a 400, tells of: the request needs TLS,
// or over TLS a client certificate. It returns nil if b tells of neither.
func CauseOfPage(b []byte, scheme string) error {
	b = b[:min(len(b), CausePageSize)]
	switch {
	case scheme == "http" && says(b, wantsTLS[:]) != "":
		return told{CauseWantsTLS, errors.New("the port wants TLS")}
	case scheme == "https" && says(b, wantsCertificate[:]) != "":
		return told{CauseClient, errors.New(says(b, wantsCertificate[:]))}
	default:
		return nil
	}
}

// says returns the first of the phrases that b has; "" for none.
func says(b []byte, phrases []string) string {
	for _, s := range phrases {
		if bytes.Contains(b, []byte(s)) {
			return s
		}
	}
	return ""
}

// CauseProtocol returns the word for the protocol of the first bytes of an answer: WantsTLS or HTTP2, and ""
// for any other. b has at most nine bytes.
func CauseProtocol(b []byte) string {
	const alert, settings, goAway = 0x15, 4, 7
	switch {
	case len(b) >= 2 && b[0] == alert && b[1] == 3:
		return CauseWantsTLS
	case len(b) >= 5 && b[0] == 0 && (b[3] == settings || b[3] == goAway):
		return CauseHTTP2
	default:
		return ""
	}
}

// otherThanHTTP2 returns the word for a target that did not begin with the settings of HTTP/2.
func otherThanHTTP2(e *http2.NotSpoken) string {
	switch {
	case CauseProtocol(e.First) == CauseWantsTLS || says(e.First, wantsTLS[:]) != "":
		return CauseWantsTLS
	case len(e.First) == 0 && (errors.Is(e.Err, os.ErrDeadlineExceeded) || errors.Is(e.Err,
		context.DeadlineExceeded)):
		return CauseTimeout
	default:
		return CauseNoHTTP2
	}
}

// CauseHungUp tells whether a word is that of a target that ended a connection, or whose answer is not the
// HTTP asked for.
func CauseHungUp(word string) bool {
	return slices.Contains([]string{CauseEOF, CauseReset, CauseClosed, CauseMalformed, CauseNoHTTP2}, word)
}

// CauseReword replaces the error of a request that the target hung up on by the protocol that the target
// speaks. spoken is that word; "" changes nothing.
func CauseReword(o *timeline.Observation, spoken string) {
	if spoken != "" && !o.Origin && CauseHungUp(o.Error) {
		o.Error = spoken
	}
}

// noProtocol is the alert of a target that speaks none of the offered protocols (RFC 7301 section 3.2).
const noProtocol = tls.AlertError(120)

// alerts are the words for TLS alerts by which a target says what it does not accept (RFC 8446 section 6.2).
// With TLS 1.3, alerts about the client certificate come after the handshake.
var alerts = map[tls.AlertError]word{
	42: CauseClient, 43: CauseClient, 44: CauseClient, 45: CauseClient, 46: CauseClient, 48: CauseClient,
	49:  CauseClient,
	116: CauseClient,
	112: CauseHostName,
}

// alerted returns the word for the alert by which a target ended a connection; empty for none.
func alerted(err error) word {
	for alert, w := range alerts {
		if causeSent(err, alert) {
			return w
		}
	}
	return ""
}

// causeSent tells whether the peer ended a connection with this alert. crypto/tls shows a received alert by
// its text alone.
func causeSent(err error, alert tls.AlertError) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error" && op.Err.Error() == alert.Error()
}

// CauseOfHandshake marks an error of a TLS handshake. http2 tells whether the handshake offered HTTP/2 alone,
// or else HTTP/1.1 alone.
func CauseOfHandshake(err error, http2 bool) error {
	switch {
	case !causeSent(err, noProtocol):
		return handshake{err}
	case http2:
		return told{CauseNoHTTP2, err}
	}
	return told{CauseHTTP2, err}
}

// CauseUnreachable tells whether requests of tl were sent and none was answered, and why: the commonest
// error. Of equally common errors it takes the first. Requests that waited for an answer when the recording
// was stopped do not count.
func CauseUnreachable(tl *timeline.Timeline) (why string, unreachable bool) {
	word, count := commonest(tl)
	if word == "" {
		return "", false
	}
	return "no request was answered: " + share(count, tl.Sent(), word) + causeFirst(tl, word), true
}

// causeFirst returns the text of the first error of a word, for words that say too little; "" for all others.
func causeFirst(tl *timeline.Timeline, word string) string {
	if !slices.Contains([]string{CauseTLS, CauseCertificate, CauseClient, CauseProxy, CauseNetwork,
		CauseMalformed}, word) {
		return ""
	}
	for _, note := range tl.Header.Notes {
		if text, is := strings.CutPrefix(note, CauseFirst(word, "")); is {
			for _, lead := range []string{"tls: failed to verify certificate: ", "remote error: "} {
				_, after, found := strings.Cut(text, lead)
				if found {
					text = after
				}
			}
			return ": " + text
		}
	}
	return ""
}

// CauseFirst is the note on the first error of a word.
func CauseFirst(word, text string) string { return "first " + word + ": " + text }

// share says how many of all requests met an error, and what the error means.
func share(count, all int, word string) string {
	text := fmt.Sprintf("%d of %d %s", count, all, word)
	if means := causes[word].means; means != "" {
		text += ": " + means
	}
	return text
}

// CauseSilent says of which phase of tl no request was answered, and why. Of several phases it takes the one
// that was sent first. It returns "" if there is none. Requests that waited when the recording was stopped do
// not count.
func CauseSilent(tl *timeline.Timeline) string {
	type phase struct {
		sent  int
		words map[string]int // nil if one was answered
	}
	phases, order := map[string]*phase{}, []string(nil)
	for o := range tl.All() {
		if o.Origin || o.Error == CauseInterrupted {
			continue
		}
		p := phases[o.Phase]
		if p == nil {
			p = &phase{words: map[string]int{}}
			phases[o.Phase], order = p, append(order, o.Phase)
		}
		if p.sent++; o.Answered {
			p.words = nil
		} else if p.words != nil {
			p.words[o.Error]++
		}
	}
	for _, name := range order {
		if p := phases[name]; p.words != nil {
			word := slices.MaxFunc(slices.Sorted(maps.Keys(p.words)),
				func(a, b string) int { return cmp.Compare(p.words[a], p.words[b]) })
			return "no request of phase " + name + " was answered: " + share(p.words[word], p.sent, word)
		}
	}
	return ""
}

// mostTrailing is how many requests without an answer at the end of a recording are no chance.
const mostTrailing = 10

// CauseStopped is the note that a target answered at first and then, to the end, no more. Empty: it did not.
func CauseStopped(tl *timeline.Timeline) string {
	last, after, word := time.Duration(-1), 0, ""
	for o := range tl.All() {
		switch {
		case o.Origin || o.Error == CauseInterrupted:
		case o.Answered || o.Outcome != timeline.Unknown:
			last, after = max(last, o.FirstByte), 0
		default:
			after, word = after+1, o.Error
		}
	}
	if last < 0 || after < mostTrailing {
		return ""
	}
	return fmt.Sprintf("%sit stopped answering %v after the start: the last %d requests had no answer (%s)",
		timeline.OfTarget, last.Round(10*time.Millisecond), after, word)
}

// CauseLasting tells whether every request of tl met the same error, one that does not pass by itself.
// Examples: nothing listens at the address, the port speaks another protocol, or its certificate is not
// trusted.
func CauseLasting(tl *timeline.Timeline) bool {
	word, count := commonest(tl)
	return count == tl.Sent() &&
		slices.Contains([]string{CauseRefused, CauseNoSocket, CauseNoProxy, CauseHTTP2,
			CauseNoHTTP2, CauseWantsTLS, CauseNoTLS, CauseCertificate, CauseClient, CauseHostName}, word)
}

// CauseRemedy says what the reader can do about a target that is Unreachable. It returns "" if the target is
// reachable, or nothing is known.
func CauseRemedy(tl *timeline.Timeline) string {
	word, _ := commonest(tl)
	if word != "" && slices.Contains(tl.Header.Notes, CauseNoCertificate) {
		return CauseCertify
	}
	if word != "" && slices.Contains(tl.Header.Notes, CauseBlurred) {
		return CauseApart
	}
	if (word == CauseTimeout || CauseHungUp(word)) && slices.Contains(tl.Header.Notes, CauseForwarded) {
		return "find out whether the proxy or the target is silent: curl --proxy URL TARGET"
	}
	if CauseHungUp(word) && slices.Contains(tl.Header.Notes, CauseShownCertificate) {
		return single + "; perhaps it does not accept the certificate of --cert"
	}
	return causes[word].mend
}

// CauseNoCertificate is the note of a recording whose target asked for a client certificate and got none.
// Some targets answer no other client: nginx with status 400, others with an alert.
const CauseNoCertificate = timeline.OfTarget + "the target asked for a client certificate, and none was " +
	"sent (--cert FILE --key FILE)"

// CauseShownCertificate is the note of a recording whose target asked for a client certificate and got one.
// Node hangs up on one that it does not trust, without an alert.
const CauseShownCertificate = "the target asked for a client certificate, and was sent that of --cert"

// CauseForwarded is the note of a recording whose requests an HTTP proxy forwarded, without a tunnel. If no
// answer comes, either of the two may be the reason.
const CauseForwarded = "the HTTP proxy forwarded the requests (--proxy)"

// CauseCertify is what helps if a certificate is missing, or not trusted.
const CauseCertify = "send a certificate that the target accepts: --cert FILE and --key FILE"

// CauseBlurred is the note of a recording in which missing answers are denials, but some answers are missing
// for another reason.
const CauseBlurred = timeline.OfTarget + "connections of HTTP/2 ended, or gave no answer in time, while " +
	"several requests waited: which of them were denied is not known"

// CauseUnheard is the note of a recording in which missing answers are denials, but the target ended
// connections before it need have had the whole request, or within an answer.
const CauseUnheard = timeline.OfTarget + "connections ended before the target had the whole request, or " +
	"within an answer: those requests do not count as denied"

// CauseApart is what helps with Blurred.
const CauseApart = "leave --http2 out: a connection of HTTP/1.1 that ends loses no other answer"

// commonest returns the commonest error, and how often it was met. It returns "" if any request was answered.
func commonest(tl *timeline.Timeline) (word string, count int) {
	counts := map[string]int{}
	for o := range tl.All() {
		if o.Answered {
			return "", 0
		}
		if o.Error == CauseInterrupted {
			continue
		}
		counts[o.Error]++
		if counts[o.Error] > counts[word] || word == "" {
			word = o.Error
		}
	}
	return word, counts[word]
}

// cause is what a word of Observation.Error means, and what helps.
type cause struct{ means, mend string }

const (
	start  = "start the target, or check the URL given with --target"
	single = "read the target's log, and try a single request"
	host   = "check the host in the URL given with --target"
)

var causes = map[string]cause{
	CauseRefused: {"nothing listens at the address", start},
	CauseReset:   {"connections were reset before an answer came", single},
	CauseTimeout: {"no answer came in time",
		single + "; if each connection needs a thread, give the target more threads"},
	CauseMalformed: {"the answers are not HTTP", "check the port: it speaks another protocol"},
	CauseTooLarge: {"the header of the answer is larger than 64 KiB",
		"make the target send a header block of at most 64 KiB"},
	CauseTLS: {"the TLS handshake failed", "check whether the port speaks TLS (else write http://), and " +
		"whether it wants a client certificate, or another version of TLS"},
	CauseCertificate: {"the target's certificate is not trusted", "name its authority with --cacert FILE, " +
		"use the host name of the certificate (--host NAME), or accept any certificate with --insecure"},
	CauseClient: {"the target did not accept the client", CauseCertify},
	CauseHostName: {"the target serves no host of that name",
		"name a host that the target serves (--host NAME)"},
	CauseNoTLS:    {"the port does not speak TLS", "write http:// in the URL"},
	CauseWantsTLS: {"the port speaks TLS, and the request was plain HTTP", "write https:// in the URL"},
	CauseHTTP2:    {"the port speaks only HTTP/2", "send HTTP/2 with --http2"},
	CauseNoHTTP2:  {"the port does not speak HTTP/2", "leave --http2 out, or turn HTTP/2 on at the target"},
	CauseProxy: {"the proxy was not reached, or opened no tunnel to the target",
		"check the URL given with --proxy, and which targets the proxy allows"},
	CauseNoProxy: {"nothing listens at the proxy's address",
		"start the proxy, or check the URL given with --proxy"},
	CauseNoSocket: {"nothing listens at the Unix socket",
		"start the target, or check the path given with --unix-socket"},
	CauseEOF:    {"connections ended before an answer came", single},
	CauseClosed: {"connections were closed before an answer came", single},
	CauseSurplus: {"the target sent one answer too many, so any answer may belong to another request",
		single},
	CauseEarly:     {"the target answered before it had the whole request", single},
	CauseDNS:       {"the name of the host was not found", host},
	CauseForbidden: {"the address is not allowed", "name the host with --allow-host"},
	CauseNoRoute:   {"there is no route to the address", host + ", and the network"},
}
