package trial

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/internal/claim"
	"github.com/rlcheck/rlcheck/internal/load"
	"github.com/rlcheck/rlcheck/internal/load/transport"
	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/scenario"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/timeline"
)

// Options are what a run needs in addition to its scenario.
type Options struct {
	// ID names the run. Fresh partitions begin with it, so each run against one target needs its own.
	ID string
	// Seed makes random choices repeatable.
	Seed uint64
	// Version is the version of rlcheck, sent in the User-Agent field.
	Version string
	// Allow names hosts that may be reached although their address is public.
	Allow []string
	// Socket is the Unix socket that the user named; a scenario may name no other.
	Socket string
	// Redis says where the embedded target keeps its state: the URL of a Redis, scenario.EmbeddedRedis, or
	// empty for memory.
	Redis string
	// Embed starts the target of a scenario that names the embedded one. It may be nil without such.
	Embed func(s *scenario.Scenario, seed uint64, n Network) (Embedded, error)
	// Progress is called while the load is sent; may be nil.
	Progress func(load.Progress)
	// Planned is called with the schedule before anything is sent; may be nil.
	Planned func(*timeline.Schedule)
	// Journal is called after Planned and returns the writer that stores the recording while it is made. It
	// may be nil or return nil: then nothing is written.
	Journal func() *timeline.JournalWriter
	// Recorded is called with the recording before the judge, which may take long. It may be nil and must not
	// change the recording. The judge may still widen the recording's WallError.
	Recorded func(*timeline.Timeline)
	// Judging is called after the recording and before the judge. It may wait. The function that it returns
	// is called after the judge. If it is nil, the judge starts at once.
	Judging func() (judged func())
	// Output receives the output of commands; nil discards it.
	Output io.Writer
	// Network is where the embedded target listens and requests are dialled; nil for TCP on loopback.
	Network Network
	// OnlyProofs stops at the first proof of a failure and measures nothing. What no claim and no bound
	// refutes is Inconclusive (too-few), as the exact search does not run.
	OnlyProofs bool
	// WallError is how far the target's clock may be from ours; 0: 1 ms on loopback and 500 ms elsewhere.
	WallError time.Duration
	// SameClock: the target reads our clock, which is neither off nor drifts.
	SameClock bool
	// TLS holds trusted authorities and the client certificate; nil: the system's, and none.
	TLS *tls.Config
	// Pacer paces the requests; nil for the precise one. Economical lets the precise pacer sleep instead of
	// spin.
	Pacer      transport.Pacer
	Economical bool
	// PastCaches sends requests that no cache can answer; they carry the ID (load.Options).
	PastCaches bool
	// Spill creates the files for a recording that is too long for memory; nil keeps all in memory.
	Spill func() (timeline.Spill, error)
	// Events do what commands would do to a target that is not embedded. A Count returns how many requests it
	// has denied.
	Events map[timeline.Action]func(timeline.Event) (denied int64, err error)
	// Fleet lets agents send the requests; nil sends them from this process.
	Fleet *Fleet
}

// Embedded is a target that was started for a scenario.
type Embedded interface {
	// URLs returns where requests go, and the server behind a proxy there; origin is empty without one.
	URLs() (target, origin string)
	// Do performs the action of an event.
	Do(timeline.Event) error
	// Denials returns how many requests were denied.
	Denials() int64
	// Close stops the target.
	Close() error
}

// Network lets tests put the embedded target and the generator on a network of their own.
type Network interface {
	// Listen serves h and returns its URL.
	Listen(h http.Handler) (url string, stop func() error, err error)
	// Dial connects to an address of this network.
	Dial(ctx context.Context, network, addr string) (net.Conn, error)
}

// Scenario runs one scenario and returns its result. There is no error: an unusable target or an interrupted
// recording is Inconclusive with a reason. Cancelling ctx stops the load; what was recorded is judged.
func Scenario(ctx context.Context, s *scenario.Scenario, o Options) result.Scenario {
	began := time.Now()
	out := describe(s, o)
	if why := s.Unmet(); why != "" {
		return inconclusive(out, result.NeedsFailed, why)
	}
	schedule, err := s.Plan(o.ID, o.Seed)
	if err != nil {
		return inconclusive(out, result.SetupFailed, err.Error())
	}
	if o.Planned != nil {
		o.Planned(RedactSchedule(schedule, s.Secrets))
	}
	ends, err := connect(s, o)
	if err != nil {
		return inconclusive(out, result.SetupFailed, err.Error())
	}
	defer ends.close()
	out.Target, out.Origin = RedactURL(ends.target.String()), ends.originText()
	opts, err := loadOptions(ctx, s, o, ends)
	if err != nil {
		return inconclusive(out, result.SetupFailed, err.Error())
	}
	opts.Keys = s.Issued(schedule)
	tl, is, err := record(ctx, s, o, ends, schedule, opts)
	if err != nil {
		return inconclusive(out, result.SetupFailed, err.Error())
	}
	if is.missing != "" {
		s = doubtful(s)
	}
	settle(tl, s, o, ends)
	out.Duration = time.Since(began)
	if o.Judging != nil {
		defer o.Judging()()
	}
	judge := Judge
	if o.OnlyProofs {
		judge = prove
	}
	judge(&out, s, tl)
	doubt(&out, s, tl, ends, judge)
	if err := ends.events.failed; err != nil && out.Verdict != result.Fail {
		return inconclusive(out, result.SetupFailed, err.Error())
	}
	return is.tell(out)
}

