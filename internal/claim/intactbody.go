package claim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/internal/headers"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// shape is the part of a denial's body that is the same in every denial. Texts carry keys, times and numbers.
// So only the notation and, of a problem, the type are compared. An empty notation or problem is not known.
type shape struct {
	media, notation, problem string
}

// like tells whether s and t are the same as far as both are known.
func (s shape) like(t shape) bool {
	same := func(a, b string) bool { return a == "" || b == "" || a == b }
	return s.media == t.media && same(s.notation, t.notation) && same(s.problem, t.problem)
}

// String names the shape in a sentence.
func (s shape) String() string {
	media := s.media
	if media == "" {
		media = "no media type"
	}
	if s.notation == "" {
		return media
	}
	if s.problem == "" {
		return media + " with " + s.notation
	}
	return media + " with " + s.notation + " of type " + text.Quote(s.problem)
}

// shapeOf reads the shape of a body, as far as the recorder kept it. It says that no body was sent only if
// the length says so.
func shapeOf(o *timeline.Observation) shape {
	body := strings.TrimSpace(o.Body)
	s := shape{media: MediaType(o)}
	switch {
	case body == "":
		if v, _ := o.Fields.Get("Content-Length"); strings.TrimSpace(v) == "0" {
			s.notation = "no body"
		}
	case !headers.IsText(body): // it has some notation
	case body[0] == '{':
		s.notation, s.problem = "a JSON object", problemType(body)
	case body[0] == '[':
		s.notation = "a JSON array"
	case body[0] == '<':
		s.notation = "markup"
	default:
		s.notation = "text"
	}
	return s
}

// problemType returns the member type of a JSON object. It is about:blank if there is none (RFC 9457 section
// 4.2.1), and empty if the text was cut off before.
func problemType(body string) string {
	d := json.NewDecoder(strings.NewReader(body))
	if _, err := d.Token(); err != nil {
		return ""
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return ""
		}
		var member any
		if err := d.Decode(&member); err != nil {
			return ""
		}
		if text, ok := member.(string); ok && name == "type" {
			return text
		}
	}
	if _, err := d.Token(); err != nil {
		return ""
	}
	return "about:blank"
}

// body finds denials through the proxy whose body has a shape that the origin's denials never have.
func (j *comparison) body(c class) {
	var known []shape
	for _, o := range c.origin {
		if s := shapeOf(o); !slices.Contains(known, s) {
			known = append(known, s)
		}
	}
	changed := Only(c.proxy,
		func(o *timeline.Observation) bool { return !slices.ContainsFunc(known, shapeOf(o).like) })
	if len(changed) == 0 {
		return
	}
	j.find(result.BodyChanged, c.origin[0], changed,
		fmt.Sprintf("%s of the origin have %s (#%d); through the proxy %d of %d have another body: #%d has "+
			"%s",
			text.Plural(len(c.origin), "denial"), shapeOf(c.origin[0]), c.origin[0].Seq, len(changed),
			len(c.proxy),
			changed[0].Seq, shapeOf(changed[0])))
}
