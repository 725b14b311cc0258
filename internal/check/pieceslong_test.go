package check

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check/judge"
	"github.com/rlcheck/rlcheck/internal/check/limiter"
	"github.com/rlcheck/rlcheck/internal/check/pieces"
	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/timeline"
	"github.com/rlcheck/rlcheck/internal/verdict"
)

// heldSpecs are limits whose partitions were held whole before they could be judged in pieces. Each has the
// SPEC of the limiter, and the SPEC that is declared, "" if it is the same.
var heldSpecs = [][2]string{
	{"token-bucket,rate=1000/s,burst=100", "token-bucket,rate=900..1100/s,burst=90..110"},
	{"token-bucket,rate=1000/s,burst=100,ban=20ms", ""},
	{"token-bucket,rate=1000/s,burst=100,ttl=50ms", ""},
	{"token-bucket,rate=1000/s,burst=100,count=all", ""},
	{"sliding-window-log,rate=1000/s,count=all", ""},
	{"fixed-window,rate=1000/s,phase=300ms", "fixed-window,rate=1000/s,align=unknown"},
	{"sliding-window-counter,rate=1000/s,phase=300ms", "sliding-window-counter,rate=1000/s,align=unknown"},
	{"fixed-window,rate=1000/s,phase=300ms", "fixed-window,rate=1000/s,phase=250ms..350ms"},
	{"token-bucket,rate=1000/s,burst=100 + fixed-window,rate=900/s,phase=300ms", ""},
	{"token-bucket,rate=1000/s,burst=100 + fixed-window,rate=900/s,phase=300ms",
		"token-bucket,rate=1000/s,burst=100 + fixed-window,rate=900/s,align=unknown"},
	{"concurrency,limit=10,hold=2ms..50ms", ""},
	{"sliding-window-log,rate=1000/s,charge=completion,hold=2ms..50ms", ""},
	{"fixed-window,rate=500/300ms,align=first,count=all", ""},
	{"fixed-window,rate=250/300ms,align=first", "fixed-window,rate=200..300/300ms,align=first"},
	{"fixed-window,rate=250/300ms,align=first,ban=20ms", ""},
	{"fixed-window,rate=250/300ms,align=first,ttl=100ms", ""},
	{"fixed-window,rate=250/300ms,align=first,ttl=400ms", ""}, // a time to live that changes nothing
	{"fixed-window,rate=250/300ms,align=first + token-bucket,rate=900/s,burst=100", ""},
	{"fixed-window,rate=150/200ms,align=first,count=own + token-bucket,rate=600/s,burst=50", ""},
	{"fixed-window,rate=250/100ms,align=first,refresh=admitted", ""},
	{"sliding-window-counter,rate=250/300ms,align=first", ""},
	{"sliding-window-counter,rate=500/300ms,align=first,count=all", ""},
	{"sliding-window-counter,rate=250/300ms,align=first,ban=20ms", ""},
	{"fixed-window,rate=250/100ms,align=first,refresh=all", ""},
	{"fixed-window,rate=250/100ms,align=first,refresh=admitted,count=all", ""},
	{"token-bucket,rate=1000/s,burst=100,start=empty", ""}, // its level is not handed on
}

// servedLong records what a right limiter answers to n requests, half a millisecond apart on average. Each is
// answered within 4 ms, later only if it must wait. After each `quiet` requests there is a silence.
func servedLong(t testing.TB, r *rand.Rand, text string, n, quiet int) []timeline.Observation {
	t.Helper()
	limit, err := spec.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	lim, err := reference.NewLimit(limit)
	if err != nil {
		t.Fatal(err)
	}
	out, decided := make([]timeline.Observation, n), make([]time.Duration, n)
	order := make([]int, n)
	var at time.Duration
	for i := range out {
		if at += time.Duration(1 + r.IntN(1_000_000)); i%quiet == quiet-1 {
			at += 1500 * time.Millisecond
		}
		took := time.Duration(r.IntN(4_000_000))
		out[i] = timeline.Observation{Arrival: timeline.Arrival{Seq: i, At: at, Cost: 1}, Sent: at,
			FirstByte: at + took, Answered: true}
		decided[i], order[i] = at+time.Duration(r.Int64N(int64(took)+1)), i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(decided[a], decided[b]) })
	state, held := lim.Init(), []stayed{}
	for _, i := range order {
		state, held = completeUntil(lim, state, held, decided[i])
		var d reference.Decision
		state, d = lim.Step(state, decided[i], 1)
		o := &out[i]
		if o.Outcome = timeline.Denied; d.Allow {
			o.Outcome, o.FirstByte = timeline.Allowed, max(o.FirstByte, decided[i]+d.Delay)
		}
		if d.Allow && limit.Completes() {
			done := completed(r, limit, decided[i], 1)
			held = append(held, done)
			o.Done = max(o.FirstByte, done.seen)
		}
	}
	return out
}

