package headers

// observed are the rules that claims judge beyond the syntax of fields. Each has its text and what a claim
// looks at.
var observed = map[Rule]struct {
	About
	seen string
}{
	"ST-429": {About{Should, "a denial for the rate has status 429", "RFC 6585 section 4"},
		"denied-status: the statuses of denials"},
	"ST-429-BODY": {About{Should, "a denial explains itself in its body", "RFC 6585 section 4"},
		"fields-explanation: denials with an empty body"},
	"ST-429-RA": {About{Convention, "a denial may say when to come back", "RFC 6585 section 4"},
		"fields-retry-after: denials without the field, if it is promised"},
	"ST-CHEAP": {About{Should, "a denial is as cheap as an admission", "RFC 6585 section 7.2"},
		"latency: quantiles of the service time of denials"},
	"ST-HEAD-PARITY": {About{Should, "HEAD is answered with the fields of GET", "RFC 9110 section 9.3.2"},
		"parity: the fields of the answers of two phases"},
	"RA-NOT-EARLY": {About{Should, "a client that waited as told is admitted", "RFC 9110 section 10.2.3"},
		"retry-after-honored: clients that waited, had no rival and were denied again"},
	"RA-NOT-LATE": {About{Convention, "no denial states a longer wait than the limit needs", conventional},
		"retry-after-not-longer: the stated wait against the longest need"},
	"RA-ALL-DATES": {About{Must, "a recipient accepts all three forms of a date", "RFC 9110 section 5.6.7"},
		"client-waits of check --client: retries before a date that a denial stated"},
	"RA-CEIL": {About{Convention, "a wait is rounded up, and never 0 while the client is denied",
		conventional},
		"retry-after-honored, retry-after-not-longer: waits of 0, of half a second, in milliseconds"},
	"ST-CONSISTENT": {About{Convention, "one policy denies with one status", conventional},
		"denied-status: the statuses of denials"},
	"ST-NO-5XX": {About{Convention, "a used-up quota is not reported as a server error", conventional},
		"denied-status: denials with 500, 502 or 504"},
	"SF-INT": {About{Must, "an Integer has at most 15 digits and no point", "RFC 9651 section 3.3.1"},
		"fields-ratelimit: as SF-PARSE"},
	"SF-STRING": {About{Must, "a String is printable ASCII", "RFC 9651 section 3.3.3"},
		"fields-ratelimit: as SF-PARSE"},
	"SF-KEYS": {About{Must, "the key of a parameter is in lower case", "RFC 9651 section 3.1.2"},
		"fields-ratelimit: as SF-PARSE"},
	"RP-STABLE": {About{Should, "a policy stays the same from answer to answer", Draft + " section 3"},
		"quota-stable: the limits that one partition gets"},
	"RL-TRUTH-R": {About{Convention, "the stated remaining quota is what can still be admitted",
		Draft + " section 4.1.1"},
		"quota-counts: the first answer against a full start, each later answer against the one before"},
	"RL-TRUTH-T": {About{Convention, "quota comes back after the time that is stated", Draft + " section " +
		"4.1.2"},
		"quota-reset: the stated time against the reference"},
	"RL-DENY-R0": {About{Convention, "a denial states that nothing remains of the limit that denied",
		Draft + " section 6"},
		"quota-denials: denials of one unit, each of whose stated limits has units left"},
	"RL-MONO": {About{Convention, "the remaining quota falls by the cost, and rises no faster than the " +
		"limit gives back",
		conventional}, "quota-counts: requests without rivals, in order"},
	"RL-INTERMEDIARY": {About{Should, "an intermediary neither loosens nor removes the fields",
		Draft + " section 7.2"},
		"intact: the same plan at the origin and through the proxy"},
	"RL-CACHE": {About{Should, "the fields of an answer from a cache are ignored", Draft + " section 7.3"},
		"every claim: answers that say they come from a cache are left out"},
	"RL-CONSISTENT-LEGACY": {About{Convention, "the dialects of one answer state one quota", conventional},
		"quota-agrees: limit and remaining quota, for each two dialects of one answer"},
	"RL-LIMIT": {About{Convention, "the stated limit is the declared one", conventional},
		"quota-limit: quota, burst, rate, or the rate in the unit that is named"},
	"R3-POLICY": {About{Convention, "a policy in RateLimit-Policy without a name equals the limit",
		ratelimit07},
		"quota-limit: 100;w=60 against the declared limit, as RateLimit-Limit beside it"},
	"XR-EPOCH-SKEW": {About{Convention, "a reset since 1970 uses the clock of Date", conventional},
		"quota-reset: the instant against the Date of its answer"},
	"PD-WAIT": {About{Convention, "a body states the wait, limit and reset of its fields", conventional},
		"quota-body: members of the JSON body against header fields; a wait without a field against " +
			"the limit"},
	"AL-UPPER": {About{Must, "no span admits more than the declared limit can", declaration},
		"conformance: over-admission, and contradictions that only all requests together show"},
	"AL-LOWER": {About{Must, "a request that the declared limit admits is not denied", declaration},
		"conformance: under-admission"},
	"AL-BOUNDARY": {About{Convention, "the edge of a window admits what the declared algorithm allows",
		declaration},
		"conformance in boundary-double-burst: a burst on each side of an edge"},
	"AL-RECOVER": {About{Must, "after a silence the whole burst is available again", declaration},
		"conformance in recovery: a burst after rests of several lengths"},
	"AL-DENIED-FREE": {About{Convention, "a denial costs nothing, unless that is declared", declaration},
		"conformance in retry-storm, recovery: the admissions after a storm of denials"},
	"AL-ISOLATION": {About{Must, "one client takes nothing from another", declaration},
		"conformance in identity-isolation: many clients at once"},
	"AL-ALIAS": {About{Convention, "all spellings of one resource share one quota", conventional},
		"conformance in key-aliases: seven spellings of one path"},
	"AL-SPOOF": {About{Must, "an address that the client invents gives no fresh quota", conventional},
		"conformance in forged-client-address: eight fields"},
	"AL-RACE": {About{Must, "requests that come at once are counted one by one", declaration},
		"conformance in concurrent-race: requests behind one gate"},
	"AL-REPLICA": {About{Convention, "replicas share one count", declaration}, "conformance in replicas"},
	"AL-COST":    {About{Convention, "a request takes its cost", declaration}, "conformance in unit-cost"},
	"AL-FAILMODE": {About{Convention, "without its store the limiter answers as declared", declaration},
		"conformance and answers in store-outage"},
	"AL-SHAPE": {About{Convention, "a limiter that delays is declared as a queue", declaration},
		"conformance in shaping-queue: when requests are let through"},
	"AL-ANSWER": {About{Convention, "a denial is an answer", conventional},
		"answered: whether exactly the requests that the limit denies get no answer"},
}

