package headers

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// header makes a getter from lines "Name: value". Repeated ones are joined by ", ".
func header(lines ...string) func(string) (string, bool) {
	h := http.Header{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		h.Add(name, value)
	}
	return func(name string) (string, bool) {
		v, ok := h[name]
		return strings.Join(v, ", "), ok
	}
}

func num(q Quota, limit, remaining int64) Quota {
	q.Limit, q.Remaining = limit, remaining
	q.HasLimit, q.HasRemaining = limit >= 0, remaining >= 0
	q.Limit, q.Remaining = max(0, limit), max(0, remaining)
	return q
}

func in(q Quota, reset time.Duration) Quota {
	q.Reset, q.HasReset, q.Form, q.Unit = reset, true, Delta, time.Second
	return q
}

func at(q Quota, form Form, unit, reset time.Duration) Quota {
	q.Reset, q.HasReset, q.Form, q.Unit, q.ResetAt = reset, true, form, unit, noon.Add(reset)
	return q
}

// noon is 1795176000 as a Unix time.
func TestQuotas(t *testing.T) {
	const minute = time.Minute
	x, three := Quota{Dialect: XRateLimit}, Quota{Dialect: Draft00}
	named := func(name string, window time.Duration) Quota {
		return Quota{Dialect: Draft08, Name: name, Window: window}
	}
	for _, test := range []struct {
		name  string
		lines []string
		want  []Quota
		rules []Rule
	}{
		{"nothing", nil, nil, nil},
		{"GitHub: epoch seconds", []string{"X-RateLimit-Limit: 60", "X-RateLimit-Remaining: 59",
			"X-RateLimit-Reset: 1795176060"},
			[]Quota{at(num(x, 60, 59), EpochS, time.Second, minute)}, nil},
		{"Twitter's spelling", []string{"x-rate-limit-limit: 60", "x-rate-limit-remaining: 0",
			"x-rate-limit-reset: 1795175999"},
			[]Quota{at(num(x, 60, 0), EpochS, time.Second, -time.Second)}, nil},
		{"fastify: delta", []string{"X-RateLimit-Limit: 60", "X-RateLimit-Remaining: 59",
			"X-RateLimit-Reset: 60"},
			[]Quota{in(num(x, 60, 59), minute)}, nil},
		{"epoch milliseconds", []string{"X-RateLimit-Limit: 60", "X-RateLimit-Remaining: 59",
			"X-RateLimit-Reset: 1795176060250"},
			[]Quota{at(num(x, 60, 59), EpochMS, time.Millisecond, minute+250*time.Millisecond)}, nil},
		{"koa: epoch with a fraction", []string{"X-RateLimit-Limit: 5", "X-RateLimit-Remaining: 4",
			"X-RateLimit-Reset: 1795176000.408937"},
			[]Quota{at(num(x, 5, 4), EpochS, time.Millisecond, 408937*time.Microsecond)}, []Rule{XRReset}},
		{"go-limiter: a date in UTC", []string{"X-RateLimit-Limit: 5", "X-RateLimit-Remaining: 4",
			"X-RateLimit-Reset: Fri, 20 Nov 2026 12:01:00 UTC"},
			[]Quota{at(num(x, 5, 4), OtherDate, time.Second, minute)}, []Rule{XRReset}},
		{"Vimeo: HTTP-date", []string{"X-RateLimit-Limit: 5", "X-RateLimit-Remaining: 4",
			"X-RateLimit-Reset: Fri, 20 Nov 2026 12:01:00 GMT"},
			[]Quota{at(num(x, 5, 4), HTTPDate, time.Second, minute)}, []Rule{XRReset}},
		{"GoToSocial: ISO 8601", []string{"X-RateLimit-Limit: 5", "X-RateLimit-Remaining: 4",
			"X-RateLimit-Reset: 2026-11-20T12:01:00.500Z"},
			[]Quota{at(num(x, 5, 4), OtherDate, time.Millisecond, minute+500*time.Millisecond)},
			[]Rule{XRReset}},
		{"epoch microseconds", []string{"X-RateLimit-Reset: 1795176060000000"},
			[]Quota{at(x, EpochUS, time.Microsecond, minute)}, nil},
		{"epoch nanoseconds", []string{"X-RateLimit-Reset: 1795176060000000000"},
			[]Quota{at(x, EpochNS, time.Nanosecond, minute)}, nil},
		{"negative numbers are none", []string{"X-RateLimit-Limit: 5", "X-RateLimit-Remaining: -1",
			"X-RateLimit-Reset: -3"},
			[]Quota{num(x, 5, -1)}, []Rule{XRRange, XRReset}},
		{"more remains than the limit", []string{"X-RateLimit-Limit: 5", "X-RateLimit-Remaining: 6"},
			[]Quota{num(x, 5, 6)}, []Rule{XRRange}},
		{"a negative limit", []string{"X-RateLimit-Limit: -5"}, nil, []Rule{XRSet}},
		{"a limit that is a string", []string{`X-RateLimit-Limit: "5"`}, nil, []Rule{XRSet}},
		{"the limit remains", []string{"X-RateLimit-Limit: 5", "X-RateLimit-Remaining: 5"},
			[]Quota{num(x, 5, 5)}, nil},
		{"remaining alone", []string{"X-RateLimit-Remaining: 5"}, []Quota{num(x, -1, 5)}, []Rule{XRSet}},
		{"words", []string{"X-RateLimit-Limit: many", "X-RateLimit-Remaining: some",
			"X-RateLimit-Reset: soon"}, nil, []Rule{XRSet, XRRange, XRReset}},
		{"overflow", []string{"X-RateLimit-Limit: 1", "X-RateLimit-Remaining: 9223372036854775808",
			"X-RateLimit-Reset: 9223372036854775808"},
			[]Quota{num(x, 1, -1)}, []Rule{XRRange, XRReset}},
		{"Kong: a window in the name",
			[]string{"X-RateLimit-Limit-Minute: 20", "X-RateLimit-Remaining-Minute: 19"},
			[]Quota{num(Quota{Dialect: XRateLimit, Name: "minute", Window: minute}, 20, 19)}, nil},
		{"Envoy: policies behind the limit", []string{`X-RateLimit-Limit: 10, 10;w=1;name="a", 600;w=60`,
			"X-RateLimit-Remaining: 3", "X-RateLimit-Reset: 1"},
			[]Quota{in(num(Quota{Dialect: XRateLimit, Window: time.Second}, 10, 3), time.Second)}, nil},

		{"three fields", []string{"RateLimit-Limit: 100", "RateLimit-Remaining: 50", "RateLimit-Reset: 30"},
			[]Quota{in(num(three, 100, 50), 30*time.Second)}, nil},
		{"three fields with the policy in the limit",
			[]string{"RateLimit-Limit: 100, 100;w=60, 1000;w=3600", "RateLimit-Remaining: 50",
				"RateLimit-Reset: 30"},
			[]Quota{in(num(Quota{Dialect: Draft00, Window: minute}, 100, 50), 30*time.Second)}, nil},
		{"three fields with policies of other limits",
			[]string{"RateLimit-Limit: 100, 1000;w=3600", "RateLimit-Remaining: 50", "RateLimit-Reset: 30",
				"RateLimit-Policy: 50;w=60"},
			[]Quota{in(num(three, 100, 50), 30*time.Second)}, nil},
		{"express-rate-limit draft 6: a policy of its own",
			[]string{"RateLimit-Policy: 100;w=60", "RateLimit-Limit: 100", "RateLimit-Remaining: 50",
				"RateLimit-Reset: 30"},
			[]Quota{in(num(Quota{Dialect: Draft00, Window: minute}, 100, 50), 30*time.Second)}, nil},
		{"GitLab: an epoch where a delta belongs", []string{"RateLimit-Limit: 100", "RateLimit-Remaining: 50",
			"RateLimit-Reset: 1795176060"},
			[]Quota{at(num(three, 100, 50), EpochS, time.Second, minute)}, []Rule{R3Delta}},
		{"a fraction where a whole number belongs",
			[]string{"RateLimit-Limit: 100", "RateLimit-Remaining: 50", "RateLimit-Reset: 1.5"},
			[]Quota{func() Quota {
				q := in(num(three, 100, 50),
					1500*time.Millisecond)
				q.Unit = time.Millisecond
				return q
			}()}, []Rule{R3Delta}},
		{"no reset", []string{"RateLimit-Limit: 100", "RateLimit-Remaining: 50"},
			[]Quota{num(three, 100, 50)}, []Rule{R3Required}},
		{"no limit", []string{"RateLimit-Reset: 5"}, []Quota{in(three, 5*time.Second)}, []Rule{R3Required}},
		{"tollbooth: more remains than the limit",
			[]string{"RateLimit-Limit: 10", "RateLimit-Remaining: 19", "RateLimit-Reset: 1"},
			[]Quota{in(num(three, 10, 19), time.Second)}, []Rule{R3Range}},
		{"draft 7: more remains than the limit", []string{"RateLimit: limit=10, remaining=11, reset=1"},
			[]Quota{in(num(Quota{Dialect: Draft07}, 10, 11), time.Second)}, []Rule{R3Range}},
		{"Imgur: a quota of the user and one of the client", []string{"X-RateLimit-UserLimit: 500",
			"X-RateLimit-UserRemaining: 499", "X-RateLimit-UserReset: 1795176060",
			"X-RateLimit-ClientLimit: 12500", "X-RateLimit-ClientRemaining: 12500"},
			[]Quota{at(num(Quota{Dialect: XRateLimit, Name: "user"}, 500, 499), EpochS, time.Second, minute),
				num(Quota{Dialect: XRateLimit, Name: "client"}, 12500, 12500)}, nil},
		{"a user with less than nothing",
			[]string{"X-RateLimit-UserLimit: 500", "X-RateLimit-UserRemaining: -1"},
			[]Quota{num(Quota{Dialect: XRateLimit, Name: "user"}, 500, -1)}, []Rule{XRRange}},
		{"sent twice", []string{"RateLimit-Limit: 100", "RateLimit-Limit: 100", "RateLimit-Remaining: 50",
			"RateLimit-Remaining: 50", "RateLimit-Reset: 5", "RateLimit-Reset: 5"},
			[]Quota{num(three, 100, -1)}, []Rule{R3Remaining, R3Delta}},

		{"draft 7", []string{"RateLimit: limit=100, remaining=50, reset=5", "RateLimit-Policy: 100;w=60"},
			[]Quota{in(num(Quota{Dialect: Draft07, Window: minute}, 100, 50), 5*time.Second)}, nil},
		{"draft 7 with a policy of another limit",
			[]string{"RateLimit: limit=100, remaining=50, reset=5", "RateLimit-Policy: 10;w=60"},
			[]Quota{in(num(Quota{Dialect: Draft07}, 100, 50), 5*time.Second)}, nil},
		{"a policy by number, alone and negative", []string{"RateLimit-Policy: -5;w=60"}, nil, []Rule{RPQ}},
		{"draft 7 on several lines", []string{"RateLimit: limit=100", "RateLimit: remaining=50, reset=5"},
			[]Quota{in(num(Quota{Dialect: Draft07}, 100, 50), 5*time.Second)}, nil},
		{"draft 7 without limit and reset", []string{"RateLimit: remaining=50"},
			[]Quota{num(Quota{Dialect: Draft07}, -1, 50)}, []Rule{R307}},
		{"draft 7 with a negative number", []string{"RateLimit: limit=100, remaining=-1, reset=5"},
			[]Quota{in(num(Quota{Dialect: Draft07}, 100, -1), 5*time.Second)}, []Rule{R307}},

		{"draft 8", []string{`RateLimit: "default";r=50;t=30`, `RateLimit-Policy: "default";q=100;w=60`},
			[]Quota{in(num(named("default", minute), 100, 50), 30*time.Second)}, nil},
		{"draft 8 with a key, two policies, one state",
			[]string{`RateLimit: "burst";r=5;pk=:cHNsdW5r:`,
				`RateLimit-Policy: "burst";q=10;w=1;qu="requests";pk=:cHNsdW5r:, "day";q=1000;w=86400`},
			[]Quota{num(Quota{Dialect: Draft08, Name: "burst", Window: time.Second}, 10, 5),
				num(named("day", 24*time.Hour), 1000, -1)}, nil},
		{"the policy alone", []string{`RateLimit-Policy: "default";q=100`},
			[]Quota{num(named("default", 0), 100, -1)}, nil},
		{"the state alone", []string{`RateLimit: "default";r=0`}, []Quota{num(named("default", 0), -1, 0)},
			nil},
		{"a token for a name", []string{"RateLimit: default;r=50"}, []Quota{num(named("default", 0), -1, 50)},
			[]Rule{RPName}},
		{"r missing, as in the draft's own example", []string{`RateLimit: "q";t=1`},
			[]Quota{in(named("q", 0), time.Second)}, []Rule{RLR}},
		{"r negative", []string{`RateLimit: "q";r=-1`}, nil, []Rule{RLR}},
		{"r a decimal", []string{`RateLimit: "q";r=50.5`}, nil, []Rule{RLR}},
		{"r a string", []string{`RateLimit: "q";r="50"`}, nil, []Rule{RLR}},
		{"t an epoch", []string{`RateLimit: "q";r=1;t=1795176060`},
			[]Quota{at(num(named("q", 0), -1, 1), EpochS, time.Second, minute)}, []Rule{RLT}},
		{"t longer than w", []string{`RateLimit: "q";r=1;t=61`, `RateLimit-Policy: "q";q=5;w=60`},
			[]Quota{in(num(named("q", minute), 5, 1), 61*time.Second)}, []Rule{RLTLeW}},
		{"t as long as w", []string{`RateLimit: "q";r=1;t=60`, `RateLimit-Policy: "q";q=5;w=60`},
			[]Quota{in(num(named("q", minute), 5, 1), minute)}, nil},
		{"r more than q", []string{`RateLimit: "q";r=6`, `RateLimit-Policy: "q";q=5;w=60`},
			[]Quota{num(named("q", minute), 5, 6)}, []Rule{RLRLeQ}},
		{"r as much as q", []string{`RateLimit: "q";r=5`, `RateLimit-Policy: "q";q=5;w=60`},
			[]Quota{num(named("q", minute), 5, 5)}, nil},
		{"names that do not meet", []string{`RateLimit: "a";r=6`, `RateLimit-Policy: "b";q=5`},
			[]Quota{num(named("a", 0), -1, 6), num(named("b", 0), 5, -1)}, []Rule{RLName}},
		{"q missing", []string{`RateLimit-Policy: "q";w=60`}, nil, []Rule{RPQ}},
		{"w zero", []string{`RateLimit-Policy: "q";q=1;w=0`}, []Quota{num(named("q", 0), 1, -1)},
			[]Rule{RPW}},
		{"qu a token", []string{`RateLimit-Policy: "q";q=1;qu=requests`}, []Quota{num(named("q", 0), 1, -1)},
			[]Rule{RPQU}},
		{"pk a string", []string{`RateLimit-Policy: "q";q=1;pk="x"`}, []Quota{num(named("q", 0), 1, -1)},
			[]Rule{RPPK}},
		{"a broken list", []string{`RateLimit: "q;r=1`}, nil, []Rule{SFParse}},
		{"16 digits", []string{`RateLimit: "q";r=1234567890123456`}, nil, []Rule{SFParse}},
		{"a name with an upper-case key", []string{`RateLimit: "q";R=1`}, nil, []Rule{SFParse}},
		{"an empty list", []string{"RateLimit: ", "RateLimit-Policy: "}, nil, []Rule{SFNonEmpty, SFNonEmpty}},
		{"an inner list", []string{`RateLimit: ("q");r=1`}, nil, []Rule{RPName}},

		{"all dialects at once, in order",
			[]string{"X-RateLimit-Limit: 9", "RateLimit-Limit: 8", "RateLimit-Reset: 1",
				`RateLimit: "q";r=7`},
			[]Quota{num(x, 9, -1), in(num(three, 8, -1), time.Second), num(named("q", 0), -1, 7)}, nil},
	} {
		got, problems := Quotas(header(test.lines...), noon)
		if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: quotas (-want +got):\n%s", test.name, diff)
		}
		var rules []Rule
		for _, p := range problems {
			rules = append(rules, p.Rule)
		}
		slices.Sort(rules)
		slices.Sort(test.rules)
		if !slices.Equal(rules, test.rules) {
			t.Errorf("%s: got rules %v, want %v: %v", test.name, rules, test.rules, problems)
		}
	}
}

