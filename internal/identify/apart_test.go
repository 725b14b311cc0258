package identify

import (
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// asking is a Sender that can ask as other clients. It sends nothing.
type asking struct {
	ClientsAsker
}

func (asking) Now() time.Duration      { return 0 }
func (asking) Wait() time.Duration     { return 0 }
func (asking) Header() timeline.Header { return timeline.Header{} }
func (asking) Ways() []Way             { return make([]Way, 3) }

// TestRequestsAreKeptForClients: once a request was denied, a quarter is kept to find out what tells clients
// apart. That must be wanted, the sender must be able to, and a round must fit the time. It used to be kept
// where no round fitted. On a steady path it is kept once one quota is left.
func TestRequestsAreKeptForClients(t *testing.T) {
	denied := timeline.Observation{Answered: true, Outcome: timeline.Denied}
	admitted := timeline.Observation{Answered: true, Outcome: timeline.Allowed}
	const log, counter = "sliding-window-log,rate=5/1m", "sliding-window-counter,rate=5/1m,align=first"
	for name, x := range map[string]struct {
		sender Sender
		alike  bool
		seen   timeline.Observation
		used   int // requests that used up the quota
		left   string
		time   time.Duration
		want   int
	}{
		"asked":                    {asking{}, false, denied, 88, log, 63 * time.Second, 211},
		"a quarter is too few":     {asking{}, false, denied, 89, log, 63 * time.Second, 310},
		"nothing was denied":       {asking{}, false, admitted, 0, log, 63 * time.Second, 399},
		"not asked":                {asking{}, true, denied, 0, log, 63 * time.Second, 399},
		"a sender that cannot ask": {&bubbled{}, false, denied, 0, log, 63 * time.Second, 399},
	} {
		left := known(parsed(t, x.left)[0])
		s := &search{wire: wire{s: x.sender, pace: pace{every: 20 * ms},
			o:  Options{Budget: Budget{MaxRequests: 400, MaxTime: x.time}, Alike: x.alike},
			tl: &timeline.Timeline{Observations: []timeline.Observation{x.seen}}},
			regions: []*Region{left}}
		for range x.used {
			o := timeline.Observation{}
			o.Phase = quotaPhase
			s.tl.Observations = append(s.tl.Observations, o)
		}
		if got := s.spare(); got != x.want {
			t.Errorf("%s: got %d requests for the name, want %d", name, got, x.want)
		}
	}
}

// TestTheQuotaOfOtherClients: the regions that are left tell how many requests use up the quota, and how long
// it takes to come back.
func TestTheQuotaOfOtherClients(t *testing.T) {
	at := func(text string) *Region { return known(parsed(t, text)[0]) }
	wide := at("sliding-window-log,rate=5/2s")
	wide.Live[0].Q1 = 4
	for name, tt := range map[string]struct {
		left  []*Region
		aside *Candidate
		want  Limit
	}{
		"nothing is left": {nil, nil, Limit{Unfit: "no limit is known"}},
		"a log": {[]*Region{at("sliding-window-log,rate=5/2s")}, nil,
			Limit{Quota: 5, Spends: 8, Recovery: 2100 * time.Millisecond}},
		"a counter remembers two windows": {
			[]*Region{at("sliding-window-counter,rate=5/2s,align=first")}, nil,
			Limit{Quota: 5, Spends: 8, Recovery: 4200 * time.Millisecond}},
		"a bucket refills meanwhile": {[]*Region{at("token-bucket,rate=10/s,burst=20")}, nil,
			Limit{Quota: 20, Spends: 28, Recovery: 2100 * time.Millisecond}}, // a unit in 5 requests
		"a quota that is not known": {[]*Region{wide}, nil, Limit{Quota: 5, Spends: 8,
			Recovery: 2100 * time.Millisecond, Unfit: "the quota is not known: 4 to 5"}},
		"a queue": {nil, &Candidate{}, Limit{Unfit: "answers wait in a queue"}},
	} {
		x := &search{wire: wire{pace: pace{every: 20 * ms}, tl: &timeline.Timeline{}}, regions: tt.left,
			line: tt.aside}
		got := x.quota()
		if got.Explains = nil; got.Unfit != tt.want.Unfit || got.Quota != tt.want.Quota ||
			got.Spends != tt.want.Spends || got.Recovery != tt.want.Recovery {
			t.Errorf("%s: got %+v, want %+v", name, got, tt.want)
		}
	}
}

// TestWhatIsLeftExplainsAClient: unless it was admitted more often than any limit that is left allows, or was
// denied too early.
func TestWhatIsLeftExplainsAClient(t *testing.T) {
	x := &search{regions: []*Region{known(parsed(t, "sliding-window-log,rate=2/2s")[0])}}
	record := func(outcomes ...timeline.Outcome) *timeline.Timeline {
		tl := &timeline.Timeline{}
		for i, o := range outcomes {
			at := time.Duration(i) * time.Millisecond
			seen := timeline.Observation{Sent: at, FirstByte: at, Done: at, Answered: true, Outcome: o}
			seen.At, seen.Cost = at, 1
			tl.Observations = append(tl.Observations, seen)
		}
		tl.Header.Ended = tl.End()
		return tl
	}
	const a, d = timeline.Allowed, timeline.Denied
	for _, tt := range []struct {
		tl   *timeline.Timeline
		side result.Conformance
		want bool
	}{
		{record(a, a, d), result.UpperBound, true},
		{record(a, a, a), result.UpperBound, false},
		{record(a, a, d), result.LowerBound, true},
		{record(a, d, d), result.LowerBound, false},
	} {
		if got := x.explainsClient(tt.tl, tt.side); got != tt.want {
			t.Errorf("%v by its %s: explained is %t, want %t", tt.tl.Observations, tt.side, got, tt.want)
		}
	}
}
