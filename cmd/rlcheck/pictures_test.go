package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// TestPicturesOfKeys: the pictures in docs/limit.md are what the reference limiters decide, and every axis
// has one. A ? may be either outcome, and
// a C clears the count. A limit with a range is no single limiter, and not compared.
func TestPicturesOfKeys(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "limit.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "## One picture for each key\n")
	pictures, _, ends := strings.Cut(rest, "\n## ")
	if !found || !ends {
		t.Fatal("no section with pictures")
	}
	var times []string
	var cost int64
	for line := range strings.Lines(pictures) {
		fields := strings.Fields(strings.ReplaceAll(line, "|", " "))
		switch {
		case !strings.HasPrefix(line, "    "):
		case fields[0] == "at":
			times, cost = fields[1:], 1
			if _, err := fmt.Sscanf(fields[len(fields)-1], "cost=%d", &cost); err == nil {
				times = times[:len(times)-1]
			}
		default:
			_, after, _ := strings.Cut(line, fields[len(times)])
			limit, _, _ := strings.Cut(fields[len(times)]+after, "  ")
			decided(t, limit, times, fields[:len(times)], cost)
		}
	}
	for _, key := range spec.Keys("") {
		if strings.Contains("rate limit burst queue undelayed", key) { // numbers of every limiter, no axes
			continue
		}
		if !strings.Contains(pictures, "`"+key+"`") {
			t.Errorf("the key %s has no picture", key)
		}
	}
}

// decided compares what limit decides with what is drawn. Each answer takes 3 s.
func decided(t *testing.T, limit string, times, want []string, cost int64) {
	t.Helper()
	l, err := spec.Parse(limit)
	if err != nil {
		t.Fatal(err)
	}
	s, err := reference.NewSimulation(l, time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC), 3*time.Second)
	if err != nil && strings.Contains(limit, "..") {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, at := range times {
		d, err := time.ParseDuration(at)
		if err != nil {
			t.Fatal(err)
		}
		got := "D"
		if s.Decide("", d, cost).Allow {
			got = "A"
		}
		if want[i] == "C" && got == "A" {
			got = "C"
			s.Clear("")
		}
		if want[i] != got && want[i] != "?" {
			t.Errorf("%s at %s: drawn %s, decided %s", limit, at, want[i], got)
		}
	}
}
