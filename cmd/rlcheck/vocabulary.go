package main

// wordGroup is a group of words that explain knows.
type wordGroup struct{ kind, plural, about string }

// wordGroups are the groups in the order in which explain lists them.
var wordGroups = []wordGroup{
	{"verdict", "verdicts", "the judgement on a run, a scenario, a claim or a recording"},
	{"reason", "reasons", "why a verdict is INCONCLUSIVE"},
	{"outcome", "outcomes", "what the target did with a request"},
	{"kind", "kinds", "of scenarios: whether a FAIL counts"},
	{"word", "words", "of the reports"},
	{"diagnosis", "diagnoses", "one cause that explains the findings of many clients"},
	{"finding", "findings", "what a FAIL accuses the target of"},
	{"claim", "claims", "the expectations of a scenario, each with a verdict"},
	{"promise", "promises", "what a target may have or not have (--promise)"},
	{"algorithm", "algorithms", "the first word of a SPEC"},
	{"key", "keys", "of a SPEC, as key=value"},
	{"preset", "presets", "products whose own words a SPEC may be (rlcheck list presets)"},
	{"rule", "rules", "of header fields and bodies"},
	{"fault", "faults", "deliberate defects of the embedded target (--fault)"},
	{"scenario", "scenarios", "the bundled scenarios (builtin:NAME)"},
	{"identity", "identities", "the verdicts of identify"},
	{"change", "changes", "how compare rates a verdict"},
	{"error", "errors", "why a request got no answer"},
	{"format", "formats", "of reports (-o FORMAT[=PATH])"},
	{"shape", "shapes", "how the requests of a phase are spread over time (shape:)"},
	{"command", "commands", "rlcheck COMMAND --help says more"},
	{"flag", "flags", "of the commands"},
	{"member", "members", "of JSON documents (rlcheck schema)"},
}

