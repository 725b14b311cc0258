package headers

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestRetryAfterReads(t *testing.T) {
	at := time.Date(2026, 11, 20, 9, 55, 29, 0, time.UTC)
	for _, test := range []struct {
		value string
		want  RetryAfter
	}{
		{"0", RetryAfter{}},
		{"5", RetryAfter{Seconds: 5}}, // Varnish's synth() on every answer
		{"060", RetryAfter{Seconds: 60}},
		{" 60\t", RetryAfter{Seconds: 60}},
		{"60000", RetryAfter{Seconds: 60000}}, // milliseconds by mistake, but well formed
		{"9223372036854775807", RetryAfter{Seconds: math.MaxInt64}},
		{"000000000000000000000000000001", RetryAfter{Seconds: 1}},
		{"Fri, 20 Nov 2026 09:55:29 GMT", RetryAfter{Date: at, IsDate: true}},
		{"Friday, 20-Nov-26 09:55:29 GMT", RetryAfter{Date: at, IsDate: true, Obsolete: true}},
		{"Fri Nov 20 09:55:29 2026", RetryAfter{Date: at, IsDate: true, Obsolete: true}},
		{"Sun Nov  6 08:49:37 1994", RetryAfter{Date: time.Date(1994, 11, 6, 8, 49, 37, 0, time.UTC),
			IsDate: true, Obsolete: true}},
		// a leap second
		{"Sat, 31 Dec 2016 23:59:60 GMT", RetryAfter{Date: time.Date(2017, 1, 1, 0, 0, 0, 0, time.UTC),
			IsDate: true}},
	} {
		got, err := ParseRetryAfter(test.value)
		got.raw = ""
		if err != nil || got != test.want {
			t.Errorf("ParseRetryAfter(%q): got %+v, %v, want %+v", test.value, got, err, test.want)
		}
	}
}

func TestRetryAfterRefuses(t *testing.T) {
	for _, test := range []struct {
		value string
		rule  Rule
		why   string // a part of the text
	}{
		{"", RASyntax, "empty"},
		{"1.5", RASyntax, `round up: write "2"`},
		{"1.991", RASyntax, `write "2"`}, // rate-limiter-flexible's README
		{"0.0", RASyntax, `write "0"`},
		{"-1", RASyntax, "may not be negative"}, // APIcast
		{"-1484742195", RASyntax, "may not be negative"},
		{"+1", RASyntax, "no sign"},
		{"1s", RASyntax, "without a unit"},
		{"60 seconds", RASyntax, "without a unit"},
		{"1 2", RASyntax, "nothing between"},
		{"1e3", RASyntax, "digits only"},
		{"0x10", RASyntax, "digits only"},
		{"9223372036854775808", RASyntax, "overflow"},
		{"99999999999999999999999999", RASyntax, "overflow"},
		{"60, 60", RASingle, "not a list"},
		{"60,", RASingle, "not a list"},
		{"Fri, 20 Nov 2026 09:55:29 GMT, Fri, 20 Nov 2026 09:55:29 GMT", RASingle, "not a list"},
		{"Fri, 20 Nov 2026 09:55:29 GMT, 5", RASingle, "not a list"},
		{"Fri, 20 Nov 2026 09:55:29 UTC", RASyntax, `write "Fri, 20 Nov 2026 09:55:29 GMT"`}, // go-limiter
		{"Fri, 20 Nov 2026 09:55:29 +0000", RASyntax, `write "Fri, 20 Nov 2026 09:55:29 GMT"`},
		{"Fri, 20 Nov 2026 10:55:29 +0100", RASyntax, `write "Fri, 20 Nov 2026 09:55:29 GMT"`},
		{"Fri, 20 Nov 2026 09:55:29 EST", RASyntax, "looks like"},
		{"2026-11-20T09:55:29Z", RASyntax, `write "Fri, 20 Nov 2026 09:55:29 GMT"`}, // Zoom
		{"2026-11-20T09:55:29.123+01:00", RASyntax, `write "Fri, 20 Nov 2026 08:55:29 GMT"`},
		{"Thu, 20 Nov 2026 09:55:29 GMT", RASyntax, "that day is a Friday"},
		{"Thursday, 20-Nov-26 09:55:29 GMT", RASyntax, "that day is a Friday"},
		{"Thu Nov 20 09:55:29 2026", RASyntax, "that day is a Friday"},
		{"Fri, 20 Nov 2026 9:55:29 GMT", RASyntax, "two digits"},
		{"Fri, 20 nov 2026 09:55:29 GMT", RASyntax, "one capital"},
		{"FRI, 20 Nov 2026 09:55:29 GMT", RASyntax, "one capital"},
		{"Tue, 31 Nov 2026 09:55:29 GMT", RASyntax, "no such day"},
		{"Fri, 20 Nov 2026 24:00:00 GMT", RASyntax, "no such day or time"},
		{"Friday, 20-Nov-26 09:55:29 EST", RASyntax, "looks like"},
		{"soon", RASyntax, "digits only"},
		{"NaN", RASyntax, "digits only"},
		{"١٢", RASyntax, "digits only"}, // digits, but not of ASCII
		{"\x1b[31m5", RASyntax, `\x1b`},
	} {
		got, err := ParseRetryAfter(test.value)
		p, ok := errors.AsType[*Problem](err)
		if !ok {
			t.Errorf("ParseRetryAfter(%q): got %+v, %v, want a problem", test.value, got, err)
			continue
		}
		if p.Rule != test.rule || !strings.Contains(err.Error(), test.why) || p.Value != test.value ||
			got != (RetryAfter{}) {
			t.Errorf("ParseRetryAfter(%q): got rule %s: %v, want %s with %q", test.value, p.Rule, err,
				test.rule, test.why)
		}
		if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("ParseRetryAfter(%q): got text %q, want printable ASCII only", test.value, err)
		}
	}
}

