package result

import (
	_ "embed" // the words of kinds
	"slices"
	"strings"
	"sync"

	"github.com/rlcheck/rlcheck/internal/text"
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

// kindsText explains the kinds of claims and of findings, and names the rules on which findings rest: "CLAIM
// RULE" for all findings of a claim, "CLAIM RULE KIND" for those of one kind. A rule that is read from the
// answer stands in the finding itself. Findings with the name of their claim have no line: the claim explains
// them.
//
//go:embed kinds.txt
var kindsText string

// kinds are the claims, the findings and the rules of kindsText.
var kinds = sync.OnceValue(func() map[string]text.Entry {
	out := map[string]text.Entry{}
	for _, e := range text.Entries(kindsText) {
		out[e.Kind] = e
	}
	return out
})

// kindsOf returns the kinds of claims or findings, in their order.
func kindsOf[K ~string](of string) (out []K) {
	for _, l := range kinds()[of].Lines {
		out = append(out, K(l.Word))
	}
	return slices.Compact(out)
}

// ClaimKinds returns all kinds, in the order of the documentation.
func ClaimKinds() []ClaimKind { return kindsOf[ClaimKind]("claims") }

// About says in a sentence what a claim of the kind expects. Empty: the kind is not known.
func (k ClaimKind) About() string { return kinds()["claims"].Get(string(k)) }

// ID returns the id of the claim of this kind about one thing: storm-fixed.
func (k ClaimKind) ID(of string) string { return string(k) + "-" + of }

// Of returns what a claim of the kind with this id is about: fixed of storm-fixed.
func (k ClaimKind) Of(id string) string {
	return strings.TrimPrefix(strings.TrimPrefix(id, string(k)), "-")
}

// KindOf returns the kind of the claim with an id. Empty: no kind has it. It is for words that users write,
// and for reports of versions that kept no kinds. A Claim has its Kind.
func KindOf(id string) ClaimKind {
	for _, k := range ClaimKinds() {
		if id == string(k) || strings.HasPrefix(id, k.ID("")) {
			return k
		}
	}
	return ""
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

// FindingKinds returns the kinds of findings that have a name of their own, in the order of the
// documentation.
func FindingKinds() []Kind { return kindsOf[Kind]("findings") }

// About says in a sentence of what a finding of the kind accuses the target. Empty: the kind is not known, or
// has the name of its claim.
func (k Kind) About() string { return kinds()["findings"].Get(string(k)) }

// NameRules names in each finding of a claim the rule on which it rests, unless the finding has one. `rlcheck
// explain` knows the rule. A finding that rests on the expectation of a scenario alone has none.
func NameRules(of ClaimKind, findings []Finding) {
	for _, l := range kinds()["rules"].Lines {
		id, kind, one := strings.Cut(l.Rest, " ")
		for i := range findings {
			if f := &findings[i]; l.Word == string(of) && f.Rule == "" && (!one || string(f.Kind) == kind) {
				f.Rule = id
			}
		}
	}
}
