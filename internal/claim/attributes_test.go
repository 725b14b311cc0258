package claim

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// pair is what each of the two sides of a phase was answered: a for admitted, d for denied, n for not found,
// u for no answer. The end of an answer was not read, but w is one that was whole at once, and s one that was
// whole a little later. After a bar a side goes on 10 ms later.
type pair struct {
	attribute    timeline.Attribute
	plain, other string
	sharing      Sharing
	moot         string
}

// recordingOf makes a recording of rows, and what is expected of them. The requests of a row are sent at
// once.
func recordingOf(rows ...pair) (*timeline.Timeline, Expect) {
	tl, e := &timeline.Timeline{}, Expect{}
	for i, x := range rows {
		at := time.Duration(i) * time.Second
		phase := fmt.Sprint("p", i)
		add := func(partition, answers string) {
			at := at
			for _, c := range answers {
				if c == '|' {
					at += 10 * time.Millisecond
					continue
				}
				o := timeline.Observation{Arrival: timeline.Arrival{Seq: len(tl.Observations), Phase: phase,
					Partition: partition, At: at, Cost: 1}, Sent: at, FirstByte: at + time.Millisecond,
					Answered: true}
				switch c {
				case 'a', 'w', 's':
					o.Status, o.Outcome = 200, timeline.Allowed
					o.Done = map[rune]time.Duration{'w': o.FirstByte,
						's': o.FirstByte + 20*time.Millisecond}[c]
				case 'd':
					o.Status, o.Outcome = 429, timeline.Denied
				case 'u':
					o.Answered, o.Outcome = false, timeline.Unknown
				default:
					o.Status, o.Outcome = 404, timeline.Unknown
				}
				tl.Observations = append(tl.Observations, o)
			}
		}
		add(phase, x.plain)
		add(timeline.OtherSide(phase), x.other)
		e.Attributes = append(e.Attributes, AttributeExpect{Phase: phase, Attribute: x.attribute,
			Sharing: x.sharing, Moot: x.moot})
	}
	return tl, e
}

