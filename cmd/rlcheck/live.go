package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/rundir"
	"github.com/rlcheck/rlcheck/internal/lab"
	"github.com/rlcheck/rlcheck/internal/report"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
)

// livePage is the page of --live: it draws the journals of the scenarios that are being recorded. It does so
// only while a browser looks, and for a tenth of the time at most. A nil livePage does nothing.
type livePage struct {
	shown     report.Live
	scenarios int
	server    *lab.Server
	// looked is closed when a browser looks for the first time.
	looked func()
	// over is closed at the end, after report was set.
	over   chan struct{}
	report []byte

	// mu guards shown and making.
	mu     sync.Mutex
	making []making
}

// making is a scenario that is being recorded, and its journal.
type making struct {
	scenario *scenario.Scenario
	journal  string
}

const (
	// livePause is the least time between two drawings.
	livePause = 500 * time.Millisecond
	// openWithin is how long a run waits for a browser.
	openWithin = 10 * time.Second
	// mostDrawn is the size of the largest journal that is drawn, in bytes: some 100,000 requests.
	mostDrawn = 32 << 20
)

// serveLive serves the page of a run at a port of the loopback interface, and waits a little until a browser
// shows it. Without a port it returns nil.
func serveLive(ctx context.Context, e *cli.Env, port string, scenarios int) (*livePage, error) {
	if port == "" {
		return nil, nil
	}
	ready := make(chan struct{})
	p := &livePage{scenarios: scenarios, looked: sync.OnceFunc(func() { close(ready) }),
		over: make(chan struct{})}
	var err error
	if p.server, err = lab.Listen(p, "127.0.0.1:"+port); err != nil {
		return nil, cli.Usagef("--live=%s: %w", port, err)
	}
	e.Say.Line(fmt.Sprintf("%s shows the run; it begins when you open that, or in %s", p.server.URL(),
		openWithin))
	select {
	case <-ready:
	case <-ctx.Done():
	case <-time.After(openWithin):
	}
	return p, nil
}

// begin shows a scenario that is about to be recorded.
func (p *livePage) begin(s *scenario.Scenario, dir *rundir.Dir) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.making = append(p.making, making{s, dir.Of(s.ID, rundir.JournalName)})
}

// judged shows the verdict of a scenario.
func (p *livePage) judged(out *result.Scenario) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.making = slices.DeleteFunc(p.making, func(m making) bool { return m.scenario.ID == out.ID })
	p.shown.Show(out, "")
}

// close shows the report of the run where the page was, and ends the server.
func (p *livePage) close(r *result.Run, o report.Options) {
	if p == nil {
		return
	}
	var b bytes.Buffer
	_ = report.Write(&b, "html", r, o) // the buffer takes all
	p.report = b.Bytes()
	close(p.over)
	_ = closeSoon(p.server) // a browser that does not read has the file
}

// ServeHTTP serves the page and its events. A page of another site is no reader: its Host is not loopback.
func (p *livePage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, _, _ := net.SplitHostPort(r.Host)
	if a, _ := netip.ParseAddr(host); host != "localhost" && !a.IsLoopback() {
		http.Error(w, "this page is served on the loopback interface only", http.StatusMisdirectedRequest)
		return
	}
	switch page, policy := report.LivePage(); r.URL.Path {
	case "/":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", policy)
		_, _ = w.Write(page) // a browser that went away misses nothing
	case "/events":
		p.events(w, r)
	default:
		http.NotFound(w, r)
	}
}

// events sends what the page shows, again and again, and at the end the report.
func (p *livePage) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	send := func(event string, data []byte) bool {
		text, _ := json.Marshal(string(data)) // a string
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, text)
		return http.NewResponseController(w).Flush() == nil
	}
	p.looked()
	for {
		began := time.Now()
		if !send("message", p.draw()) {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-p.over:
			send("report", p.report)
			return
		case <-time.After(max(livePause, 9*time.Since(began))):
		}
	}
}

// draw draws what was recorded so far.
func (p *livePage) draw() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.making {
		p.recording(m)
	}
	var b bytes.Buffer
	_ = p.shown.Write(&b, p.scenarios) // the buffer takes all
	return b.Bytes()
}

// recording shows a scenario as far as its journal goes. Without one it stays as it was shown last: it has
// not begun, or it is being judged.
func (p *livePage) recording(m making) {
	if info, err := os.Stat(m.journal); err != nil || info.Size() > mostDrawn {
		return
	}
	tl, err := rundir.ReadRecording(m.journal)
	if err != nil || len(tl.Observations) == 0 {
		return
	}
	s := m.scenario
	out := result.Scenario{ID: s.ID, Title: s.Title, Kind: string(s.Kind), Limit: s.Limit,
		Limits: s.Expect.Limits, Timeline: tl, Header: tl.Header}
	for i := range tl.Observations {
		out.Counts.Add(&tl.Observations[i])
	}
	p.shown.Show(&out, "RECORDING")
}
