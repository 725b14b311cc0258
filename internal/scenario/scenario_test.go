package scenario

import "testing"

func TestTemplateParses(t *testing.T) {
	s, err := Parse(Template(), "template.yaml", ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", s)
	sch, err := s.Plan("r1", 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", s.Summary())
	t.Log(sch.Planned())
	if _, err := Schema(); err != nil {
		t.Fatal(err)
	}
}