// record sends a schedule, from this process or with agents, and returns the recording.
func record(ctx context.Context, s *scenario.Scenario, o Options, ends *endpoints,
	schedule *timeline.Schedule, opts load.Options) (tl *timeline.Timeline, is fate, err error) {
	if o.Fleet != nil {
		return o.Fleet.record(ctx, s, o, schedule, opts)
	}
	opts.Journal = journal(s, o, ends)
	tl, err = load.Record(ctx, schedule, opts)
	return tl, is, err
}

// journal returns the writer that stores the recording while it is made, with the header as far as it is
// known; nil for none.
func journal(s *scenario.Scenario, o Options, ends *endpoints) *timeline.JournalWriter {
	if o.Journal == nil {
		return nil
	}
	j := o.Journal()
	if j == nil {
		return nil
	}
	j.DriftPPM, j.Judged = ends.driftPPM, terms(s, &timeline.Timeline{})
	// A cut recording may lack the outcome of requests that the same client sent in another partition.
	j.Judged.Shared = len(j.Judged.Limits) > 0
	j.Judged.SingleUnits = freeCosts(s)
	if usedBefore(s, o) {
		j.CompleteFrom = completeFrom
	}
	if ends.assumed { // a cut recording may not fail on an assumption
		j.WallError = otherClock
	}
	return j
}

// settle completes the header of a recording with what the recorder does not know, and passes it to Recorded.
func settle(tl *timeline.Timeline, s *scenario.Scenario, o Options, ends *endpoints) {
	unpriced(tl, s)
	has := doubtCached(tl, s)
	if tl.Header.DriftPPM = ends.driftPPM; s.Target.URL != scenario.Builtin {
		if ends.assumed && (!readsClock(s) || has.clock.refutes(tl.Header.WallError)) {
			tl.Header.WallError, ends.assumed = otherClock, false
		}
		has.clock.widen(&tl.Header)
	}
	if ends.unverified(s) {
		tl.Header.Notes = append(tl.Header.Notes, result.Unverified)
	}
	if usedBefore(s, o) {
		tl.Header.CompleteFrom = completeFrom
	}
	tl.Header.Counted = ends.events.counted
	if tl.Header.Judged = terms(s, &timeline.Timeline{}); has.unknown > 0 {
		tl.Header.Judged = terms(s, tl)
	}
	if t := &tl.Header.Judged; len(t.Limits) > 0 {
		r := recordedOptions(s, tl).Resolution
		t.BurstExact, t.Burst = r.BurstExact, r.Burst
	}
	// What is kept is judged alike again.
	tl.Header.Judged.Breaks, tl.Header.Judged.Against = breaks(s, tl), claimed(s, tl)
	if o.Recorded != nil {
		kept := *tl
		if ends.assumed {
			kept.Header.WallError = otherClock // until it is judged, no FAIL may rest on what was assumed
		}
		if t := &kept.Header.Judged; freeCosts(s) && len(t.Limits) > 0 { // nor on costs, charged or not
			t.SingleUnits, t.Shared = true, true
		}
		o.Recorded(&kept)
	}
}

// completeFrom is the instant, in nanoseconds, from which a recording is complete if nothing is known about
// the time before it.
const completeFrom = 1

// Kept judges the saved recording of a run that ended before it could judge.
func Kept(s *scenario.Scenario, tl *timeline.Timeline, o Options) result.Scenario {
	out := describe(s, o)
	unpriced(tl, s)
	if has := doubtCached(tl, s); s.Target.URL != scenario.Builtin {
		has.clock.cut(&tl.Header)
	}
	Judge(&out, s, tl)
	if tl.Header.Interrupted && out.Verdict == result.Inconclusive { // whatever the claims lack
		out.Reason, out.Detail = result.Interrupted, "the recording stopped before its plan was done"
	}
	out.Duration = tl.End()
	return out
}

