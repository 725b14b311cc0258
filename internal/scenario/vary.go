package scenario

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/claim"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

func attributes() []timeline.Attribute {
	var out []timeline.Attribute
	for _, row := range timeline.Attributes() {
		out = append(out, row.Attribute)
	}
	return out
}

// attributesKind is the kind of expect.attributes: path-case: separate and so on.
func attributesKind() kind[*map[timeline.Attribute]claim.Sharing] {
	type sharings = map[timeline.Attribute]claim.Sharing
	word := choice("sharing", claim.OneQuota, claim.TwoQuotas, claim.Either)
	price := choice("sharing", claim.OneQuota, claim.Either)
	var fields []field[*sharings]
	for _, a := range attributes() {
		word := word
		if a.IsCost() {
			word = price // a cost is no client
		}
		into := kind[*sharings]{schema: word.schema, read: func(d *decoder, n *Node, m *sharings) {
			var v claim.Sharing
			word.read(d, n, &v)
			if *m == nil {
				*m = sharings{}
			}
			(*m)[a] = v
		}}
		fields = append(fields, key(string(a), into, func(m *sharings) *sharings { return m }))
	}
	return object("attributes", fields, nil)
}

// expectSharing completes the expectations on the phases with two sides.
func (s *draft) expectSharing(d *decoder, expect *Node) {
	var varied []timeline.Attribute
	for i := range s.phases {
		p := &s.phases[i]
		if p.Vary == "" {
			continue
		}
		varied = append(varied, p.Vary)
		if s.Partition.Count > 1 {
			d.add(p.at.Get("vary"), Quote(string(p.Vary)), "the two sides are those of one client",
				"leave out partition.count")
		}
		x := claim.AttributeExpect{Phase: p.Name, Attribute: p.Vary, Sharing: claim.OneQuota,
			Moot: s.moot(&p.Phase)}
		switch own := s.Target.URL == Builtin; {
		// The embedded target takes any key, so both spellings are clients.
		case p.Vary == timeline.KeyCase && own:
			x.Sharing, x.Unsure = claim.TwoQuotas, true // two windows may admit as much
		case p.Vary.IsFeature() && (!own || p.Vary == timeline.IdempotencyKey), p.Vary == timeline.KeyCase,
			p.Vary == timeline.KeyTwice && !own: // where keys are invented, "k, k" is one
			x.Sharing = claim.Either
		}
		switch declared := s.sharing[p.Vary]; {
		case declared != "":
			x.Sharing, x.Unsure = declared, false
		case d.issued && s.Partition.Named() && (p.Vary == timeline.KeyCase || p.Vary == timeline.KeyTwice):
			x.Sharing = claim.OneQuota // KEY, or key sent twice, is the client of key
		}
		s.Expect.Attributes = append(s.Expect.Attributes, x)
	}
	for _, a := range attributes() {
		if s.sharing[a] != "" && !slices.Contains(varied, a) {
			at := expect.Get("attributes").Get(string(a))
			d.add(at, Quote(string(a)), "no phase has vary: "+string(a), "")
		}
	}
}

// moot says why the requests of a phase cannot differ in its attribute, or not in that alone. Empty: they
// can.
func (s *draft) moot(p *Phase) string {
	switch a := p.Vary; {
	case a.IsPath():
		return s.mootPath(p)
	case s.already(p) != "":
		return "its requests have " + s.already(p) + " already"
	case s.Target.Protocol == H2 && slices.Contains([]timeline.Attribute{timeline.KeyFieldCase,
		timeline.KeySpaces, timeline.HTTPVersion, timeline.OneConnection, timeline.Connection,
		timeline.Chunked, timeline.Leaves}, a):
		return "HTTP/2 has no such thing"
	case a == timeline.KeyFieldCase || a == timeline.KeySpaces:
		if s.Partition.Kind != ByHeader {
			return "no field tells clients apart"
		}
	case a == timeline.KeyCase || a == timeline.KeyTwice:
		if !s.Partition.Named() || a == timeline.KeyTwice && s.Partition.Kind == ByPath {
			return "clients do not name themselves"
		}
	case s.Partition.Kind == ByHeader && slices.ContainsFunc(a.Row().Fields, func(f [2]string) bool {
		return strings.EqualFold(f[0], s.Partition.Name)
	}):
		return "clients are told apart by it"
	}
	return ""
}

// already names what the plain requests of a phase have of its attribute. Empty: nothing.
func (s *draft) already(p *Phase) string {
	switch p.Vary {
	case timeline.MethodHead, timeline.MethodPost, timeline.MethodOptions:
		if cmp.Or(p.Method, s.Target.Method) == strings.ToUpper(string(p.Vary)) {
			return "this method"
		}
	case timeline.Content, timeline.Chunked:
		if s.Target.Body != "" || s.Partition.Kind == ByBody {
			return "a body"
		}
	case timeline.Authorization:
		for _, h := range []map[string]string{s.Target.Header, p.Header} {
			for name := range h {
				if strings.EqualFold(name, "Authorization") {
					return "this field"
				}
			}
		}
	}
	return ""
}

// mootPath says why a path has no other spelling. Empty: it has one.
func (s *draft) mootPath(p *Phase) string {
	path := p.Path
	if u, err := url.Parse(s.Target.URL); path == "" && err == nil && s.Target.URL != Builtin {
		path = u.EscapedPath()
	} else if path == "" {
		path = "/" + BuiltinPath
	}
	path, _, _ = strings.Cut(path, "?")
	letters := func(s string) bool { return strings.ToUpper(s) != s || strings.ToLower(s) != s }
	switch {
	case s.Partition.Kind == ByPath:
		return "the path tells clients apart"
	case p.Vary == timeline.PathCase && strings.ToUpper(path) == path,
		p.Vary == timeline.PathEncoding && !letters(path):
		return fmt.Sprintf("the path %s has no letters to write so", path)
	case (p.Vary == timeline.PathLastSlash || p.Vary == timeline.PathExtension) &&
		(path == "" || strings.HasSuffix(path, "/")):
		return "the path ends with a slash"
	}
	return ""
}
