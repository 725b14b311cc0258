package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// slowScenario takes some seconds, so that a page draws it.
const slowScenario = `id: slow
title: Admissions follow the limit
kind: required
target: {url: builtin}
partition: {header: X-Api-Key, fresh: true}
limit: {algorithm: token-bucket, rate: 1/1h, burst: 5}
phases:
  - {name: on, shape: constant, rate: 8/s, duration: 3s}
expect: {conformance: exact}
`

// startLive starts a run of the embedded target with --live. It returns the URL of its page, and its exit
// status once it is over.
func startLive(t *testing.T) (url string, status chan int) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile("slow.yaml", []byte(slowScenario), 0o600); err != nil {
		t.Fatal(err)
	}
	said, say := io.Pipe()
	status = make(chan int, 1)
	go func() {
		args := []string{"run", "slow.yaml", "-q", "-o", "json", "--live"}
		status <- run(args, nil, io.Discard, say)
		_ = say.Close()
	}()
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	if url = regexp.MustCompile(`http://\S+`).FindString(line); url == "" {
		t.Fatalf("no URL: %q", line)
	}
	return url, status
}

// TestALivePageDrawsTheRun: the events of the page show a recording against its bound while it is made, and
// at the end the report. Its policy allows its own script and no other.
func TestALivePageDrawsTheRun(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	url, status := startLive(t)
	page, policy := fetch(t, url, "")
	_, script, _ := strings.Cut(page, "<script>")
	script, _, _ = strings.Cut(script, "</script>")
	sum := sha256.Sum256([]byte(script))
	allowed := "script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	if !strings.Contains(policy, allowed) {
		t.Errorf("the policy %q has no %s", policy, allowed)
	}
	if text, _ := fetch(t, url, "rlcheck.example:80"); strings.Contains(text, "<script>") {
		t.Error("a page of another site may read it")
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	req, _ := http.NewRequestWithContext(ctx, "GET", url+"events", nil)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var last string
	drawn, event := 0, ""
	for lines := bufio.NewReader(resp.Body); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			event = name
		} else if text, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(text), &last); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(last, "RECORDING") && strings.Contains(last, `class="envelope"`) {
				drawn++
			}
		}
	}
	if code := <-status; drawn == 0 || event != "report\n" || code != 0 && code != 3 ||
		!strings.Contains(last, `id="top"`) || !strings.Contains(last, " slow</h1>") {
		t.Errorf("status %d, %d drawings, last event %q: %.300s", code, drawn, event, last)
	}
}

// fetch returns a page and its policy; host is what the client takes the server for.
func fetch(t *testing.T, url, host string) (text, policy string) {
	t.Helper()
	req, _ := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	req.Host = host
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(all), resp.Header.Get("Content-Security-Policy")
}

// TestABrowserShowsALivePage: in a browser the page ends as the report of the run, so its script ran.
func TestABrowserShowsALivePage(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil || testing.Short() {
		t.Skip("it takes a chromium and some seconds")
	}
	url, status := startLive(t)
	shown, err := exec.CommandContext(t.Context(), browser, "--headless", "--no-sandbox", "--disable-gpu",
		"--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
		"--disable-sync", "--user-data-dir="+t.TempDir(), "--virtual-time-budget=60000", "--dump-dom",
		url).Output()
	if err != nil || !strings.Contains(string(shown), `<body id="top">`) {
		t.Errorf("%v: %.500s", err, shown)
	}
	if code := <-status; code != 0 && code != 3 {
		t.Errorf("status %d", code)
	}
}