// describe fills in what is known of a scenario before it runs.
func describe(s *scenario.Scenario, o Options) result.Scenario {
	out := result.Scenario{ID: s.ID, Title: s.Title, Kind: string(s.Kind), Source: s.Source, File: s.File,
		Target: RedactURL(s.Target.URL), Origin: RedactURL(s.Target.Origin),
		Limit: s.Limit, Limits: s.Expect.Limits,
		Standing: result.Standing{Fresh: s.Partition.Fresh, Unfit: s.Unfit}}
	if s.Target.URL == scenario.Builtin {
		out.Store, out.Fault = storeName(o.Redis), s.Target.Fault
	}
	return out
}

func inconclusive(out result.Scenario, r result.Reason, detail string) result.Scenario {
	out.Verdict, out.Reason, out.Detail = result.Inconclusive, r, detail
	return out
}

// loadOptions translates a scenario into options of the load generator.
func loadOptions(ctx context.Context, s *scenario.Scenario, o Options, ends *endpoints) (load.Options,
	error) {
	dialled, err := dialled(s, o.Allow, ends)
	if err = errors.Join(err, CheckSocket(s.Target.UnixSocket, o.Socket)); err != nil {
		return load.Options{}, err
	}
	opts := load.Options{
		URL: ends.target, Origin: ends.origin, Method: s.Target.Method, Header: header(s, o),
		Body: []byte(s.Target.Body), CostHeader: "X-Cost", Each: int64(max(s.Cost.Each, 1)),
		Partition: partitionOf(s.Partition), Minted: s.Keys, Timeout: s.Target.Timeout,
		TLS: tlsConfig(s, o.TLS), MaxConnections: s.Safety.MaxConnections, Pacer: o.Pacer,
		Economical: o.Economical, Do: ends.events.do, Route: load.Route{Guard: guard(ctx, o.Allow, dialled)},
		Answers: load.Answers{Classify: classifier(s.Allowed, s.Denied.Status),
			SilentDenials: s.Denied.Unanswered, DeniedField: s.Denied.Header,
			DeniedBody: deniedBody(s.Denied.Body), Told: told(s.Cost), ToldField: s.Cost.Header,
			KeepBody: 512},
		Ceilings: load.Ceilings{MaxRequests: s.Safety.MaxRequests, MaxDuration: s.Safety.MaxDuration},
		Keeping: load.Keeping{Tick: s.Target.Tick, WallError: ends.wallError, Progress: o.Progress,
			Spill: o.Spill},
	}
	opts.HTTP2, opts.Socket = s.Target.Protocol == scenario.H2, s.Target.UnixSocket
	if s.Target.Proxy != "" {
		opts.Proxy = dialled[0]
	}
	if o.Network != nil {
		opts.Dial = o.Network.Dial
	}
	if o.PastCaches {
		opts.PastCaches = o.ID
	}
	return opts, nil
}

// deniedBody returns a function that tells whether a body has the limiter's word for a denial: PATH=VALUE.
// nil for an empty word.
func deniedBody(word string) func([]byte) bool {
	if word == "" {
		return nil
	}
	path, value, _ := strings.Cut(word, "=")
	return func(body []byte) bool {
		return slices.ContainsFunc(text.Members(body, path),
			func(s string) bool { return text.Glob(value, []byte(s)) })
	}
}

// told returns a function that reads what an answer says that its request cost. nil: answers do not say it.
func told(where scenario.Told) func(timeline.Fields, []byte) (int64, bool) {
	if !where.ByAnswers() {
		return nil
	}
	return func(fields timeline.Fields, body []byte) (int64, bool) {
		value := ""
		switch {
		case where.Header != "":
			value, _ = fields.Get(http.CanonicalHeaderKey(where.Header))
		case where.Event != "":
			value, _ = text.Event(body, where.Event)
		default:
			if found := text.Members(body, where.Body); len(found) == 1 {
				value = found[0]
			}
		}
		return text.Units(value, where.Unit)
	}
}

// partitionOf says how requests are marked with their client. They are not marked if all clients share one
// quota.
func partitionOf(p scenario.Partition) load.Partition {
	if p.Kind == scenario.ByNone {
		return load.Partition{}
	}
	out := load.Partition{Kind: string(p.Kind), Name: p.Name, Format: p.Format}
	if p.Kind == scenario.ByHeader {
		out.Name = http.CanonicalHeaderKey(p.Name)
	}
	return out
}

func header(s *scenario.Scenario, o Options) http.Header {
	h := http.Header{"User-Agent": {"rlcheck/" + o.Version}}
	for name, value := range s.Target.Header {
		h.Set(name, value)
	}
	return h
}

