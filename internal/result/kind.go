package result

import (
	"slices"
	"strings"
)

// ClaimKind is what a claim is about, such as storm. The id of a claim is its kind. If a scenario may have
// several of one kind, a dash and what the claim is about follow: storm-fixed.
type ClaimKind string

// The kinds of claims, in the order of the documentation. About says what each kind expects.
const (
	ClaimConformance         ClaimKind = "conformance"
	ClaimRetryAfterHonored   ClaimKind = "retry-after-honored"
	ClaimRetryAfterNotLonger ClaimKind = "retry-after-not-longer"
	ClaimFieldsRetryAfter    ClaimKind = "fields-retry-after"
	ClaimFieldsRateLimit     ClaimKind = "fields-ratelimit"
	ClaimFieldsDate          ClaimKind = "fields-date"
	ClaimFieldsProblem       ClaimKind = "fields-problem"
	ClaimFieldsNoStore       ClaimKind = "fields-no-store"
	ClaimFieldsExplanation   ClaimKind = "fields-explanation"
	ClaimQuotaConventions    ClaimKind = "quota-conventions"
	ClaimQuotaAgrees         ClaimKind = "quota-agrees"
	ClaimQuotaStable         ClaimKind = "quota-stable"
	ClaimQuotaCounts         ClaimKind = "quota-counts"
	ClaimQuotaLimit          ClaimKind = "quota-limit"
	ClaimQuotaReset          ClaimKind = "quota-reset"
	ClaimQuotaDenials        ClaimKind = "quota-denials"
	ClaimQuotaBody           ClaimKind = "quota-body"
	ClaimAnswers             ClaimKind = "answers"
	ClaimAnswered            ClaimKind = "answered"
	ClaimBarred              ClaimKind = "barred"
	ClaimParity              ClaimKind = "parity"
	ClaimAttributes          ClaimKind = "attributes"
	ClaimStorm               ClaimKind = "storm"
	ClaimDeniedStatus        ClaimKind = "denied-status"
	ClaimDenials             ClaimKind = "denials"
	ClaimOwnCount            ClaimKind = "own-count"
	ClaimLatency             ClaimKind = "latency"
	ClaimSLO                 ClaimKind = "slo"
	ClaimIntact              ClaimKind = "intact"
	ClaimMethodsTaken        ClaimKind = "methods-taken"
	ClaimSchedule            ClaimKind = "schedule"
	ClaimOneLimiter          ClaimKind = "one-limiter"
	ClaimClientWaits         ClaimKind = "client-waits"
	ClaimClientJitter        ClaimKind = "client-jitter"
	ClaimClientStorm         ClaimKind = "client-storm"
	ClaimClientBackoff       ClaimKind = "client-backoff"
	ClaimClientBreaker       ClaimKind = "client-breaker"
	ClaimClientAttempts      ClaimKind = "client-attempts"
	ClaimClientBudget        ClaimKind = "client-budget"
)

// explained is a kind and its meaning in a sentence.
type explained[K ~string] struct {
	kind  K
	about string
}

// kindsOf returns the kinds of a table, in its order.
func kindsOf[K ~string](rows []explained[K]) []K {
	out := make([]K, len(rows))
	for i, row := range rows {
		out[i] = row.kind
	}
	return out
}

// aboutOf returns the sentence of a kind; empty: it is not in the table.
func aboutOf[K ~string](rows []explained[K], k K) string {
	for _, row := range rows {
		if row.kind == k {
			return row.about
		}
	}
	return ""
}

