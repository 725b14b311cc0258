package identify

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Some queues are named by their delays, which tell more than what they admit: one with a rate that is not
// round, and one that passes some requests undelayed. More than these pass while the first requests leave.
func TestQueuesAreNamedByTheirDelays(t *testing.T) {
	for text, seed := range map[string]uint64{
		"leaky-bucket-queue,rate=17/900ms,queue=17":           285,
		"leaky-bucket-queue,rate=8/400ms,queue=8,undelayed=4": 272,
	} {
		limit, err := spec.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		res := Identify(t.Context(), simulate(t, limit, seed), budget(limit))
		if res.Verdict != Identified {
			t.Errorf("%s: got %s, want it named", text, res.Summary())
			continue
		}
		right(t, limit, res)
		if got := res.Found[0].Limit[0].Undelayed; got != limit[0].Undelayed {
			t.Errorf("%s: got %d that do not wait", text, got)
		}
	}
}

// TestAQueueHasTheMiddleOfWhatIsLeft: the first time that the delays did not refute was 3 % off.
func TestAQueueHasTheMiddleOfWhatIsLeft(t *testing.T) {
	limit := parsed(t, "leaky-bucket-queue,rate=2/19s,queue=2")
	s := simulate(t, limit, 21)
	s.trip, s.jitter, s.lost = 80*time.Millisecond, 40*time.Millisecond, 0.05
	res := Identify(t.Context(), s, budget(limit))
	if res.Verdict != Identified {
		t.Fatalf("got %s, want it named", res.Summary())
	}
	right(t, limit, res)
}

// working is a target whose requests take a while after they are admitted.
type working struct{ *simulated }

func (s working) Send(ctx context.Context, p Phase) ([]timeline.Observation, error) {
	all, err := s.simulated.Send(ctx, p)
	for i := range all {
		if all[i].Outcome == timeline.Allowed {
			all[i].FirstByte += 90 * time.Millisecond
		}
	}
	return all, err
}

// Nothing waits in a queue without a place: one request at a time that takes a while is no queue.
func TestOneAtATimeIsNoQueue(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	limit := parsed(t, "leaky-bucket,rate=5/s,burst=1")
	o := budget(limit)
	o.MaxRequests = 40 // more would be spent on kinds that take long
	res := Identify(t.Context(), working{simulate(t, limit, 1)}, o)
	if len(res.Found) == 0 || res.Found[0].Limit[0].Queued() {
		t.Errorf("got %s, want %s", res.Summary(), limit)
	}
}

// hurried is a target on a busy machine. At first one phase in eight is disturbed, later one in two: requests
// come up to 150 ms late.
type hurried struct{ *simulated }

func (s hurried) Send(ctx context.Context, p Phase) ([]timeline.Observation, error) {
	often := 8
	if s.now > 10*time.Second {
		often = 2
	}
	if s.jitter = time.Millisecond; s.random.IntN(often) == 0 {
		s.jitter = 150 * time.Millisecond
	}
	return s.simulated.Send(ctx, p)
}

// TestAQueueOnABusyMachineIsAmongWhatIsLeft: the slowest denial so far refuted the queue of nginx, as later
// requests were decided later than that.
func TestAQueueOnABusyMachineIsAmongWhatIsLeft(t *testing.T) {
	limit := parsed(t, "leaky-bucket-queue,rate=5/2s,queue=4")
	seeds := []uint64{3, 6}
	if os.Getenv("RLCHECK_SOAK") != "" {
		seeds = []uint64{0, 1, 2, 3, 4, 5, 6, 7}
	}
	for _, seed := range seeds {
		res := Identify(t.Context(), hurried{simulate(t, limit, seed)}, usualBudget())
		t.Logf("seed %d: %s: %s", seed, res.Summary(), res.Stopped)
		if res.Verdict == Identified {
			right(t, limit, res)
		}
		if !slices.ContainsFunc(res.Found, func(c Candidate) bool {
			return c.Limit[0].Queued() && c.Measured.Burst.Lo <= 5 && c.Measured.Burst.Hi >= 5 &&
				c.Measured.Rate.Lo <= 2.5 && c.Measured.Rate.Hi >= 2.5
		}) {
			t.Errorf("seed %d: got %s, want the queue among what is left", seed, res.Summary())
		}
	}
}

