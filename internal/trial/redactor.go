package trial

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// ShortestSecret is how long a text is at least to be redacted: replacing every "1" would change what was
// recorded.
const ShortestSecret = 4

// Redactor replaces secrets in all that is kept or printed.
type Redactor struct {
	*strings.Replacer
	// idle tells that there is no secret.
	idle bool
}

// NewRedactor redacts what the scenarios took from the environment into header fields and the body, and what
// settings put there, the password of the store, and the values of queries.
func NewRedactor(chosen []*scenario.Scenario, settings []scenario.Setting, store string) Redactor {
	var pairs []string
	add := func(secret string) { pairs = append(pairs, secretPairs(secret)...) }
	if u, err := url.Parse(store); err == nil {
		if password, set := u.User.Password(); set {
			add(password)
			inURL := url.UserPassword("", password).String() // begins with a colon
			pairs = append(pairs, inURL+"@", ":"+Redacted+"@")
		}
	}
	for _, s := range chosen {
		for _, u := range SecretEndpoints(s) {
			pairs = append(pairs, queryPairs(u)...)
		}
		for _, secret := range s.Secrets {
			add(secret)
		}
		values := []string{s.Target.Body}
		for _, v := range s.Target.Header {
			values = append(values, v)
		}
		for _, set := range settings {
			for _, v := range values {
				if strings.HasPrefix(set.Path, "target") && v != "" && strings.Contains(set.Value, v) {
					add(v)
					_, credentials, _ := strings.Cut(v, " ") // "Bearer ..."
					add(credentials)
				}
			}
		}
	}
	return Redactor{strings.NewReplacer(pairs...), len(pairs) == 0}
}

// Lengths in bytes of secrets, such as bodies. longWhole is the longest one that is looked for as a whole: a
// replacer of one text alone takes time by its square. Of one from longKept on, more than is kept of a body,
// parts are looked for too: a target that repeats it is cut off. More than mostKept of it is nowhere kept.
const (
	longWhole, longKept, mostKept = 8 << 10, 512, 64 << 10
	partSize, leastPart           = 64, 16
)

// secretPairs replaces a secret, as a whole or by its parts.
func secretPairs(secret string) (pairs []string) {
	if n := len(secret); ShortestSecret <= n && n <= longWhole {
		pairs = append(pairs, secret, Redacted)
	}
	if len(secret) < longKept {
		return pairs
	}
	for rest := secret[:min(len(secret), mostKept)]; len(rest) >= leastPart; {
		n := min(partSize, len(rest))
		pairs, rest = append(pairs, rest[:n], Redacted), rest[n:]
	}
	return pairs
}

// secretName is the name of a parameter that has a secret; longSecret is how long a value is that may be one
// under any other name.
var secretName = regexp.MustCompile(`(?i)token|key|secret|passw|pwd|sig|auth|cred|session|jwt`)

const longSecret = 16

// queryPairs replaces the values in the query of a URL: all of them where it stands as a query, and those
// that look like secrets wherever they stand, since a target may repeat them.
func queryPairs(u *url.URL) []string {
	if u.RawQuery == "" {
		return nil
	}
	shown := strings.TrimPrefix(RedactURL("/?"+u.RawQuery), "/?")
	pairs := []string{"?" + u.RawQuery, "?" + shown}
	if len(u.RawQuery) >= ShortestSecret {
		pairs = append(pairs, u.RawQuery, shown)
	}
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		name, value, named := strings.Cut(part, "=")
		if !named {
			name, value = "key", part
		}
		plain, err := url.QueryUnescape(value)
		if err != nil {
			plain = value
		}
		if len(plain) < ShortestSecret || !secretName.MatchString(name) && len(plain) < longSecret {
			continue
		}
		pairs = append(pairs, value, Redacted, plain, Redacted)
	}
	return pairs
}

// webAddress is a URL in a word of a command line.
var webAddress = regexp.MustCompile(`https?://\S+`)

// Words redacts a command line, or notes.
func (r Redactor) Words(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = r.Replace(webAddress.ReplaceAllStringFunc(w, RedactURL))
	}
	return out
}