// claimKinds is the table of the kinds. It is never written after init.
var claimKinds = []explained[ClaimKind]{
	{ClaimConformance, "The whole recording keeps the declared limit."},
	{ClaimRetryAfterHonored, "A client that waited as its denial said, and had no rival meanwhile, is " +
		"admitted " +
		"(RFC 9110 section 10.2.3)."},
	{ClaimRetryAfterNotLonger, "No denial states a longer wait than the limit needs, rounded up to the " +
		"unit of the field."},
	{ClaimFieldsRetryAfter, "Every denial has a Retry-After with correct syntax (RFC 9110 section " +
		"10.2.3)."},
	{ClaimFieldsRateLimit, "Every answer, allowed or denied, states its quota in some dialect, and " +
		"keeps to the syntax of that dialect."},
	{ClaimFieldsDate, "Every answer has a Date (RFC 9110 section 6.6.1)."},
	{ClaimFieldsProblem, "Every denial has a body of type application/problem+json (RFC 9457)."},
	{ClaimFieldsNoStore, "No denial with 429 lets a cache keep it (RFC 6585 section 4)."},
	{ClaimFieldsExplanation, "Every denial has a body that explains it (RFC 6585 section 4)."},
	{ClaimQuotaConventions, "What answers state about the quota breaks no rule, not even a rule that " +
		"is only a convention."},
	{ClaimQuotaAgrees, "The dialects of one answer state the same limit and the same remaining units."},
	{ClaimQuotaStable, "All answers state the same limit to a partition."},
	{ClaimQuotaCounts, "The remaining units fall by the cost of each admitted request, and rise no " +
		"faster than the limit gives back. Only requests whose interval overlaps no other request of " +
		"their partition are judged."},
	{ClaimQuotaLimit, "The limit that answers state is the declared one: the quota or burst, the rate " +
		"as it is declared, or the rate in the unit of time that the field names."},
	{ClaimQuotaReset, "Quota comes back when an answer says: after a denial, not before the next unit " +
		"can come back; and no later than the whole quota. An answer may mean either."},
	{ClaimQuotaDenials, "A denial states the limit that denied: if it was for one unit, one of the limits " +
		"that it states has none left, and a client that came back at the last stated reset is admitted."},
	{ClaimQuotaBody, "The wait, limit, reset and status in a JSON body of a denial equal those of its " +
		"header fields, in the same unit. A wait without such a field is long enough, and no longer " +
		"than the limit needs."},
	{ClaimAnswers, "The answers of a phase have one of the statuses that the scenario names; the claim " +
		"is called " +
		"answers-PHASE."},
	{ClaimAnswered, "A denial is an answer: it is not exactly the requests that the limit denies that " +
		"get no answer. This claim appears only if it fails; denied: {unanswered: true} declares such " +
		"denials."},
	{ClaimBarred, "In a phase with limit: zero nothing is admitted; the claim is called barred-PHASE."},
	{ClaimParity, "The answers of a phase have the fields and statuses of another phase, as HEAD has " +
		"those of GET (RFC 9110 section 9.3.2); the claim is called parity-PHASE."},
	{ClaimAttributes, "Requests of one client that differ in one attribute, such as the case of the " +
		"path or the User-Agent, share one quota, or have two if that is declared. What the answers do " +
		"not show is reported as not shown, and accuses nobody."},
	{ClaimStorm, "The cost of the retries of a phase: requests in vain, the time until each client was " +
		"admitted, and how many came at once; the claim is called storm-PHASE."},
	{ClaimDeniedStatus, "Every denial has a status that the scenario expects."},
	{ClaimDenials, "A phase has no more denials than the scenario allows; the claim is called " +
		"denials-PHASE."},
	{ClaimOwnCount, "Between two counts, the target counted as many denials as it answered. A higher " +
		"count may include denials of others."},
	{ClaimLatency, "A quantile of the service time is at most what the scenario says; the claim is " +
		"called latency-OUTCOME-QUANTILE. It is inconclusive if rlcheck or the round trip may have " +
		"taken the time."},
	{ClaimSLO, "What --slo demands: a quantile of the service time is at most its bound " +
		"(slo-OUTCOME-QUANTILE, judged as latency is), or no more requests than that end in an error " +
		"(slo-errors). A FAIL counts in every kind of scenario."},
	{ClaimIntact, "Fields, status and body of the origin's answers arrive unchanged through the proxy."},
	{ClaimMethodsTaken, "The route takes the methods that are sent; other methods are not judged."},
	{ClaimSchedule, "The load was sent as planned. If not, this claim is inconclusive, and never a " +
		"failure of the target."},
	{ClaimOneLimiter, "All recordings of a run were made by one limiter: some value of each declared " +
		"range fits all of them."},
	{ClaimClientWaits, "check --client: no retry comes before the time that its denial stated, in " +
		"seconds or as a date (RFC 9110 section 10.2.3), or else by a reset or in its body. Up " +
		"to 20 ms too early counts as kept, because timers are that coarse."},
	{ClaimClientJitter, "check --client: the retries of a client spread after the stated time. Eight " +
		"or more retries that differ by no more than 1 % of the wait have no jitter."},
	{ClaimClientStorm, "check --client: retries that are due at once do not come at once. Eight or more " +
		"within 10 ms, or 1 % of the wait, are a storm."},
	{ClaimClientBackoff,
		"check --client: a client waits where a denial states no wait, at least as long as " +
			"--backoff says. Eight or more retries within 20 ms of their denials are no wait."},
	{ClaimClientBreaker, "check --client: after as many denials in a row as --breaker says, a client sends " +
		"nothing for the time that it says."},
	{ClaimClientAttempts, "check --client: no request is tried more often than --max-attempts says, " +
		"and some requests were seen to be given up."},
	{ClaimClientBudget, "check --client: all clients together send no more retries than --retry-budget " +
		"percent of the first tries."},
}