func TestQuotasWithoutDate(t *testing.T) {
	got, _ := Quotas(header("X-RateLimit-Reset: 1795176060"), time.Time{})
	if len(got) != 1 || got[0].HasReset || !got[0].ResetAt.Equal(noon.Add(time.Minute)) {
		t.Errorf("an epoch without a Date: got %+v, want an instant and no wait", got)
	}
	got, _ = Quotas(header("X-RateLimit-Reset: 60"), time.Time{})
	if len(got) != 1 || !got[0].HasReset || got[0].Reset != time.Minute {
		t.Errorf("a delta without a Date: got %+v, want one minute", got)
	}
}

func TestQuotasSayWhatIsWrong(t *testing.T) {
	_, problems := Quotas(header("X-RateLimit-Limit: 5", "X-RateLimit-Remaining: -1"), noon)
	const want = `X-RateLimit-Remaining: "-1": the remaining quota may not be negative (send "0")`
	if len(problems) != 1 || problems[0].Error() != want {
		t.Errorf("got %v, want %s", problems, want)
	}
}

func TestAnnouncedReset(t *testing.T) {
	const date = "Date: Fri, 20 Nov 2026 12:00:00 GMT"
	received := noon.Add(300 * time.Millisecond)
	for _, test := range []struct {
		name       string
		lines      []string
		wait, unit time.Duration
		ok         bool
	}{
		{"nothing", []string{date}, 0, 0, false},
		{"RateLimit t", []string{date, `RateLimit: "q";r=1;t=30`}, 30 * time.Second, time.Second, true},
		{"the policy with the least remaining", []string{`RateLimit: "a";r=5;t=1, "b";r=0;t=30, "c";r=3;t=9`},
			30 * time.Second, time.Second, true},
		{"RateLimit before RateLimit-Reset",
			[]string{`RateLimit: "q";r=1;t=30`, "RateLimit-Limit: 9", "RateLimit-Reset: 40"},
			30 * time.Second, time.Second, true},
		{"RateLimit-Reset before X-RateLimit-Reset", []string{"X-RateLimit-Reset: 50", "RateLimit-Reset: 40"},
			40 * time.Second, time.Second, true},
		{"a finer one first", []string{date, "X-RateLimit-Reset: 1795176010250", "RateLimit-Reset: 40"},
			9950 * time.Millisecond, time.Millisecond, true},
		{"Retry-After last", []string{"Retry-After: 7", "X-RateLimit-Reset: 50"}, 50 * time.Second,
			time.Second, true},
		{"Retry-After alone", []string{"Retry-After: 7"}, 7 * time.Second, time.Second, true},
		{"Retry-After as a date", []string{date, "Retry-After: Fri, 20 Nov 2026 12:00:07 GMT"},
			6700 * time.Millisecond, time.Second, true},
		{"Retry-After in the past", []string{date, "Retry-After: Fri, 20 Nov 2026 11:59:59 GMT"}, 0, 0,
			false},
		{"Retry-After that cannot be read", []string{date, "Retry-After: 1.5"}, 0, 0, false},
		{"an epoch on our clock", []string{date, "X-RateLimit-Reset: 1795176010"}, 9700 * time.Millisecond,
			time.Second, true},
		{"an epoch without a Date", []string{"X-RateLimit-Reset: 1795176010"}, 9700 * time.Millisecond,
			time.Second, true},
		{"an epoch on a clock an hour ahead",
			[]string{"Date: Fri, 20 Nov 2026 13:00:00 GMT", "X-RateLimit-Reset: 1795179610"},
			9500 * time.Millisecond, 1500 * time.Millisecond, true},
		{"an epoch on a clock an hour behind",
			[]string{"Date: Fri, 20 Nov 2026 11:00:00 GMT", "X-RateLimit-Reset: 1795172410"},
			9500 * time.Millisecond, 1500 * time.Millisecond, true},
		{"Retry-After on a clock an hour behind",
			[]string{"Date: Fri, 20 Nov 2026 11:00:00 GMT", "Retry-After: Fri, 20 Nov 2026 11:00:10 GMT"},
			9500 * time.Millisecond, 1500 * time.Millisecond, true},
		{"an epoch just past", []string{date, "X-RateLimit-Reset: 1795176000"}, 0, time.Second, true},
		{"an epoch long past", []string{date, "X-RateLimit-Reset: 1795175999"}, 0, 0, false},
	} {
		wait, unit, ok := AnnouncedReset(header(test.lines...), received)
		if wait != test.wait || unit != test.unit || ok != test.ok {
			t.Errorf("%s: got %v, %v, %v, want %v, %v, %v", test.name, wait, unit, ok, test.wait, test.unit,
				test.ok)
		}
	}
}

