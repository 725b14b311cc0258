package spec

import (
	"fmt"
	"os"
	"path/filepath"
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
		for _, k := range p.Keys {
			_, example, valued := strings.Cut(k.Form, "=")
			if !valued && k.Read == nil {
				continue
			}
			if k.Read == nil {
				t.Errorf("%s: %s has an unknown reader", p.Name, k.Form)
			} else if _, why, _ := k.Read(example); why != "" {
				t.Errorf("%s: %s cannot be read: %s", p.Name, k.Form, why)
			}
		}
	}
}

// table reads a file of testdata: a configuration, and below it, after a tab, the expected result.
func table(t *testing.T, name string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	out := map[string]string{}
	for i := 0; i+1 < len(lines); i += 2 {
		out[lines[i]] = strings.TrimPrefix(lines[i+1], "\t")
	}
	if len(out) != len(lines)/2 || len(out) < 10 {
		t.Fatalf("%s: got %d entries of %d lines", name, len(out), len(lines))
	}
	return out
}

func TestConfigurationsBecomeSPECs(t *testing.T) {
	for text, want := range table(t, "specs.txt") {
		got, wrong := ExpandPreset(text)
		if got != want || wrong != nil {
			t.Errorf("%s: got %q, %v, want %q", text, got, wrong, want)
		}
	}
}

// A mistake is reported with its place, and with a mend if there is one.
func TestMistakesAreTold(t *testing.T) {
	for text, want := range table(t, "mistakes.txt") {
		spec, wrong := ExpandPreset(text)
		if len(wrong) != 1 || spec != "" {
			t.Errorf("%s: got %q, %v, want one problem", text, spec, wrong)
			continue
		}
		p := wrong[0]
		got := fmt.Sprintf("%d: %s: %s", p.Column-1, p.What, p.Why)
		if p.Mend != "" {
			got += " (" + p.Mend + ")"
		}
		if got != want {
			t.Errorf("%s: got\n%s, want\n%s", text, got, want)
		}
	}
}

// A text that is not a preset is left to the SPEC, and no text makes the parser panic.
func FuzzExpand(f *testing.F) {
	for _, p := range Products() {
		f.Add(p.Written())
	}
	for _, text := range []string{"nginx", "token-bucket,rate=10/s", "a,b:c", ":", "nginx:=",
		"haproxy:gpc0_rate()=", "haproxy:(", "express:windowMs=9223372036854775807*2,limit=0",
		"traefik:average=9000000000000000000"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, words, ok := CutPreset(text)
		if !ok {
			return
		}
		spec, wrong := ExpandPreset(text)
		if (spec == "") != (len(wrong) > 0) {
			t.Errorf("%q: got %q and %v, want one of them", text, spec, wrong)
		}
		for _, p := range wrong {
			if p.Column < 1 || p.Column > len(text)+1 || p.What == "" || p.Why == "" {
				t.Errorf("%q: got %+v, want a place in the text", text, p)
			}
		}
		if strings.Contains(words, "=") && spec == "" && wrong == nil {
			t.Errorf("%q: nothing was said", text)
		}
	})
}