// TestAttributesAreToldOnlyWhereTheOppositeIsRefuted tries that under a burst of 4.
func TestAttributesAreToldOnlyWhereTheOppositeIsRefuted(t *testing.T) {
	held := pair{attribute: timeline.Nothing, plain: "aaddd", other: "aaddd", sharing: OneQuota}
	for _, tt := range []struct {
		name     string
		row      pair
		control  pair
		observed string
		want     result.Verdict
		text     string
	}{
		{"one quota", pair{timeline.Accept, "aaadd", "adddd", OneQuota, ""}, held, "shared",
			result.Pass, ""},
		{"two quotas", pair{timeline.Accept, "aaaad", "aaaad", OneQuota, ""}, held, "separate", result.Fail,
			"accept: requests of one client with Accept: text/html, */* in place of its own do not share"},
		{"two quotas, by what others lack", pair{timeline.Cookie, "aaaad", "aaaad", OneQuota, ""}, held,
			"separate", result.Fail, "client with Cookie: rlcheck=1 do not share"},
		{"no limit for the other side", pair{timeline.MethodHead, "aaaad", "aaaaaa", OneQuota, ""}, held,
			"unlimited", result.Fail, "head:"},
		{"two, and declared", pair{timeline.HostName, "aaaad", "aaaad", TwoQuotas, ""}, held, "separate",
			result.Pass, ""},
		{"one, and two declared", pair{timeline.HostName, "aaadd", "adddd", TwoQuotas, ""}, held, "shared",
			result.Fail, "are declared to have another"},
		{"two, and nobody cares", pair{timeline.KeyCase, "aaaad", "aaaad", Either, ""}, held, "separate",
			result.Pass, ""},
		{"too few to tell", pair{timeline.Accept, "aa", "aa", OneQuota, ""}, held, "not shown",
			result.Inconclusive, "one quota explains it, and two quotas do"},
		{"found nowhere", pair{timeline.PathCase, "aaaad", "nnnnn", OneQuota, ""}, held, "not shown",
			result.Inconclusive, ""},
		{"found nowhere, and counted", pair{timeline.PathCase, "aaddd", "nnddd", OneQuota, ""}, held,
			"shared", result.Pass, ""},
		{"nothing to vary", pair{timeline.PathCase, "aaaad", "aaaad", OneQuota, "no letters"}, held,
			"not shown", result.Inconclusive, ""},
		{"a limit that is larger than declared", pair{timeline.Accept, "aaaad", "aaaad", OneQuota, ""},
			pair{timeline.Nothing, "aaaad", "aaddd", OneQuota, ""}, "not shown", result.Inconclusive,
			"nothing was learned about 2 attributes: even requests that do not differ are not seen to share"},
		{"a quota a connection", pair{timeline.Connection, "aaaad", "aaaad", OneQuota, ""},
			pair{timeline.OneConnection, "aaaad", "", OneQuota, ""}, "separate", result.Fail, "connection:"},
		{"a larger quota on each connection", pair{timeline.Connection, "aaaad", "aaaad", OneQuota, ""},
			pair{timeline.OneConnection, "aaaaaaaad", "", OneQuota, ""}, "not shown", result.Inconclusive,
			"its plain requests alone do not keep the limit"},
		{"connections that are not denied", pair{timeline.Connection, "aa", "aa", OneQuota, ""}, held,
			"not shown", result.Inconclusive, ""},
		{"a connection that is not denied", pair{timeline.OneConnection, "aaaa", "", OneQuota, ""}, held,
			"not shown", result.Inconclusive, ""},
		{"a connection without a limit", pair{timeline.OneConnection, "aaaaaaaa", "", OneQuota, ""}, held,
			"not shown", result.Inconclusive, "its plain requests alone do not keep the limit"},
		{"neither one nor two", pair{timeline.Accept, "ddddd", "ddddd", OneQuota, ""}, held, "not shown",
			result.Inconclusive, "neither one quota nor two explain it"},
		{"a cost that is charged once", pair{timeline.NegativeCost, "aaddd", "aaddd", OneQuota, ""}, held,
			"shared", result.Pass, ""},
		{"a cost that takes all", pair{timeline.HugeCost, "aaddd", "adddd", OneQuota, ""}, held, "shared",
			result.Pass, ""},
		{"a cost that is denied", pair{timeline.HugeCost, "aaaad", "ddddd", OneQuota, ""}, held, "shared",
			result.Pass, ""},
		{"a cost that is refused", pair{timeline.WordCost, "aaaad", "nnnnn", OneQuota, ""}, held, "refused",
			result.Pass, ""},
		{"a cost of which one was charged", pair{timeline.NegativeCost, "aaadd", "auuuu", OneQuota, ""}, held,
			"shared", result.Pass, ""},
		{"a cost of which no request was answered", pair{timeline.NegativeCost, "aaaad", "uuuuu", OneQuota,
			""}, held, "not shown", result.Inconclusive, ""},
		{"a cost that is refused where nothing was denied", pair{timeline.WordCost, "aaaa", "nnnn", OneQuota,
			""}, held, "not shown", result.Inconclusive, ""},
		{"a cost that is refused where nothing is limited", pair{timeline.WordCost, "aaaad", "nnnnn",
			OneQuota, ""}, pair{timeline.Nothing, "aaaad", "aaaad", OneQuota, ""}, "not shown",
			result.Inconclusive, "nothing was learned"},
		{"clients that leave and are counted", pair{timeline.Leaves, "wwddd", "aa|ddd", OneQuota, ""}, held,
			"shared", result.Pass, ""},
		{"clients that leave and get it back", pair{timeline.Leaves, "wwddd", "aa|aad", OneQuota, ""}, held,
			"separate", result.Fail, "leaves: requests of one client with only the head of the answer"},
		{"what was given back is taken by plain requests", pair{timeline.Leaves, "ww|www", "aa|dd", OneQuota,
			""}, held, "separate", result.Fail, "leaves:"},
		{"clients that could not leave", pair{timeline.Leaves, "wwddd", "ww|ddd", OneQuota, ""}, held,
			"not shown", result.Inconclusive, "each answer was whole with its head"},
		{"clients that leave and do not come again", pair{timeline.Leaves, "ssddd", "aaddd", OneQuota, ""},
			held, "not shown", result.Inconclusive, "no request was sent after a client had left"},
		{"clients that would leave, and are denied", pair{timeline.Leaves, "ssss", "dd|ddd", OneQuota, ""},
			held, "not shown", result.Inconclusive, "no request was sent after a client had left"},
		{"clients that could not leave, and are denied", pair{timeline.Leaves, "wwww", "dd|ddd", OneQuota,
			""}, held, "not shown", result.Inconclusive, "each answer was whole with its head"},
		{"a cost that is free", pair{timeline.NegativeCost, "aaaad", "aaaaa", OneQuota, ""}, held,
			"unlimited", result.Fail, "negative-cost: requests of one client with X-Cost: -1 do not share"},
	} {
		tl, e := recordingOf(tt.control, tt.row)
		c := Judge(tl, parse(t, "token-bucket,rate=1/10s,burst=4"), e)[0]
		got := c.Compared[1]
		if got.Observed != tt.observed || c.Verdict != tt.want || !strings.Contains(c.Text, tt.text) {
			t.Errorf("%s: got %s, %s: %s (%s), want %s, %s: %s", tt.name, got.Observed, c.Verdict, c.Text,
				got.Detail, tt.observed, tt.want, tt.text)
		}
		if (len(c.Findings) > 0) != (tt.want == result.Fail) {
			t.Errorf("%s: got %d findings with %s", tt.name, len(c.Findings), tt.want)
		}
	}
}

