package scenario

import (
	"strings"
	"testing"
	"time"
)

const small = `id: small
title: A sentence
kind: required
target: {url: "${TARGET:-builtin}"}
limit: token-bucket,rate=100/s,burst=20
partition: {header: X-Api-Key, count: 2}
phases:
  - {name: first, shape: at-once, requests: 2x}
  - {name: second, shape: constant, rate: 2x, duration: 1s}
`

// environment is an Env made of pairs NAME=VALUE.
func environment(pairs ...string) Env {
	return func(name string) (string, bool) {
		for _, p := range pairs {
			if k, v, _ := strings.Cut(p, "="); k == name {
				return v, true
			}
		}
		return "", false
	}
}

// set parses settings.
func set(t *testing.T, texts ...string) []Setting {
	t.Helper()
	var all []Setting
	for _, text := range texts {
		s, err := ParseSetting(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

func TestFlagsWinOverTheEnvironmentAndThatOverTheFile(t *testing.T) {
	env := environment("TARGET=http://env/")
	for _, row := range []struct {
		opts ParseOptions
		want string
	}{
		{ParseOptions{}, "builtin"},
		{ParseOptions{Env: env}, "http://env/"},
		// an empty variable counts as unset if there is a default
		{ParseOptions{Env: environment("TARGET=")}, "builtin"},
		{ParseOptions{Env: env, Set: set(t, "target.url=http://set/")}, "http://set/"},
		{ParseOptions{Env: env, Set: set(t, "target.url=http://set/"), Target: "http://flag/"},
			"http://flag/"},
	} {
		s, err := Parse([]byte(small), "small.yaml", row.opts)
		if err != nil {
			t.Fatal(err)
		}
		if s.Target.URL != row.want {
			t.Errorf("%+v: got url %q, want %q", row.opts, s.Target.URL, row.want)
		}
	}
}

func TestSettingsChangeWhatIsReadBeforeItIsJudged(t *testing.T) {
	s, err := Parse([]byte(small), "small.yaml", ParseOptions{
		Set: set(t, "phases.1.duration=3s", "phases.first.requests=7", "denied.status=[429, 503]",
			"expect.resolution.rate=5%", "limit=token-bucket,rate=1/s,burst=1", "target.header.X-A=b: c"),
		Limit: "gcra,rate=10/s,burst=5", Partition: "query:key",
	})
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case s.Phases[1].Duration != 3*time.Second, s.Phases[1].Requests != 60:
		// 2x of the limit that the flag gives
		t.Errorf("phase second: got %s and %d requests, want 3s and 60", s.Phases[1].Duration,
			s.Phases[1].Requests)
	case s.Phases[0].Requests != 7:
		t.Errorf("phase first: got %d requests, want 7", s.Phases[0].Requests)
	case len(s.Denied.Status) != 2 || s.Denied.Status[1] != 503:
		t.Errorf("denied: got %v", s.Denied.Status)
	case s.Expect.Resolution.Rate != Tolerance{Demanded: true, Ratio: 0.05} ||
		s.Expect.Resolution.Burst != Tolerance{Demanded: true}:
		t.Errorf("resolution: got %+v", s.Expect.Resolution)
	case s.Limit.String() != "gcra,rate=10/s,burst=5":
		t.Errorf("limit: got %s", s.Limit)
	case s.Partition != Partition{Kind: ByQuery, Name: "key", Count: 2, Fresh: true,
		Exclusive: true}:
		t.Errorf("partition: got %+v", s.Partition)
	}
}

func TestMistakesOfSettingsNameTheSetting(t *testing.T) {
	for _, row := range []struct {
		opts ParseOptions
		want string
	}{
		{ParseOptions{Set: set(t, "phases.1.duration=3")},
			`--set phases.1.duration=3: phases[1].duration: "3": a bare number needs a unit (write "3s")`},
		{ParseOptions{Set: set(t, "denied.status=[429]", "denied.status.7=503")},
			`--set denied.status.7=503: denied.status.7: "7": the list has 1 element, named by its index from 0 or by its name`},
		{ParseOptions{Set: set(t, "phases.2.duration=3s")},
			`--set phases.2.duration=3s: phases.2: "2": the list has 2 elements, named by their index from 0 or by their name`},
		{ParseOptions{Set: set(t, "limit.burst=5")},
			`--set limit.burst=5: limit.burst: "burst": the value above it is text and has no parts`},
		{ParseOptions{Set: set(t, "targt.url=x")}, `--set targt.url=x: unknown key "targt": a scenario has ` +
			`id, title, kind, source, tags, catches, needs, target, partition, limit, allowed, denied, ` +
			`cost, phases, about, suits, promises, expect, example, safety (did you mean "target"?)`},
		{ParseOptions{Set: set(t, "tags=[a")},
			`--set tags=[a: tags: not YAML: did not find expected ',' or ']' while parsing a flow sequence that began at 1:1`},
		{ParseOptions{Set: set(t, "target..url=x")},
			`--set target..url=x: target.: "": a path has no empty step`},
		{ParseOptions{Set: set(t, "tags=[&a b]")},
			`--set tags=[&a b]: tags[0]: anchor "&a": scenario files have no anchors (write the value out)`},
		{ParseOptions{Target: "127.0.0.1:80"},
			`--target: "127.0.0.1:80": a url begins with http:// or https://, or is "builtin" ` +
				`(write "http://127.0.0.1:80")`},
		{ParseOptions{Target: "https:/api.test/"},
			`--target: "https:/api.test/": a url begins with http:// or https://, or is "builtin" ` +
				`(write "https://api.test/")`},
		{ParseOptions{Target: "http://::1:80/"},
			`--target: "http://::1:80/": an IPv6 address stands in brackets (write "http://[::1]:8080/")`},
		{ParseOptions{Target: "http://a:80b/"}, `--target: "http://a:80b/": invalid port ":80b" after host`},
		{ParseOptions{Limit: "token-bucket,rate=10,burst=2"},
			`--limit: rate "10": a bare number needs a unit, a rate is N/PER (write "10/s")`},
		{ParseOptions{Partition: "cookie"},
			`--partition: "cookie": a partition is ` +
				`header:NAME, query:NAME, cookie:NAME, body:NAME, address, ` +
				`path ` +
				`or none, or a mapping with one of them (write "header:X-Api-Key")`},
		{ParseOptions{Partition: "header:"},
			`--partition: "": a header field has an HTTP token for a name`},
	} {
		_, err := Parse([]byte(small), "small.yaml", row.opts)
		if err == nil || err.Error() != row.want {
			t.Errorf("%+v:\ngot  %v\nwant %s", row.opts, err, row.want)
		}
	}
	if _, err := ParseSetting("target"); err == nil {
		t.Error("a setting without a value: got no error")
	}
}

func TestVariablesStayText(t *testing.T) {
	src := strings.Replace(small, `{url: "${TARGET:-builtin}"}`,
		`{header: {Authorization: "Bearer ${TOKEN}", X-B: "a$${b}"}, body: "${BODY:-x}"}`, 1)
	token := "x}, limit: {a: b"
	s, err := Parse([]byte(src), "s.yaml", ParseOptions{Env: environment("TOKEN="+token, "BODY=[1, 2]")})
	if err != nil {
		t.Fatal(err)
	}
	if s.Target.Header["Authorization"] != "Bearer "+token || s.Target.Header["X-B"] != "a${b}" ||
		s.Target.Body != "[1, 2]" {
		t.Errorf("got header %q and body %q", s.Target.Header, s.Target.Body)
	}
	if len(s.Secrets) != 2 || s.Secrets[0] != token || s.Secrets[1] != "[1, 2]" {
		t.Errorf("secrets: got %q, want the two values of the environment", s.Secrets)
	}
	_, err = Parse([]byte(src), "s.yaml", ParseOptions{Env: environment("TOKEN=secret\r\nX: y")})
	if err == nil || strings.Contains(err.Error(), "secret") ||
		!strings.Contains(err.Error(), "Bearer ${TOKEN}") {
		t.Errorf("a value with a line break: got %v, want an error that shows the variable and not its value",
			err)
	}
}

func TestVariablesMayBeNumbers(t *testing.T) {
	src := strings.Replace(small, "count: 2", `count: "${COUNT:-3}", fresh: "${FRESH:-false}"`, 1)
	s, err := Parse([]byte(src), "s.yaml", ParseOptions{Env: environment("COUNT=4")})
	if err != nil {
		t.Fatal(err)
	}
	if s.Partition.Count != 4 || s.Partition.Fresh {
		t.Errorf("got %+v, want count 4 and not fresh", s.Partition)
	}
}

// TestASettingLeavesAKeyOut: an empty list or null means that the key is missing. A key that must be there is
// reported.
func TestASettingLeavesAKeyOut(t *testing.T) {
	src := "id: x\ntitle: x\nkind: required\ntags: [quick]\nlimit: 'fixed-window,rate=5/1m'\nphases:\n" +
		"  - {name: a, shape: at-once, requests: 2x}\n  - {name: b, shape: at-once, requests: 2x}\n" +
		"expect: {denials: [{phase: a, max: 0}]}\n"
	for _, value := range []string{"[]", "null"} {
		var set []Setting
		for _, path := range []string{"tags", "expect.denials", "phases.b"} {
			set = append(set, Setting{Path: path, Value: value})
		}
		s, err := Parse([]byte(src), "x.yaml", ParseOptions{Set: set})
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Tags) != 0 || len(s.Expect.Denials) != 0 || len(s.Phases) != 1 {
			t.Errorf("%s: got tags %q, %d bounds and %d phases, want one phase", value, s.Tags,
				len(s.Expect.Denials), len(s.Phases))
		}
		_, err = Parse([]byte(src), "x.yaml", ParseOptions{Set: []Setting{{Path: "title",
			Value: value}}})
		if err == nil {
			t.Errorf("title=%s: no error", value)
		}
	}
}

func TestForgedFieldsLeaveThePartitionAlone(t *testing.T) {
	src := strings.Replace(small, "requests: 2x}", "requests: 2x, forge: [X-Forwarded-For, X-Real-IP]}", 1)
	for partition, want := range map[string]int{"header:X-Api-Key": 2, "header:x-forwarded-for": 1,
		"address": 2} {
		s, err := Parse([]byte(src), "s.yaml", ParseOptions{Partition: partition})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := s.Plan("r", 1)
		if err != nil || len(plan.Phases[0].Forge) != want {
			t.Errorf("partition %s: got forged %q, %v, want %d fields", partition, plan.Phases[0].Forge, err,
				want)
		}
	}
}