func TestRetryAfterErrorReadsInFull(t *testing.T) {
	_, err := ParseRetryAfter("1.5")
	const want = `Retry-After: "1.5": a wait is a whole number of seconds (round up: write "2")`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = ParseRetryAfter(strings.Repeat("x", 5000))
	if n := len(err.Error()); n > 300 {
		t.Errorf("a value of 5000 bytes: got a text of %d bytes, want at most 300", n)
	}
}

func TestWaitCountsFromTheDate(t *testing.T) {
	for _, test := range []struct {
		value string
		want  time.Duration
		past  bool
	}{
		{"0", 0, false},
		{"90", 90 * time.Second, false},
		{"9223372036", 9223372036 * time.Second, false},
		{"9223372037", math.MaxInt64, false}, // one second more than a Duration holds
		{"9223372036854775807", math.MaxInt64, false},
		{"Fri, 20 Nov 2026 12:01:00 GMT", time.Minute, false},
		{"Fri, 20 Nov 2026 12:00:00 GMT", 0, false},
		{"Fri, 20 Nov 2026 11:59:59 GMT", 0, true},
		{"Mon Jan  1 00:00:00 0001", 0, true},
	} {
		ra, err := ParseRetryAfter(test.value)
		if err != nil {
			t.Errorf("ParseRetryAfter(%q): %v", test.value, err)
			continue
		}
		if got, past := ra.Wait(noon), ra.Past(noon); got != test.want || past != test.past {
			t.Errorf("%q at noon: got wait %v, past %v, want %v, %v", test.value, got, past, test.want,
				test.past)
		}
	}
}

func TestObsoleteDatesBreakIMF(t *testing.T) {
	for value, want := range map[string]Rule{
		"60": "", "Fri, 20 Nov 2026 09:55:29 GMT": "", "Friday, 20-Nov-26 09:55:29 GMT": RAIMF,
		"Fri Nov 20 09:55:29 2026": RAIMF,
	} {
		ra, err := ParseRetryAfter(value)
		if err != nil {
			t.Fatal(err)
		}
		got := Rule("")
		for _, p := range Problems(ra.Check()) {
			got = p.Rule
			if p.Value != value {
				t.Errorf("Check of %q: got value %q, want what was sent", value, p.Value)
			}
		}
		if got != want {
			t.Errorf("Check of %q: got %q, want %q", value, got, want)
		}
	}
}

func TestCheckDate(t *testing.T) {
	for value, want := range map[string]Rule{
		"Fri, 20 Nov 2026 09:55:29 GMT": "", "Friday, 20-Nov-26 09:55:29 GMT": RAIMF, "now": DateSyntax,
		"1795168529": DateSyntax, "": DateSyntax,
	} {
		got := Rule("")
		for _, p := range Problems(CheckDate(value)) {
			got = p.Rule
		}
		if got != want {
			t.Errorf("CheckDate(%q): got %q, want %q", value, got, want)
		}
		if _, err := ParseDate(value); (err != nil) != (want == DateSyntax) {
			t.Errorf("ParseDate(%q): got %v, want an error only for what is no date", value, err)
		}
	}
}

func FuzzParseRetryAfter(f *testing.F) {
	for _, s := range []string{"5", "1.5", "-1", "60, 60", "Fri, 20 Nov 2026 09:55:29 GMT",
		"Fri, 20 Nov 2026 09:55:29 UTC", "Friday, 20-Nov-26 09:55:29 GMT", "Fri Nov 20 09:55:29 2026",
		"2026-11-20T09:55:29Z", "Sat, 31 Dec 2016 23:59:60 GMT", "9223372036854775808"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ra, err := ParseRetryAfter(s)
		if err != nil {
			if p := Problems(err); len(p) != 1 || p[0].Why == "" || p[0].Rule.Level() != Must {
				t.Fatalf("%q: got %#v, want a problem with a binding rule and a reason", s, err)
			}
			return
		}
		if ra.Seconds < 0 || ra.Wait(noon) < 0 || ra.IsDate == ra.Date.IsZero() && ra.Date.Year() != 1 {
			t.Fatalf("%q: got %+v", s, ra)
		}
		if !ra.IsDate {
			if !allDigits(trim(s)) {
				t.Fatalf("%q: got %d s from what is not digits", s, ra.Seconds)
			}
			return
		}
		if ra.Date.Year() < 0 || ra.Date.Year() > 9999 {
			t.Fatalf("%q: got year %d", s, ra.Date.Year())
		}
		again, err := ParseRetryAfter(ra.Date.Format(imfFixdate))
		if err != nil || !again.Date.Equal(ra.Date) || again.Obsolete {
			t.Fatalf("%q printed as %s: got %+v, %v", s, ra.Date.Format(imfFixdate), again, err)
		}
		if (ra.Check() != nil) != ra.Obsolete {
			t.Fatalf("%q: got Check %v, Obsolete %v", s, ra.Check(), ra.Obsolete)
		}
	})
}
