package rlchecktest

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestTextsNameOptionsAndNoFlags: who writes a test has no command line.
func TestTextsNameOptionsAndNoFlags(t *testing.T) {
	all, err := bundled()
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, b := range all {
		named[b.plain.ID] = true
	}
	texts := []string{worst(see(t, true, func() http.Handler { return newWindow(20, time.Hour) },
		"fixed-window,rate=20/1h,align=first", Key("X-Tenant"), Only("burst"))).text}
	for _, o := range []Option{Partition("none"), Keys("a", "b"), Key("X-Client")} {
		c := newConfig(t, "sliding-window-log,rate=20/10m", []Option{o})
		for id := range named {
			c.only = append(c.only, id)
		}
		scenarios, err := c.scenarios(anywhere, shortly)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range scenarios {
			texts = append(texts, inTest(s.Unmet()))
		}
	}
	text := strings.Join(texts, "\n")
	for _, option := range []string{`Key("...")`, `Partition("address")`, "(Keys)", `On("restart", ...)`,
		"Denials", `Set("phases.gold.limit", "...")`, `Set("safety.max_duration", "1h")`, "Origin"} {
		if !strings.Contains(text, option) {
			t.Errorf("no text has %s", option)
		}
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, " --") || strings.Contains(line, "(--") ||
			strings.Contains(line, "flag of run") || strings.Contains(line, "embedded target (write") {
			t.Error(line)
		}
	}
}
