package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
)

func TestPageStaysSmall(t *testing.T) {
	s := SampleScenario(t, "load", "A long run", "token-bucket,rate=100/s,burst=20", Load(60_000))
	got := render(t, "html", SampleRun(s), Options{})
	if len(got) > 1<<20 {
		t.Errorf("60000 observations: a page of %d bytes, want at most 1 MiB", len(got))
	}
	if small := render(t, "html", SampleRun(Failing(t)), Options{}); len(small) > 512<<10 {
		t.Errorf("680 observations: a page of %d bytes, want at most 512 KiB", len(small))
	}
}

func TestPageAsksNothingOfAnyone(t *testing.T) {
	for name, r := range fixtures(t) {
		got := string(render(t, "html", r, Options{}))
		for _, never := range []string{"<script", "<link", "<img", "<iframe", "<object", "<form",
			"javascript:", "@import", "url(http", " src=", " style=", " onload"} {
			if strings.Contains(regexp.MustCompile(`&lt;[^<]*`).ReplaceAllString(got, ""), never) {
				t.Errorf("%s: contains %q", name, never)
			}
		}
		for _, m := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(got, -1) {
			if !strings.HasPrefix(m[1], "#") {
				t.Errorf("%s: links to %s", name, m[1])
			}
		}
		style := regexp.MustCompile(`(?s)<style>(.*)</style>`).FindStringSubmatch(got)
		sum := sha256.Sum256([]byte(style[1]))
		policy := regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(got)
		hash := strings.ReplaceAll(base64.StdEncoding.EncodeToString(sum[:]), "+", "&#43;")
		if want := "style-src &#39;sha256-" + hash +
			"&#39;"; !strings.Contains(policy[1], want) {
			t.Errorf("%s: policy %s, want in it %s", name, policy[1], want)
		}
		if !strings.Contains(policy[1], "default-src &#39;none&#39;") {
			t.Errorf("%s: policy %s allows more than nothing", name, policy[1])
		}
	}
}

// TestPageIsWellFormed: a page has only elements of the template and the charts. Each is closed, and no text
// has become an element.
func TestPageIsWellFormed(t *testing.T) {
	known := regexp.MustCompile(`^(html|head|meta|title|style|body|header|main|footer|section|p|h1|h2|span|` +
		`small|br|b|i|a|code|div|dl|dt|dd|table|caption|thead|tbody|tr|th|td|` +
		`figure|figcaption|details|summary|` +
		`svg|pattern|desc|g|clipPath|rect|line|path|text|circle)$`)
	for name, r := range fixtures(t) {
		d := xml.NewDecoder(bytes.NewReader(render(t, "html", r, Options{})))
		d.AutoClose, d.Entity, d.Strict = xml.HTMLAutoClose, xml.HTMLEntity, false
		depth := 0
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			switch x := token.(type) {
			case xml.StartElement:
				depth++
				if !known.MatchString(x.Name.Local) {
					t.Errorf("%s: the element %s", name, x.Name.Local)
				}
				for _, a := range x.Attr {
					if strings.HasPrefix(strings.ToLower(a.Name.Local), "on") {
						t.Errorf("%s: the handler %s", name, a.Name.Local)
					}
				}
			case xml.EndElement:
				depth--
			}
		}
		if depth != 0 {
			t.Errorf("%s: %d elements are not closed", name, depth)
		}
	}
}

func TestChartsTellWhatTheyShow(t *testing.T) {
	got := string(render(t, "html", SampleRun(Failing(t)), Options{}))
	for _, want := range []string{
		"21 requests allowed within 0.001 s; at most 20 + floor(10/s * 0.001 s) = 20 are possible",
		`<desc id="s1-p0-d">70 units admitted, at most `, // the text alternative has the numbers
		"Witness: over-admission, partition “k1”",
		"#2 allowed (200), sent 0.002021 s, first byte ",
		"680 planned = 680 sent + 0 unsent; 680 sent = 140 allowed + 540 denied + 0 unknown",
		"token-bucket,rate=10/s,burst=20",
	} {
		if !strings.Contains(strings.ReplaceAll(got, "&#43;", "+"), want) {
			t.Errorf("the page of a failure does not say %q", want)
		}
	}
	if n, titles := strings.Count(got, `role="img"`),
		strings.Count(got, "aria-labelledby=\"s1-")-1; n != titles || n < 6 {
		t.Errorf("got %d pictures, %d of them with a text alternative", n, titles)
	}
	for _, m := range regexp.MustCompile(`aria-labelledby="([^"]*)"`).FindAllStringSubmatch(got, -1) {
		for _, id := range strings.Fields(m[1]) {
			if strings.Count(got, `id="`+id+`"`) != 1 {
				t.Errorf("the id %s stands %d times", id, strings.Count(got, `id="`+id+`"`))
			}
		}
	}
}