// TestADenialAfterADenialIsOneQuotaToo: the first denial explains the next ones, but nothing explains the
// first.
func TestADenialAfterADenialIsOneQuotaToo(t *testing.T) {
	for _, limit := range []string{"token-bucket,rate=1/10s,burst=4,ban=2s",
		"token-bucket,rate=4/40s,burst=4,refill=interval,fill=4", "sliding-window-log,rate=4/40s,count=all"} {
		tl, e := recordingOf(pair{timeline.Accept, "aaddd", "aaddd", OneQuota, ""})
		c := Judge(tl, parse(t, limit), e)[0]
		if c.Verdict != result.Pass || c.Compared[0].Observed != string(OneQuota) {
			t.Errorf("%s: got %s, %s", limit, c.Verdict, c.Text)
		}
	}
}

// TestSharedIsNotToldWhereOthersMayDraw: a denial that requests of others may explain shows nothing.
func TestSharedIsNotToldWhereOthersMayDraw(t *testing.T) {
	tl, e := recordingOf(pair{timeline.Accept, "aaadd", "adddd", OneQuota, ""})
	e.Shared = true
	c := Judge(tl, parse(t, "token-bucket,rate=1/10s,burst=4"), e)[0]
	if c.Compared[0].Observed != "not shown" {
		t.Errorf("got %+v, want nothing shown", c.Compared[0])
	}
}

// TestTheReasonIsOfWhatIsOpen: several attributes are not shown. The reason is that of one that must be.
func TestTheReasonIsOfWhatIsOpen(t *testing.T) {
	tl, e := recordingOf(pair{attribute: timeline.Nothing, plain: "aaddd", other: "aaddd", sharing: OneQuota},
		pair{timeline.PathCase, "a", "a", OneQuota, "the path / has no letters to write so"},
		pair{timeline.Accept, "aa", "aa", OneQuota, ""})
	c := Judge(tl, parse(t, "token-bucket,rate=1/10s,burst=4"), e)[0]
	const want = "are not shown: accept, path-case (2 and 2 of 4 admitted: one quota explains it, and " +
		"two quotas do)"
	if !strings.Contains(c.Text, want) {
		t.Errorf("got %q, want %q", c.Text, want)
	}
}