// ClaimKinds returns all kinds, in the order of the documentation.
func ClaimKinds() []ClaimKind { return kindsOf(claimKinds) }

// About says in a sentence what a claim of the kind expects. Empty: the kind is not known.
func (k ClaimKind) About() string { return aboutOf(claimKinds, k) }

// ID returns the id of the claim of this kind about one thing: storm-fixed.
func (k ClaimKind) ID(of string) string { return string(k) + "-" + of }

// Of returns what a claim of the kind with this id is about: fixed of storm-fixed.
func (k ClaimKind) Of(id string) string {
	return strings.TrimPrefix(strings.TrimPrefix(id, string(k)), "-")
}

// KindOf returns the kind of the claim with an id. Empty: no kind has it. It is for words that users write,
// and for reports of versions that kept no kinds. A Claim has its Kind.
func KindOf(id string) ClaimKind {
	i := slices.IndexFunc(claimKinds, func(row explained[ClaimKind]) bool {
		return id == string(row.kind) || strings.HasPrefix(id, row.kind.ID(""))
	})
	if i < 0 {
		return ""
	}
	return claimKinds[i].kind
}

// The kinds of findings of claims. Each says what Seen and Bound are. Times are in nanoseconds.
const (
	// RetryAfterEarly: a client waited as told and was denied again. Seen is how long it waited, Bound how
	// long it was told to wait.
	RetryAfterEarly Kind = "retry-after-early"
	// RetryAfterLate: a client was told to wait longer than needed. Seen is what it was told, Bound the
	// longest wait that it can need.
	RetryAfterLate Kind = "retry-after-late"
	// FieldMissing and FieldInvalid: answers lack a field, or have one that breaks its syntax. Seen counts
	// them, Bound is 0.
	FieldMissing Kind = "field-missing"
	FieldInvalid Kind = "field-invalid"
	// DeniedStatus: denials with a status that is not expected. Seen counts them, Bound is 0.
	DeniedStatus Kind = "denied-status"
	// DeniedInPhase: more denials in a phase than it may have. Seen and Bound count denials.
	DeniedInPhase Kind = "denied-in-phase"
	// CountedOtherwise: the target counted fewer denials than it sent. Seen is how many it sent, Bound how
	// many it counted.
	CountedOtherwise Kind = "counted-otherwise"
	// DeniedUnlimited: denials in a phase that no limit counts. Seen and Bound count denials.
	DeniedUnlimited Kind = "denied-unlimited"
	// AnsweredOtherwise: answers with a status that is not expected. Seen counts them, Bound is 0.
	AnsweredOtherwise Kind = "answered-otherwise"
	// Unanswered: a phase got no answers although some are expected. Seen counts its requests without an
	// answer, Bound is 0.
	Unanswered Kind = "unanswered"
	// AdmittedBarred: admissions in a phase that may have none. Seen counts them, Bound is 0.
	AdmittedBarred Kind = "admitted-barred"
	// MintsQuota: requests of a client that differ in one attribute do not draw on the quota of its other
	// requests. Seen counts the units admitted, Bound the most of one quota. SharesQuota: they do, although
	// each should have a quota of its own.
	MintsQuota  Kind = "mints-quota"
	SharesQuota Kind = "shares-quota"
	// NotDrained: clients that were never admitted. Seen counts them, Bound is 0.
	NotDrained Kind = "not-drained"
	// QuotaConflict: answers state two limits or two remaining units. Seen counts them, Bound is 0.
	QuotaConflict Kind = "quota-conflict"
	// RemainingHigh: an answer states more remaining units than possible. Seen is the stated number, Bound
	// the most possible. RemainingLow: it states fewer. Seen is the least possible number, Bound the stated
	// one.
	RemainingHigh Kind = "remaining-too-high"
	RemainingLow  Kind = "remaining-too-low"
	// LimitOtherwise: answers state a limit that is not the declared one. Seen counts them, Bound is 0.
	LimitOtherwise Kind = "limit-otherwise"
	// ResetLate: an answer states that quota comes back later than it can. Seen is the stated time, Bound the
	// latest possible. ResetEarly: it states an earlier time. Seen is the earliest possible time, Bound the
	// stated one. Both are nanoseconds from the answer.
	ResetLate  Kind = "reset-late"
	ResetEarly Kind = "reset-early"
	// BodyConflict: bodies of denials contradict their header fields. Seen counts them, Bound is 0.
	BodyConflict Kind = "body-conflict"
	// Latency: a quantile of the service time is over its bound. Seen is the quantile, Bound its bound.
	Latency Kind = "latency"
	// Errors: more requests than allowed had neither an admission nor a denial for an answer. Seen counts
	// them, Bound is the most that may.
	Errors Kind = "errors"
	// FieldLost, FieldChanged, StatusChanged, BodyChanged: a proxy changed the answers of the origin. Seen
	// counts the answers through the proxy that show it, Bound is 0.
	FieldLost     Kind = "field-lost"
	FieldChanged  Kind = "field-changed"
	StatusChanged Kind = "status-changed"
	BodyChanged   Kind = "body-changed"
)