// TestChartsAccuseNoRightLimiter: a partition is drawn against the limit that counts it, with ranges at their
// loose ends. Otherwise it is not drawn.
func TestChartsAccuseNoRightLimiter(t *testing.T) {
	tl := Record(1, 40, 100) // a burst of 40 at 10/s
	right, none := Limit(t, "token-bucket,rate=10/s,burst=40"), spec.Limit(nil)
	for name, x := range map[string]struct {
		limit string
		own   map[string]spec.Limit
		drawn bool
	}{
		"its own": {"token-bucket,rate=10/s,burst=20",
			map[string]spec.Limit{"burst": right, "overload": right}, true},
		"a range": {"token-bucket,rate=9..10/s,burst=20..40", nil, true},
		"free": {"token-bucket,rate=10/s,burst=20",
			map[string]spec.Limit{"burst": none, "overload": none}, false},
		"partly free": {"token-bucket,rate=10/s,burst=20", map[string]spec.Limit{"burst": none},
			false},
		"forgotten":            {"token-bucket,rate=10/s,burst=40,ttl=1s", nil, false},
		"that of the scenario": {"token-bucket,rate=10/s,burst=40", nil, true},
	} {
		s := SampleScenario(t, "x", "A title", x.limit, tl)
		s.Limits = x.own
		back, err := ReadDocument(bytes.NewReader(render(t, "json", SampleRun(s), Options{})))
		if err != nil {
			t.Fatal(err)
		}
		back.Scenarios[0].Timeline = tl
		for _, r := range []*result.Run{SampleRun(s), back} {
			one := &r.Scenarios[0]
			share := chartedClients(one)[0].Nearness
			page := string(render(t, "html", r, Options{}))
			drawn := strings.Contains(page, "against its limit</title>")
			if drawn != x.drawn || drawn != (share != nil) {
				t.Errorf("%s: drawn: %v, want %v", name, drawn, x.drawn)
			}
			if share != nil && *share > 1 {
				t.Errorf("%s: got %v of the limit in use: the page accuses a right limiter", name, *share)
			}
		}
	}
}

func BenchmarkPageOfAMillion(b *testing.B) {
	s := SampleScenario(b, "load", "A long run", "token-bucket,rate=100/s,burst=20", Load(1_000_000))
	r := SampleRun(s)
	for b.Loop() {
		b.ReportMetric(float64(len(render(b, "html", r, Options{}))), "bytes")
	}
}

// TestInstants: an instant far from the recording is told in days and hours.
func TestInstants(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{-107 * time.Millisecond, "-0.107 s"}, {90 * time.Second, "90.000 s"}, {-125 * time.Second, "-2m5s"},
		{-1529535*time.Second - 300*time.Millisecond, "-17d16h52m15.3s"},
		{48*time.Hour + time.Microsecond, "2d0s"},
	} {
		if got := text.Instant(c.d); got != c.want {
			t.Errorf("%d: got %s, want %s", c.d, got, c.want)
		}
	}
}