// vocabulary has the words of the reports and of the flags that are in no closed list of verdicts.
var vocabulary = []entry{
	{"allowed", "outcome", "The request was admitted: no rule calls the status of its answer a denial."},
	{"denied", "outcome",
		"The limit refused the request: status 429, or a status that denied: names."},
	{"unknown", "outcome", "No answer came, or an answer that no rule calls an admission or a denial.\n" +
		"The judge allows for both. So an unknown outcome may excuse a target, and never accuses it."},
	{"required", "kind", "A FAIL makes the run FAIL (exit status 1)."},
	{"recommended", "kind", "A FAIL is reported and does not count, except with --strict."},
	{"informative", "kind", "A FAIL is reported and never counts."},
	{"partition", "word",
		"The key under which a quota is counted, such as an API key or an address (--partition).\nEach " +
			"partition is judged alone."},
	{"witness", "word", "The requests that prove a FAIL. They prove it without the rest of the " +
		"recording."},
	{"unit", "word", "What a quota counts. A request costs one unit, or as many as its X-Cost says."},
	{"declared", "word", "The limit that the target is supposed to keep (--limit, or limit: of the " +
		"scenario)."},
	{"measured", "word",
		"The values of a parameter that the recording does not refute, with the other parameters as " +
			"declared.\nburst 20 (measured 20..20): every other burst is refuted. Not measured: nothing " +
			"bounds the value."},
	{"worth", "word", "How much a PASS proves: the declared values, and what was measured of them.\nA " +
		"fault smaller than the measured interval would not have been seen."},
	{"nearness", "word", "The largest share of its limit that a client certainly had in use; 100 % is " +
		"all of it."},
	{"resolution", "word",
		"How exactly a PASS must measure the burst and the rate; otherwise the verdict is too-few.\nA " +
			"scenario demands the exact burst and the rate to 2 %, unless expect.resolution says " +
			"otherwise.\ncheck demands what --exact-burst, --burst-resolution and --rate-resolution say."},
	{"exact-burst", "word",
		"A PASS must measure the burst exactly (check --exact-burst); otherwise the verdict is too-few."},
	{"conformance", "word",
		"Which side of the limit is judged (--conformance): exact, both sides; upper-bound, only " +
			"whether too much is admitted; lower-bound, only whether too much is denied."},
	{"phase", "word", "A part of the load of a scenario, such as burst or rest (phases:).\nFor " +
		"windows: when they begin, counted from the start of the recording, modulo the window."},
	{"plan", "word",
		"Latency from the plan: from the time at which the request was due to the first byte of its " +
			"answer.\nIt is what a client felt: if a request waited before it was sent, the wait counts."},
	{"send", "word",
		"Latency from the send: from the time at which the request was sent to the first byte of its " +
			"answer.\nIt is the time that the target took."},
	{"generator", "word",
		"What rlcheck measured of itself: how late it sent, how close together a burst was, its " +
			"connections, its processors, its pauses. If a load was not sent as planned, the reason is " +
			"schedule-missed."},
	{"late", "word",
		"How much later than planned requests were sent. Lateness is the generator's fault, not the " +
			"target's."},
	{"planned", "word",
		"Requests of the schedule. planned = sent + unsent; sent = allowed + denied + unknown."},
	{"unsent", "word", "Planned requests that could not be sent, for example after an interruption. If an " +
		"agent is lost, its requests are among them, as it is not known which of them were sent."},
	{"fresh", "word",
		"Clients that no earlier run used (partition: fresh: true), so each begins as a new client.\n" +
			"The measured limit of a run joins only what fresh clients measured."},
	{"shared", "word",
		"Others may use the same keys (--shared, exclusive: false). An unexplained denial is then " +
			"foreign-traffic and no FAIL. In a SPEC: align=shared."},
	{"drift", "word",
		"By how many millionths the target's clock may run faster or slower than ours (--drift-ppm)."},
	{"wall-error", "word",
		"How far the target's clock may be from ours (--wall-error). It decides where windows may " +
			"begin with align=clock."},
	{"note", "word",
		"Something that was not judged and does not count: the target lacks it and did not promise " +
			"it.\n--promise names what the target promises. The lack is then a FAIL."},
	{"not-judged", "word",
		"The scenario needs something that the target lacks and did not promise (needs-failed).\nA " +
			"note names the scenario, and it does not count."},
	{"does-not-count", "word",
		"A FAIL of a recommended scenario without --strict, or of an informative scenario. It does not " +
			"change the exit status."},
	{"not-every-order", "word",
		"Not every order was tried: the exact search reached its limit of work. A fault that shows " +
			"only in the order of requests may be missed. Nothing else is weaker."},
	{"perhaps", "word",
		"A limit that explains the recording, or may explain it. It is a hint and proves nothing."},
	{"mend", "word", "What to change so that the scenario can be judged."},
	{"replay", "word",
		"The command that judges the kept recording again: the same verdict, and nothing is sent."},
	{"spec", "word",
		"The text for a limit: ALGORITHM,key=value,... For several limits that must all admit: SPEC + " +
			"SPEC."},
	{"window", "word", "The time for which a quota is given. Its start is the phase."},
	{"quota", "word", "How many units a window, a log or a bucket admits before it denies."},
	{"client", "word", "A sender of requests. Each client has its own partition, unless several share " +
		"one quota."},
	{"policy", "word", "A limit as it was measured: the values of its parameters that no scenario refutes."},
	{"recording", "word", "What was sent and when, and what came back: timeline.ndjson, or an access log."},
	{"timeline", "word", "The recording of a run, one observation in each line (rlcheck.timeline/v1)."},
	{"interval", "word", "The time in which a request was decided: from its sending to the first byte " +
		"of its answer.\nFor a measured parameter: the values that the recording does not refute."},
	{"bound", "word", "The most units that the declared limit can admit within a span, or the fewest that " +
		"must be in use for a denial."},
	{"cached", "word", "Answers that came from a cache on the way (Age, X-Cache). The limiter did not " +
		"decide them.\nMend: get past the cache (--past-caches)."},
	{"step", "word", "A phase of a load, such as 75 % of the limit: a row of the table Phases and of " +
		"the page acceptance."},
	{"simulated", "word", "The answers came from a correct limiter in virtual time, not from an " +
		"endpoint (rlcheck simulate). They prove nothing about a target."},
	{"retry", "word", "A request that a client sends again after a denial. For a run (--retries): a " +
		"scenario that showed too little is recorded again."},
	{"counts", "word", "Whether a verdict changes the exit status."},
	{"excerpt", "word", "The part of a large recording that a page draws: the requests around the first " +
		"findings."},
	{"not-shown", "word", "Too few runs, or runs that differ too much: a difference of latencies can " +
		"neither be shown nor excluded (rlcheck compare)."},
	{"class", "word", "Algorithms that look the same from outside: token bucket, GCRA and leaky bucket " +
		"with matching parameters."},
	{"identified", "identity", "One class of limits explains all answers. Its SPEC is printed."},
	{"open", "identity", "Several classes explain the answers, and the budget is used up. alternatives " +
		"lists them all."},
	{"none", "identity", "Every limit that identify looks for is refuted."},
	{"same", "change", "The verdict is the same as on the old side, or the scenario was never judged."},
	{"worse", "change", "PASS became INCONCLUSIVE or FAIL, or INCONCLUSIVE became FAIL."},
	{"better", "change", "FAIL became INCONCLUSIVE or PASS, or INCONCLUSIVE became PASS."},
	{"shared-quota", "diagnosis", "rlcheck tells these clients apart, but the target counts them under " +
		"one quota.\nMend: tell them apart as the target does (--partition address), or not at all\n" +
		"(--partition none)."},
	{"told-by-field", "diagnosis", "The target gives each value of a header field its own quota, and a " +
		"client can invent values.\nMend: count clients by something that they cannot invent. If the field " +
		"is meant to tell them apart, say so\n(--partition header:NAME)."},
}