func TestEveryRuleTellsItsSource(t *testing.T) {
	for _, rule := range []Rule{RASyntax, RAIMF, RASingle, DateSyntax, SFParse, SFNonEmpty, RPName, RPQ, RPQU,
		RPW, RPPK, RLR, RLT, RLName, RLRLeQ, RLTLeW, R3Limit, R3Remaining, R3Range, R3Delta, R3Required, R307,
		XRSet, XRReset, XRRange, STNoStore, PDType, PDStatus} {
		if _, ok := rule.About(); !ok {
			t.Errorf("%s: it has no entry", rule)
		}
	}
	for _, rule := range Rules() {
		a, _ := rule.About()
		if !slices.Contains([]Level{Must, Should, Convention}, a.Level) || a.Text == "" || a.Source == "" {
			t.Errorf("%s: got %+v, want a text, a source and a level", rule, a)
		}
	}
	if _, ok := Rule("XX").About(); ok || Rule("XX").Level() != Convention {
		t.Error("an unknown rule: got an entry, want none")
	}
	if a, ok := RASyntax.About(); !ok || a.Level != Must {
		t.Errorf("RA-SYNTAX: got %+v, want a must", a)
	}
}

func FuzzQuotas(f *testing.F) {
	f.Add(`"default";r=50;t=30`, `"default";q=100;w=60`, "100, 100;w=60", "50", "1795168358.408937")
	f.Add("limit=100, remaining=50, reset=5", "100;w=60", "many", "-1", "Fri, 20 Nov 2026 09:55:29 UTC")
	f.Add(`("a" "b");r=1`, `"x";q=-1;w=0;pk=:x:`, "9223372036854775808", "1e9", "-99999999999999999999")
	f.Add("", "", "0", "0", "6m0s")
	f.Fuzz(func(t *testing.T, state, policy, limit, remaining, reset string) {
		for _, prefix := range []string{"X-RateLimit-", "RateLimit-"} {
			get := header("RateLimit: "+state, "RateLimit-Policy: "+policy, prefix+"Limit: "+limit,
				prefix+"Remaining: "+remaining, prefix+"Reset: "+reset)
			quotas, problems := Quotas(get, noon)
			for _, q := range quotas {
				if q.Limit < 0 || q.Remaining < 0 || q.Window < 0 || q.Form == Delta && q.Reset < 0 ||
					(q.Form == "") != (q.Unit == 0) {
					t.Fatalf("got %+v, want no negative number", q)
				}
				if q.HasReset && !q.Form.Relative() && q.ResetAt.IsZero() {
					t.Fatalf("got %+v, want an instant with an absolute form", q)
				}
			}
			for _, p := range problems {
				if _, ok := p.Rule.About(); !ok || p.Field == "" || p.Why == "" {
					t.Fatalf("got %+v, want a known rule, a field and a reason", p)
				}
				if strings.ContainsFunc(p.Error(), func(r rune) bool { return r < ' ' || r > '~' }) {
					t.Fatalf("got text %q, want printable ASCII only", p.Error())
				}
			}
			if wait, unit, ok := AnnouncedReset(get, noon); wait < 0 || ok != (unit > 0) {
				t.Fatalf("got %v, %v, %v", wait, unit, ok)
			}
		}
	})
}