// TestPageTellsWhereWindowsBegin: where windows begin is measured, not declared. No row may say that it was
// not measured.
func TestPageTellsWhereWindowsBegin(t *testing.T) {
	s := Passing(t)
	s.Limit = Limit(t, "fixed-window,rate=100/1m")
	s.Judgement.Measured.Phase = Between(-107e6, -105e6)
	page := string(render(t, "html", SampleRun(s), Options{}))
	for _, want := range []string{`<p class="policy">windows begin at -0.107 s .. -0.105 s</p>`,
		"<dt>windows begin</dt><dd>measured at -0.107 s .. -0.105 s </dd>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(page, "not measured") {
		t.Error("the page says that something was not measured")
	}
	if got, want := s.Worth()[2], "windows begin at -0.107 s .. -0.105 s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestACappedSearchIsTold: a search that was capped is told beside what was measured, but not as a parameter.
func TestACappedSearchIsTold(t *testing.T) {
	s := Passing(t)
	s.Judgement.Partitions[0].Search.Capped = true
	note := fmt.Sprintf("not every order was tried in 1 of %d partitions", len(s.Judgement.Partitions))
	page := string(render(t, "html", SampleRun(s), Options{}))
	if !strings.Contains(page, note+"</p>") || !strings.Contains(page, "<dt>"+note+"</dt><dd> </dd>") {
		t.Errorf("the page does not say %q, or says that it was measured", note)
	}
}

// TestFailuresComeFirst: failures that count come first, passes last and folded. Each scenario that did not
// pass links to the next.
func TestFailuresComeFirst(t *testing.T) {
	recommended := Uncounted(t)
	recommended.ID = "second"
	r := SampleRun(Passing(t), Unreachable(t), recommended, Failing(t))
	page := string(render(t, "html", r, Options{}))
	last := 0
	for _, want := range []string{`<section class="card fail" id="s4"`, `<a href="#s3">next: FAIL second</a>`,
		`<section class="card uncounted" id="s3"`, `<a href="#s2">next: INCONCLUSIVE sustained</a>`,
		`id="s2"`,
		`<details class="card pass"><summary>`, `<section id="s1"`} {
		at := strings.Index(page, want)
		if at < last {
			t.Errorf("%q stands at %d, want it after %d", want, at, last)
		}
		last = at
	}
	alone := string(render(t, "html", SampleRun(Passing(t)), Options{}))
	if strings.Contains(alone, `<details class="card`) {
		t.Error("the only scenario is folded")
	}
}

// TestPageBeginsWithWhatNeedsAction: the page begins, as the table does, with the verdict, what was measured,
// and each thing to act on once.
func TestPageBeginsWithWhatNeedsAction(t *testing.T) {
	one := Failing(t)
	page := string(render(t, "html", SampleRun(Passing(t), one, Unreachable(t)), Options{}))
	header, _, _ := strings.Cut(page, `<table class="overview">`)
	all := SampleRun(Passing(t), one, Unreachable(t))
	for _, want := range []string{Headline(all, false),
		`<a href="#s2">overload-10x</a>`, `<a href="#s3">sustained</a>`,
		"at most 20 &#43; floor", "mend: start the target"} {
		if !strings.Contains(header, want) {
			t.Errorf("above the overview stands no %q", want)
		}
	}
	alone := string(render(t, "html", SampleRun(one), Options{}))
	if header, _, _ = strings.Cut(alone, "</header>"); strings.Contains(header, "floor") ||
		strings.Contains(alone, `<table class="overview">`) || strings.Contains(header, " in 4") ||
		!strings.Contains(alone, "not known: the declared limit does not hold") {
		t.Error("the only scenario is told twice, begins with its time, or hides why a rate is not known")
	}
}

// TestManyFailuresAreFolded: of many failures the first few are open and the others folded. Otherwise the
// page grows with their number.
func TestManyFailuresAreFolded(t *testing.T) {
	one := Failing(t)
	page := string(render(t, "html", SampleRun(one, one, one, one, one), Options{}))
	open := strings.Count(page, `<section class="card fail"`)
	folded := strings.Count(page, `<details class="card fail"`)
	if open != mostOpen || folded != 5-mostOpen {
		t.Errorf("got %d open and %d folded, want %d and %d", open, folded, mostOpen, 5-mostOpen)
	}
}

// TestStatusesAreTold: the page tells which statuses came, and why requests had none.
func TestStatusesAreTold(t *testing.T) {
	tl := Load(300)
	for i := range 7 {
		o := &tl.Observations[i]
		o.Status = 404
		if i > 4 {
			o.Answered, o.Status, o.Error = false, 0, "timeout"
		}
	}
	s := SampleScenario(t, "x", "A title", "token-bucket,rate=10/s,burst=40", tl)
	want := "answers: 264 × 429 (denied), 29 × 200 (allowed), 4 × 404 (denied), 1 × 404 (allowed); " +
		"not answered: 2 × timeout"
	if page := string(render(t, "html", SampleRun(s), Options{})); !strings.Contains(page, want) {
		t.Errorf("got %q, want %q", answersText(&s), want)
	}
}