// closedLists are the words that other packages define: errors of requests and shapes.
var closedLists = []entry{
	{"refused", "error", "The target refused the connection: nothing listens there."},
	{"reset", "error", "The target reset the connection, or closed a stream of it."},
	{"timeout", "error", "No answer came within target.timeout."},
	{"malformed", "error", "The answer is not HTTP."},
	{"header-too-large", "error", "The header of the answer is larger than 64 KiB."},
	{"tls", "error", "The TLS handshake failed."},
	{"tls-certificate", "error", "The certificate of the target was not accepted (--cacert, --host, " +
		"--insecure)."},
	{"tls-client", "error", "The target did not accept the certificate of the client, or its absence " +
		"(--cert, --key)."},
	{"tls-host", "error", "The target serves no host of that name (--host)."},
	{"no-tls", "error", "The target does not speak TLS: write http://."},
	{"wants-tls", "error", "The target asks for TLS: write https://."},
	{"http2", "error", "The answer breaks HTTP/2."},
	{"no-http2", "error", "The target does not speak HTTP/2: leave out --http2."},
	{"proxy", "error", "The HTTP proxy refused the connection (--proxy)."},
	{"no-proxy", "error", "The HTTP proxy does not answer (--proxy)."},
	{"no-socket", "error", "There is no such socket (--unix-socket)."},
	{"eof", "error", "The target closed the connection before the answer began."},
	{"closed", "error", "The connection was closed while the request was sent."},
	{"surplus", "error", "The target sent one answer too many: this answer may belong to another " +
		"request."},
	{"early", "error", "The target answered requests before it had all of them, so it may have " +
		"decided this one earlier than a long recording can say."},
	{"dns", "error", "The name of the host was not found."},
	{"forbidden", "error", "The address is public and not allowed (--allow)."},
	{"no-route", "error", "No network leads to the address."},
	{"interrupted", "error", "The recording was stopped before the answer came."},
	{"network", "error", "Another error of the network."},
	{"at-once", "shape",
		"All requests are on the wire, except for their last bytes, before the first is completed.\n80 " +
			"at once in 812 µs: the first and the last were completed 812 µs apart."},
	{"constant", "shape", "Requests at an even rate, whatever the answers are."},
	{"ramp", "shape", "A rate that grows or falls evenly."},
	{"steps", "shape", "Several even rates, one after the other."},
	{"poisson", "shape", "Requests at random times with a mean rate."},
	{"silence", "shape", "No request for a while."},
	{"boundary", "shape", "Requests around the boundary of a window."},
	{"closed", "shape", "Clients that send their next request after the answer to the previous one."},
	{"honor-retry-after", "shape", "Clients that wait after a denial as Retry-After says."},
	{"backoff", "shape", "Clients that wait longer after each denial."},
	{"hook", "shape", "No request: an event such as restart, reload, store-down or store-up, or a command."},
}