// classifier returns a function from status to outcome. If allowed is empty, statuses 200 to 399 that are not
// denials are admissions. Every other status is Unknown.
func classifier(allowed, denied []int) func(int) timeline.Outcome {
	return func(status int) timeline.Outcome {
		switch {
		case slices.Contains(denied, status):
			return timeline.Denied
		case slices.Contains(allowed, status),
			len(allowed) == 0 && timeline.StatusOutcome(status) == timeline.Allowed:
			return timeline.Allowed
		default:
			return timeline.Unknown
		}
	}
}

// Judge fills the verdict of a recording into out: conformance, the other claims, and whether the load was
// sent as planned.
func Judge(out *result.Scenario, s *scenario.Scenario, tl *timeline.Timeline) {
	counted := tallying(out, tl)
	out.Claims = nil
	defer doubtAnswers(out)
	// A recording that was kept by an earlier version, or was cut, does not say them.
	tl.Header.Judged.Breaks, tl.Header.Judged.Against = breaks(s, tl), claimed(s, tl)
	if s.Expect.Conformance != scenario.NoConformance {
		c, j := charged(tl, s)
		out.Header.Judged = tl.Header.Judged
		out.Judgement, out.Claims = j, append(out.Claims, c)
	}
	counted()
	if why, down := transport.CauseUnreachable(tl); down {
		*out = inconclusive(*out, result.Unreachable, why)
		out.Claims = nil
		return
	}
	if c, ok := answered(tl, s); ok {
		out.Claims = append(out.Claims, c)
	}
	out.Claims = untaken(append(out.Claims, claims(tl, s, out)...), tl, s)
	out.Verdict, out.Reason, out.Detail = result.Sum(out.Claims, about(tl, s))
	// If requests could not be sent, that is the reason for too few, and sending more is no mend.
	cut := (out.Reason == result.TooFew || out.Reason == result.Unreachable) && out.Counts.Unsent > 0 &&
		!tl.Header.Interrupted
	if out.Verdict != result.Pass && !out.Uncounted() && !cut {
		if why, reason := strayed(s, tl); why != "" && out.Reason == result.TooFew { // this can be mended
			*out = inconclusive(*out, reason, why)
		}
		return
	}
	switch c := out.Counts; {
	case tl.Header.Interrupted:
		*out = inconclusive(*out, result.Interrupted, "the recording stopped before its plan was done")
	case c.Unsent > 0:
		*out = inconclusive(*out, result.ScheduleMissed, result.Unsent(c))
	default:
		if why := stretched(s, tl); why != "" {
			*out = inconclusive(*out, result.ScheduleMissed, why)
		} else if why, reason := strayed(s, tl); why != "" {
			*out = inconclusive(*out, reason, why)
		} else if why := doubled(s, tl); why != "" {
			*out = inconclusive(*out, result.TooFew, why)
		} else if why := transport.CauseSilent(tl); why != "" && !s.Denied.Unanswered && !out.Uncounted() {
			*out = inconclusive(*out, result.Unreachable, why)
		}
	}
}

// prove fills the verdict of a recording into out. It stops at the first proof and does not fail for latency
// alone.
func prove(out *result.Scenario, s *scenario.Scenario, tl *timeline.Timeline) {
	tally(out, tl)
	if why, down := transport.CauseUnreachable(tl); down {
		*out = inconclusive(*out, result.Unreachable, why)
		return
	}
	claims := claim.Judge(tl, s.Limit, expected(s, tl, out.Counts.Unknown))
	if c, ok := answered(tl, s); ok {
		claims = append(claims, c)
	}
	fails := func(c result.Claim) bool { return c.Verdict == result.Fail && c.Kind != result.ClaimLatency }
	if !slices.ContainsFunc(claims, fails) {
		c, refuted := bounded(s, tl)
		if !refuted {
			*out = inconclusive(*out, result.TooFew, "no claim fails, and no bound is exceeded")
			return
		}
		claims = slices.Insert(claims, 0, c)
	}
	out.Claims, out.Verdict = claims, result.Fail
}

// bounded judges the upper and the lower bound alone, without the exact search.
func bounded(s *scenario.Scenario, tl *timeline.Timeline) (result.Claim, bool) {
	for _, side := range []result.Conformance{result.UpperBound, result.LowerBound} {
		if e := s.Expect.Conformance; e == scenario.NoConformance || e != scenario.Exact &&
			string(e) != string(side) {
			continue
		}
		o := judgeOptions(s)
		o.Conformance, o.Hint, o.SkipMeasure = side, false, true
		if c, _ := conformance(tl, s, o); c.Verdict == result.Fail {
			return c, true
		}
	}
	return result.Claim{}, false
}
