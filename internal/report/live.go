package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"slices"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
)

// Live is what a browser shows of a run while it goes on. The zero value shows no scenario. It is for one
// goroutine at a time.
type Live struct {
	// cards are in the order in which the scenarios began. Those with pictures are being recorded.
	cards []card
}

// mostLive is how many recordings are drawn at the same time.
const mostLive = 3

// Show replaces what is shown of a scenario. Its recording so far is drawn, unless others fill the page. word
// stands for the verdict until there is one; empty: there is.
func (l *Live) Show(s *result.Scenario, word string) {
	i, drawn := -1, 0
	for k := range l.cards {
		if l.cards[k].ID == s.ID {
			i = k
		} else if len(l.cards[k].Pictures.Time) > 0 {
			drawn++
		}
	}
	if i < 0 {
		i, l.cards = len(l.cards), append(l.cards, card{})
	}
	c := newCard(s, &cleanRun(&result.Run{Scenarios: []result.Scenario{*s}}).Scenarios[0], Options{})
	if c.Anchor = fmt.Sprintf("s%d", i+1); word != "" {
		c.Badge, c.Worth = badge{word, "none"}, nil
		if drawn < mostLive && s.Timeline != nil && len(s.Timeline.Observations) > 0 {
			c.Pictures = drawRecording(c.Anchor, s)
		}
	}
	c.Timeline, c.Judgement = nil, nil // they belong to the caller
	l.cards[i] = c
}

// Write writes what is shown now of a run of so many scenarios, as the content of the page. Errors: those of
// w.
func (l *Live) Write(w io.Writer, scenarios int) error {
	judged := 0
	p := page{Verdict: badge{"RUNNING", "none"}, Cards: slices.Clone(l.cards)}
	for i := range p.Cards {
		if p.Cards[i].Badge.Class != "none" {
			judged++
		}
	}
	p.Run = &result.Run{}
	p.Summary = fmt.Sprintf("%d of %s judged", judged, text.Plural(scenarios, "scenario"))
	return write(w, pages(), "live", p)
}

// liveScript puts what the server sends into the page: its content, and at the end the report instead of it.
const liveScript = `const from = new EventSource("events")
from.onmessage = e => document.querySelector("main").innerHTML = JSON.parse(e.data)
from.addEventListener("report", e => {
  from.close(); document.open(); document.write(JSON.parse(e.data)); document.close()
})
from.onerror = () => {
  from.close(); document.querySelector("h1").append(" (the run is over: see its report)")
}`

// LivePage returns the page that shows a Live. It reads server-sent events from ./events. The data of each is
// a string in JSON: what Live.Write writes, or in the event "report" the page of the report. policy is the
// Content-Security-Policy that it needs.
func LivePage() (page []byte, policy string) {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	var b bytes.Buffer
	_ = pages().ExecuteTemplate(&b, "livepage", nil) // it has no data, and the buffer takes all
	return b.Bytes(), "default-src 'none'; base-uri 'none'; form-action 'none'; connect-src 'self'; " +
		"style-src " + hash(pageStyle) + "; script-src " + hash(liveScript)
}