// TestPiecesOfLongRecordings judges recordings as dense as real ones, in pieces of about a thousand
// observations or more and on the whole. Some are right, others have a few outcomes turned in the middle.
func TestPiecesOfLongRecordings(t *testing.T) {
	rounds, _ := soakRounds(t, 1, 24)
	for i, text := range heldSpecs {
		if testing.Short() && i%8 != 1 { // a few kinds of them
			continue
		}
		t.Run(cmp.Or(text[1], text[0]), func(t *testing.T) {
			t.Parallel()
			limit, err := spec.Parse(cmp.Or(text[1], text[0]))
			if err != nil {
				t.Fatal(err)
			}
			o, caps := judge.Options{SkipMeasure: true}, pieces.Caps{Piece: 1 << 10}
			if slices.ContainsFunc(limit, limiter.Ranged) { // longer pieces tell rates apart
				caps.Piece = 1 << 12
			}
			both, missed, more := 0, "", 0
			for round := range rounds {
				r := rand.New(rand.NewPCG(soakSeed+12, uint64(round)))
				tl := &timeline.Timeline{Observations: servedLong(t, r, text[0], 5000, 2000+r.IntN(2500))}
				if j := streamed(t, tl, limit, o, caps); j.Verdict != verdict.Pass {
					t.Fatalf("round %d: got %s for a right limiter: %+v", round, kindsOf(j), j.Partitions)
				}
				for _, turn := range []int{1, 8} {
					wrong := turned(r, tl, turn)
					got, whole := streamed(t, wrong, limit, o, caps), byBounds(wrong, limit, o)
					switch {
					case got.Verdict == verdict.Fail && whole.Verdict == verdict.Fail:
						both++
					case got.Verdict == verdict.Fail:
						more++
					case whole.Verdict == verdict.Fail:
						missed += fmt.Sprintf("; round %d, %d turned: %s", round, turn,
							string(whole.Partitions[0].Findings[0].Kind))
					}
				}
			}
			t.Logf("%s: %d of %d refuted by both, %d by the pieces alone%s", cmp.Or(text[1], text[0]), both,
				2*rounds, more, missed)
			swept := limit[0].Start != spec.StartEmpty &&
				(limiter.Lasting(limit)[0].TTL == 0 || !limiter.NeedsPlacement(limit[0]))
			if swept && missed != "" {
				t.Errorf("the pieces miss what the bounds find on the whole%s", missed)
			}
		})
	}
}

// turned returns a copy of a timeline with n outcomes turned. They are of one kind and follow each other from
// a random place on.
func turned(r *rand.Rand, tl *timeline.Timeline, n int) *timeline.Timeline {
	out := &timeline.Timeline{Header: tl.Header, Observations: slices.Clone(tl.Observations)}
	from, kind := 1000+r.IntN(len(out.Observations)-2000), timeline.Outcome(1+r.IntN(2))
	for i := from; i < len(out.Observations) && n > 0; i++ {
		o := &out.Observations[i]
		if o.Outcome != kind {
			continue
		}
		if o.Outcome = 3 - kind; o.Outcome == timeline.Allowed {
			o.Done = o.FirstByte + 10*time.Millisecond
		} else {
			o.Done = 0
		}
		n--
	}
	return out
}