// TestOnePlaceTooFewIsNoOtherQueue: a request came just when a place was free in a queue whose rate is known
// to 0.1 %. It seemed to be denied, and all requests behind it seemed to wait too short. So no queue was
// found (seed 193).
func TestOnePlaceTooFewIsNoOtherQueue(t *testing.T) {
	truth := parsed(t, "leaky-bucket-queue,rate=24/13s,queue=24,undelayed=12")
	x := &search{wire: wire{o: usualBudget(), s: simulate(t, truth, 193), tl: &timeline.Timeline{}}}
	for _, p := range []Phase{{Requests: 1}, {Rest: 20 * time.Millisecond, Requests: 28,
		Every: 20 * time.Millisecond}, {Rest: 6 * time.Second, Requests: 18, Every: 20 * time.Millisecond}} {
		x.waits, x.crowd = true, true
		x.send(t.Context(), p)
	}
	for _, rate := range []string{"24/13s", "24/13010ms"} {
		near := parsed(t, "leaky-bucket-queue,rate="+rate+",queue=24,undelayed=12")
		if n := unexplained(near[0], x.tl); n > 5 {
			t.Errorf("%s: got %v of the waits unexplained", rate, n)
		}
	}
}

// serial is a target to which each request is sent after the previous answer, unless the phase is crowded. An
// Endpoint sends so.
type serial struct{ *simulated }

func (s serial) Send(ctx context.Context, p Phase) (all []timeline.Observation, err error) {
	if p.AtOnce > 1 {
		return s.simulated.Send(ctx, p)
	}
	one, admitted := p, 0
	for one.Requests = 1; !p.Over(admitted, len(all)-admitted); one.Rest = time.Microsecond {
		sent := s.now
		seen, _ := s.simulated.Send(ctx, one)
		if s.now = max(s.now, sent+one.Rest+p.Every); seen[0].Outcome == timeline.Allowed {
			admitted++
		}
		all = append(all, seen...)
	}
	return all, nil
}

// TestAQueueDeniesNoneThatComeOneByOne: 240 requests were spent on the quota of nginx's queue. Each waited
// 400 ms, and nothing was left of the budget.
func TestAQueueDeniesNoneThatComeOneByOne(t *testing.T) {
	for _, text := range []string{"leaky-bucket-queue,rate=5/2s,queue=4",
		"leaky-bucket-queue,rate=5/2s,queue=4,undelayed=2",
		"leaky-bucket-queue,rate=10/s,queue=40,undelayed=20"} {
		limit := parsed(t, text)
		res := Identify(t.Context(), serial{simulate(t, limit, 1)}, usualBudget())
		if res.Verdict != Identified || res.Sent() > 250 {
			t.Errorf("%s: got %s with %d requests, want it named with 250", text, res.Summary(), res.Sent())
			continue
		}
		right(t, limit, res)
	}
}

// TestAQueueWithAPlaceIsToldFromOneWithout: one in 18 ms denies some requests that come every 20 ms, if
// answers jitter. Nothing waits in it, but it stayed open beside a queue for 350 requests.
func TestAQueueWithAPlaceIsToldFromOneWithout(t *testing.T) {
	for _, text := range []string{"leaky-bucket-queue,rate=14/700ms,queue=14",
		"leaky-bucket-queue,rate=30/s,queue=10"} {
		for seed := range uint64(4) {
			limit := parsed(t, text)
			res := Identify(t.Context(), serial{simulate(t, limit, 330+seed)}, budget(limit))
			if res.Verdict != Identified || res.Sent() > 200 {
				t.Errorf("%s, seed %d: got %s with %d requests, want it named with 200", limit, seed,
					res.Summary(), res.Sent())
				continue
			}
			right(t, limit, res)
		}
	}
}

// TestASilenceIsNoAnswerThatWasLost: the first answers of a burst may come in another order than the requests
// were sent. The silence before them is then no multiple of the time between two answers.
func TestASilenceIsNoAnswerThatWasLost(t *testing.T) {
	tl, seq := &timeline.Timeline{}, 0
	admit := func(sent, after time.Duration) {
		o := timeline.Observation{Sent: sent, FirstByte: sent + after, Answered: true}
		o.Outcome, o.Seq, seq = timeline.Allowed, seq, seq+1
		tl.Observations = append(tl.Observations, o)
	}
	for burst := range time.Duration(3) {
		at := burst * 2522 * ms // half a unit more than fifty
		admit(at, 50*ms)        // the next one overtakes it
		admit(at, ms)
		for i := range time.Duration(10) {
			admit(at, (i+2)*50*ms)
		}
	}
	if unit, t1, t2 := spacing(tl); unit != 50*ms || t1 > 50*ms || t2 < 50*ms || t2-t1 > ms {
		t.Errorf("got %v in %v..%v, want 50ms", unit, t1, t2)
	}
}