// Scenario redacts what came back from a target: an answer may repeat what it was sent.
func (r Redactor) Scenario(s *result.Scenario) {
	s.Target, s.Origin, s.Detail = r.Replace(s.Target), r.Replace(s.Origin), r.Replace(s.Detail)
	for i := range s.Claims {
		s.Claims[i].Text = r.Replace(s.Claims[i].Text)
		r.findings(s.Claims[i].Findings)
	}
	if s.Judgement != nil {
		s.Judgement.Detail = r.Replace(s.Judgement.Detail)
		for i := range s.Judgement.Partitions {
			p := &s.Judgement.Partitions[i]
			p.Detail = r.Replace(p.Detail)
			r.findings(p.Findings)
		}
	}
	for i := range s.Statuses {
		s.Statuses[i].Location = r.Replace(s.Statuses[i].Location)
	}
	s.Header.Notes = r.Words(s.Header.Notes)
	r.Timeline(s.Timeline)
}

func (r Redactor) findings(findings []result.Finding) {
	for i := range findings {
		findings[i].Text = r.Replace(findings[i].Text)
	}
}

// Timeline redacts a recording in its place.
func (r Redactor) Timeline(tl *timeline.Timeline) {
	if tl == nil {
		return
	}
	tl.Header.Notes = r.Words(tl.Header.Notes)
	for i := range tl.Observations {
		r.observation(&tl.Observations[i])
	}
	if tl.Spool != nil {
		tl.Spool = tl.Spool.With(r.observation)
	}
}

func (r Redactor) observation(o *timeline.Observation) {
	o.Body, o.Error = r.Replace(o.Body), r.Replace(o.Error)
	for j := range o.Fields {
		if v := r.Replace(o.Fields[j].Value); v != o.Fields[j].Value {
			o.Fields = append(timeline.Fields(nil), o.Fields...) // may be shared with other observations
			o.Fields[j].Value = v
		}
	}
}

// SecretEndpoints returns the URLs that a scenario sends to, but for the embedded target.
func SecretEndpoints(s *scenario.Scenario) []*url.URL {
	var out []*url.URL
	for _, text := range []string{s.Target.URL, s.Target.Origin} {
		if text == "" || text == scenario.Builtin {
			continue
		}
		if u, err := url.Parse(text); err == nil { // the decoder has refused all others
			out = append(out, u)
		}
	}
	return out
}

// CopyOf returns a recording without secrets; tl stays as it is.
func (r Redactor) CopyOf(tl *timeline.Timeline) *timeline.Timeline {
	if r.idle {
		return tl
	}
	out := &timeline.Timeline{Header: tl.Header, Observations: slices.Clone(tl.Observations), Spool: tl.Spool}
	r.Timeline(out)
	return out
}

// Redacted stands where a secret stood.
const Redacted = "REDACTED"

// RedactURL returns a URL, or a path, as it is shown and kept: without a password, and without the values of
// its query, any of which may be a secret. What is no URL is returned as it is.
func RedactURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.RawQuery == "" && u.User == nil {
		return text
	}
	u.RawQuery = shownQuery(u.RawQuery)
	return u.Redacted()
}

// shownQuery returns a query with its names alone. What stands in it without a name may be a secret too.
func shownQuery(query string) string {
	parts := strings.Split(query, "&")
	for i, p := range parts {
		name, value, named := strings.Cut(p, "=")
		switch {
		case named && value != "":
			parts[i] = name + "=" + Redacted
		case !named && p != "":
			parts[i] = Redacted
		}
	}
	return strings.Join(parts, "&")
}

// RedactSchedule returns a schedule that may be kept: header fields of phases in which a secret stands are
// left out, and the values of queries.
func RedactSchedule(s *timeline.Schedule, secrets []string) *timeline.Schedule {
	out := &timeline.Schedule{Phases: slices.Clone(s.Phases)}
	for i := range out.Phases {
		r := &out.Phases[i].Request
		r.Path = RedactURL(r.Path)
		if len(r.Header) == 0 {
			continue
		}
		r.Header = maps.Clone(r.Header)
		maps.DeleteFunc(r.Header, func(_, value string) bool {
			return slices.ContainsFunc(secrets,
				func(secret string) bool { return strings.Contains(value, secret) })
		})
	}
	return out
}
