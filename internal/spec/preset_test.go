package spec

import (
	"strings"
	"testing"
)

// TestEveryPresetIsASpec: every example of a product is a SPEC, and so is what it becomes.
func TestEveryPresetIsASpec(t *testing.T) {
	for _, p := range Products() {
		limit, err := Parse(p.Written())
		if err != nil {
			t.Errorf("%s: %v", p.Written(), err)
			continue
		}
		again, err := Parse(limit.String())
		if err != nil || again.String() != limit.String() {
			t.Errorf("%s: got %s, which is read as %s, %v", p.Written(), limit, again, err)
		}
		t.Logf("%-70s %s", p.Written(), limit)
		for _, name := range append([]string{p.Name}, p.Also...) {
			if other, _ := FindProduct(name); other.Name != p.Name {
				t.Errorf("%s and %s are both called %q", p.Name, other.Name, name)
			}
		}
		if p.Title == "" || !strings.HasPrefix(p.Source, "https://") {
			t.Errorf("%s: got the title %q and the source %q, want both", p.Name, p.Title, p.Source)
		}
	}
}
