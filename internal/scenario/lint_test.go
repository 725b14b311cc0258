package scenario

import (
	"strings"
	"testing"
)

func TestTemplateIsAGoodScenario(t *testing.T) {
	s, warnings, err := Lint(Template(""), "my-endpoint.yaml", ParseOptions{})
	if err != nil || len(warnings) > 0 {
		t.Fatalf("got %v, %v, want nothing", warnings, err)
	}
	if sum := s.Summary(); sum.Requests != 640 || sum.Hosts[0] != Builtin {
		t.Errorf("got %+v", sum)
	}
	Template("")[0] = 'x'
	if Template("")[0] != '#' {
		t.Error("the template can be changed from outside")
	}
}

func TestLintWarnsInFileOrder(t *testing.T) {
	src := `id: other
title: A sentence.
kind: required
limit: token-bucket,rate=100/s,burst=20
partition: {header: K, fresh: false}
phases:
  - {name: a, shape: at-once, requests: 1x}
  - {name: b, shape: silence, duration: 1s}
`
	_, warnings, err := Lint([]byte(src), "dir/some.yaml", ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range warnings {
		got = append(got, w.Error())
	}
	want := []string{
		`dir/some.yaml:1:1: no schema header: editors check a file if its first line names the schema (begin with "# yaml-language-server: $schema=./scenario.schema.json")`,
		`dir/some.yaml:1:1: no "source": the reader of a FAIL wants to know where the rule comes from (add source)`,
		`dir/some.yaml:1:1: no "catches": a scenario that no fault can fail proves nothing (name the faults that it must find)`,
		`dir/some.yaml:1:5: id: "other": the file is called "some.yaml" (give both the same name)`,
		`dir/some.yaml:2:8: title: "A sentence.": a title has no full stop`,
		`dir/some.yaml:5:12: partition: partitions of an earlier run: their quota may be in use when the run starts (begin with a silence in which the limit recovers, or write fresh: true)`,
		`dir/some.yaml:7:3: phases: no denial: a correct limiter admits everything that is sent, so a limiter that admits too much passes too (send more than it admits)`,
		`dir/some.yaml:8:5: phases[1]: silence at the end: no request after it could show what it was for (remove it)`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	// the bucket fills in 200 ms
	rested := strings.Replace(src, "phases:\n", "phases:\n  - {name: rest, shape: silence, duration: 1s}\n",
		1)
	if _, warnings, err := Lint([]byte(rested), "dir/some.yaml", ParseOptions{}); err != nil ||
		len(warnings) != len(want)-1 {
		t.Errorf("with a rest: got %v, %v, want %d warnings", warnings, err, len(want)-1)
	}
	if _, _, err := Lint([]byte("id: x\n"), "x.yaml", ParseOptions{}); err == nil {
		t.Error("a file with mistakes: got no error")
	}
}