// findingKinds is the table of the kinds of findings. It is never written after init. Findings with the name
// of their claim have no row, as the claim explains them.
var findingKinds = []explained[Kind]{
	{OverAdmission,
		"More was admitted within a span than the limit can admit, wherever in their intervals the " +
			"admissions were decided.\nbucket: J[x,y] <= B + floor((y-x)/T); log: J <= " +
			"L*(floor((y-x)/W)+1); fixed window: by Hall's condition over windows."},
	{UnderAdmission,
		"A request was denied although too little quota can have been in use, even if every earlier " +
			"admission was decided as late as possible."},
	{NoExplanation, "Each answer alone can be explained, but nothing explains all answers at once."},
	{RetryAfterEarly, "A client waited as its denial said, had no rival meanwhile, and was denied again."},
	{RetryAfterLate,
		"A denial stated a longer wait than the limit can need, rounded up to the unit of the field."},
	{FieldMissing, "Answers lack a field that they should have."},
	{FieldInvalid, "Answers have a field that breaks a binding rule of its syntax."},
	{DeniedInPhase, "A phase has more denials than it may have."},
	{DeniedUnlimited, "Requests were denied although no limit counts them."},
	{AnsweredOtherwise, "Answers of a phase have a status that they should not have."},
	{Unanswered, "Requests got no answer although one is expected: all requests of a phase, or exactly " +
		"those that the limit denies."},
	{AdmittedBarred, "Clients whose limit is nothing were admitted."},
	{NotDrained, "Clients that retried were never admitted, although the limit had room for them."},
	{QuotaConflict, "Answers state two limits, or two numbers of remaining units."},
	{LimitOtherwise, "Answers state a limit that is not the declared one."},
	{ResetLate, "An answer states a reset that is later than the whole quota can need."},
	{ResetEarly, "An answer states a reset that is past, or before a window can have ended, or at which a " +
		"client that came back was denied again."},
	{BodyConflict, "The body of a denial states another wait, limit, reset or status than the denial " +
		"itself."},
	{RemainingHigh, "An answer states more remaining units than the earlier requests can leave."},
	{RemainingLow, "An answer states fewer remaining units than the earlier requests must leave."},
	{CountedOtherwise, "The target counted fewer denials than it answered."},
	{MintsQuota, "Requests of one client that differ in an attribute have separate quotas, but should " +
		"share one."},
	{SharesQuota, "Requests that differ in an attribute share one quota, but should have separate " +
		"quotas."},
	{Errors, "More requests than the objective allows got an error, or no answer."},
	{FieldLost, "A field that the origin sends is missing behind the proxy."},
	{FieldChanged, "A field arrives with another value than the origin sends."},
	{StatusChanged, "A denial of the origin arrives with another status."},
	{BodyChanged, "The body of a denial arrives changed."},
}