// The sources of rules that are in no standard.
const (
	conventional = "convention"
	declaration  = "the declared limit"
)

// unobserved are the rules that no claim judges, each with the reason.
var unobserved = map[Rule]struct {
	About
	why string
}{
	"ST-4XX-EXPLAIN": {About{Should, "a 4xx says whether it is temporary", "RFC 9110 section 15.5"},
		"rlcheck does not understand texts; that there is a text is ST-429-BODY"},
	"ST-503-RA": {About{Convention, "a 503 may carry Retry-After", "RFC 9110 section 15.6.4"},
		"it may be left out; if it is sent, its syntax is judged"},
	"ST-NO-REDIRECT-TRAP": {About{Should, "an answer with 3xx uses the fields with care",
		Draft + " section 6"},
		"redirects are not followed"},
	"RA-DATE-BASE": {About{Convention, "a date counts from the Date of its answer", "RFC 9110 section " +
		"10.2.3"},
		"it binds clients; rlcheck counts that way"},
	"RA-ORDER": {About{Should, "Retry-After is not earlier than t", Draft + " section 6"},
		"t may mean the next unit or the whole quota, and only the first is comparable"},
	"RA-JITTER": {About{Convention, "waits are spread, so that clients do not come back together",
		Draft + " " +
			"section 8.5"},
		"without the intended spread, a spread wait looks like a wrong one"},
	"RA-MONO": {About{Convention, "the wait falls from denial to denial as time goes by", conventional},
		"a penalty may be extended; each wait is judged alone"},
	"RL-MULTI": {About{Convention, "of several policies, the one that binds is stated",
		Draft + " appendix B"},
		"the draft leaves open which one is stated"},
	"GH-403": {About{Convention, "some products deny with 403 or 200", conventional},
		"the scenario says what a denial is (denied.status)"},
	"STRIPE-REASON": {About{Convention, "Stripe-Rate-Limited-Reason names the limit", conventional},
		"the field of one product"},
	"PD-URI": {About{Convention, "the type of a problem is quota-exceeded or one of its kin", Draft + " " +
		"section 5"},
		"the types are not registered yet"},
	"PD-VIOLATED": {About{Must, "violated-policies names policies of RateLimit-Policy", Draft + " section 5"},
		"the problem types are not registered yet"},
	"SF-COMBINE": {About{Must, "several lines of a field are one list", "RFC 9651 section 4.2"},
		"it binds recipients; rlcheck joins them"},
	"RP-VENDOR": {About{Should, "other parameters have the prefix of a vendor", Draft + " section 3.1"},
		"a later draft may register other parameters"},
	"RP-TRAILER": {About{Must, "the fields are not in trailers", Draft + " section 3.1"},
		"recordings do not keep trailers"},
	"RL-RATIO": {About{Should, "a long window does not state its whole quota at once", Draft + " section 6"},
		"only the owner knows how much is unwanted"},
	"RL-PK-PII": {About{Should, "pk has no sensitive data", Draft + " section 6.1"},
		"nobody outside knows which data is sensitive"},
	"XR-USED": {About{Convention, "used and remaining add up to the limit", conventional}, "few " +
		"products send it"},
	"XR-RESOURCE": {About{Convention, "x-ratelimit-resource names the quota", conventional},
		"nobody outside knows what a name stands for"},
	"CORS-EXPOSE": {About{Convention, "answers to other origins expose the fields", "Fetch standard"},
		"no request has an Origin, unless a scenario sends one"},
	"PD-TITLE": {About{Should, "a title is the same for every problem of its type", "RFC 9457 section 3.1.3"},
		"texts may be translated"},
	"PD-EXT-NAME": {About{Should, "names of members have letters, digits and _", "RFC 9457 section 4"},
		"the draft's own member violated-policies breaks it"},
}

// Seen says what a claim looks at to judge r. It is "" for a rule that no claim judges; Unseen then says why.
func (r Rule) Seen() string {
	if row, ok := observed[r]; ok {
		return row.seen
	}
	if _, ok := abouts[r]; ok {
		return "the values of fields and bodies as they were sent: claims fields-*, quota-conventions"
	}
	return ""
}

// Unseen says why no claim judges r. It is "" for a rule that a claim judges.
func (r Rule) Unseen() string { return unobserved[r].why }