// FindingKinds returns the kinds of findings that have a name of their own, in the order of the
// documentation.
func FindingKinds() []Kind { return kindsOf(findingKinds) }

// About says in a sentence of what a finding of the kind accuses the target. Empty: the kind is not known, or
// has the name of its claim.
func (k Kind) About() string { return aboutOf(findingKinds, k) }

// rules are the rules on which findings rest: by the kind of their claim and their own kind, or by the kind
// of the claim alone (""). A rule that is read from the answer stands in the finding itself.
var rules = map[ClaimKind]map[Kind]string{
	ClaimConformance: {
		OverAdmission: "AL-UPPER", UnderAdmission: "AL-LOWER", NoExplanation: "AL-UPPER",
	},
	ClaimRetryAfterHonored:   {"": "RA-NOT-EARLY"},
	ClaimRetryAfterNotLonger: {"": "RA-NOT-LATE"},
	ClaimFieldsRetryAfter:    {FieldMissing: "ST-429-RA"},
	ClaimFieldsRateLimit:     {FieldMissing: "XR-SET"},
	ClaimFieldsDate:          {FieldMissing: "ST-DATE"},
	ClaimFieldsProblem:       {FieldMissing: "PD-TYPE"},
	ClaimFieldsNoStore:       {"": "ST-429-NOSTORE"},
	ClaimFieldsExplanation:   {"": "ST-429-BODY"},
	ClaimQuotaAgrees:         {"": "RL-CONSISTENT-LEGACY"},
	ClaimQuotaStable:         {"": "RP-STABLE"},
	ClaimQuotaCounts:         {"": "RL-MONO"},
	ClaimQuotaLimit:          {"": "RL-LIMIT"},
	ClaimQuotaReset:          {"": "RL-TRUTH-T"},
	ClaimQuotaDenials:        {"": "RL-DENY-R0", ResetEarly: "RL-TRUTH-T"},
	ClaimQuotaBody:           {"": "PD-WAIT"},
	ClaimAnswered:            {"": "AL-ANSWER"},
	ClaimBarred:              {"": "AL-UPPER"},
	ClaimParity:              {"": "ST-HEAD-PARITY"},
	ClaimDeniedStatus:        {"": "ST-429"},
	ClaimDenials:             {"": "AL-LOWER"},
	ClaimAttributes:          {"": "AL-ALIAS"},
	ClaimLatency:             {"": "ST-CHEAP"},
	ClaimIntact:              {"": "RL-INTERMEDIARY"},
}

// NameRules names in each finding of a claim the rule on which it rests, unless the finding has one. `rlcheck
// explain` knows the rule. A finding that rests on the expectation of a scenario alone has none.
func NameRules(of ClaimKind, findings []Finding) {
	for i := range findings {
		f := &findings[i]
		if f.Rule != "" {
			continue
		}
		if f.Rule = rules[of][f.Kind]; f.Rule == "" {
			f.Rule = rules[of][""]
		}
	}
}
