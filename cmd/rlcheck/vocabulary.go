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
	{"promise", "promises", "what a target may have or not (--promise)"},
	{"algorithm", "algorithms", "the first word of a SPEC"},
	{"key", "keys", "of a SPEC, as key=value"},
	{"preset", "presets", "products whose own words a SPEC may be (rlcheck list presets)"},
	{"rule", "rules", "of header fields and bodies"},
	{"fault", "faults", "deliberate defects of the embedded target (--fault)"},
	{"scenario", "scenarios", "the bundled ones (builtin:NAME)"},
	{"identity", "identities", "what identify found out"},
	{"change", "changes", "what compare says of a verdict"},
	{"error", "errors", "why a request got no answer"},
	{"format", "formats", "of reports (-o FORMAT[=PATH])"},
	{"shape", "shapes", "how the requests of a phase are spread over time (shape:)"},
	{"command", "commands", "rlcheck COMMAND --help tells more"},
	{"flag", "flags", "of the commands"},
	{"member", "members", "of JSON documents (rlcheck schema)"},
}

// vocabulary has the words of the reports and of the flags that are in no closed list of verdicts.
var vocabulary = []entry{
	{"allowed", "outcome", "The request was admitted: its answer has a status that no rule calls a denial."},
	{"denied", "outcome",
		"The request was refused because of the limit: 429, or a status that denied: names."},
	{"unknown", "outcome", "No answer came, or one that no rule calls an admission or a denial.\n" +
		"The judge takes it for either: it excuses a target, and never accuses it."},
	{"required", "kind", "A FAIL makes the run FAIL (exit status 1)."},
	{"recommended", "kind", "A FAIL is reported and does not count, unless --strict is given."},
	{"informative", "kind", "A FAIL is reported and never counts."},
	{"partition", "word",
		"The key that a quota is counted under, such as an API key or an address (--partition).\n" +
			"Each partition is judged alone."},
	{"witness", "word", "The requests that prove a FAIL. They FAIL without the rest of the recording too."},
	{"unit", "word", "What a quota counts. A request costs one unit, or as many as its X-Cost says."},
	{"declared", "word", "The limit that the target is said to keep (--limit, or limit: of the scenario)."},
	{"measured", "word",
		"The values of a parameter that the recording does not refute, the others held as declared.\n" +
			"burst 20 (measured 20..20): every other burst is refuted. Not measured: nothing bounds it."},
	{"worth", "word", "What a PASS is worth: the declared values and what was measured of them.\n" +
		"A fault smaller than the measured interval would not have been seen."},
	{"nearness", "word", "The largest share of its limit that a client certainly had in use: 100 % is " +
		"all of it."},
	{"resolution", "word",
		"How exactly a PASS must have measured the burst and the rate; otherwise it is too-few.\n" +
			"A scenario demands the burst exactly and the rate to 2 %, unless expect.resolution differs.\n" +
			"check demands what --exact-burst, --burst-resolution and --rate-resolution say."},
	{"exact-burst", "word",
		"A PASS must have measured the burst exactly (check --exact-burst); otherwise it is too-few."},
	{"conformance", "word",
		"Which side of the limit is judged (--conformance): exact, both sides; upper-bound, whether too " +
			"much is admitted; lower-bound, whether too much is denied."},
	{"phase", "word", "A part of the load of a scenario, such as burst or rest (phases:).\n" +
		"Of windows: when they begin, counted from the start of the recording, modulo the window."},
	{"plan", "word",
		"Latency from the plan: from the time at which the request was due to the first byte of its " +
			"answer.\n" +
			"It is what a client felt: a request that waited to be sent counts its wait."},
	{"send", "word",
		"Latency from the send: from the sending of the request to the first byte of its answer.\n" +
			"It is what the target took."},
	{"generator", "word",
		"What rlcheck measured of itself: how late it sent, how close together a burst was, its " +
			"connections, " +
			"its processors, its pauses. A load that was not sent as planned is schedule-missed."},
	{"late", "word",
		"How much later than planned requests were sent. It is a fault of the generator, not of the target."},
	{"planned", "word",
		"Requests of the schedule. planned = sent + unsent; sent = allowed + denied + unknown."},
	{"unsent", "word", "Planned requests that could not be sent, such as those after an interruption."},
	{"fresh", "word",
		"Clients that no other run had (partition: fresh: true), so that each begins as a new one.\n" +
			"Only what they measure is joined in the measured policy of a run."},
	{"shared", "word",
		"Others may use the same keys (--shared, exclusive: false). An unexplained denial is then " +
			"foreign-traffic and no FAIL. Of a SPEC: align=shared."},
	{"drift", "word",
		"By how many millionths the clock of the target may run faster or slower than ours (--drift-ppm)."},
	{"wall-error", "word",
		"How far the clock of the target may be from ours (--wall-error). It says where windows may begin " +
			"with align=clock."},
	{"note", "word",
		"What was not judged and does not count: the target lacks something that it did not promise.\n" +
			"--promise names what it promises; then the lack is a FAIL."},
	{"not-judged", "word",
		"The scenario needs something that the target lacks and did not promise (needs-failed).\n" +
			"It is named in a note, and does not count."},
	{"does-not-count", "word",
		"A FAIL of a recommended scenario without --strict, or of an informative one. It does not change " +
			"the exit status."},
	{"not-every-order", "word",
		"Not every order was tried: the exact search reached its cap. A fault visible only in the order " +
			"of requests may be missed. Nothing else is weaker."},
	{"perhaps", "word",
		"A limit that would explain the recording, or may. It is a hint, and proves nothing."},
	{"mend", "word", "What to change so that the scenario can be judged."},
	{"replay", "word",
		"The command that judges the kept recording again, with the same verdict and no traffic."},
	{"spec", "word",
		"The words for a limit: ALGORITHM,key=value,... Several, all of which must admit: SPEC + SPEC."},
	{"window", "word", "The time that a quota is for. When it begins is the phase."},
	{"quota", "word", "How many units a window, a log or a bucket may admit before it denies."},
	{"client", "word", "Who sends requests: each has a partition of its own, unless several share one " +
		"quota."},
	{"policy", "word", "A limit as it was measured: the values of its parameters that no scenario refutes."},
	{"recording", "word", "What was sent and when, and what came back: timeline.ndjson, or an access log."},
	{"timeline", "word", "The recording of a run, an observation a line (rlcheck.timeline/v1)."},
	{"interval", "word", "The time in which a request was decided: from its sending to the first byte " +
		"of its " +
		"answer.\nOf a measured parameter: the values that the recording does not refute."},
	{"bound", "word", "The most units that the declared limit can admit within a span, or the fewest that " +
		"must be in use for a denial."},
	{"cached", "word", "Answers that a cache on the way gave (Age, X-Cache). The limiter did not decide " +
		"them.\n" +
		"Mend: ask past the cache (--past-caches)."},
	{"step", "word", "A phase of a load, such as 75 % of the limit; a row of the table Phases and of the " +
		"page acceptance."},
	{"simulated", "word", "A right limiter in virtual time answered, and no endpoint (rlcheck simulate). " +
		"It proves nothing of a target."},
	{"retry", "word", "A request that a client sends again after a denial. Of a run (--retries): a " +
		"scenario " +
		"that showed too little is recorded again."},
	{"counts", "word", "Whether a verdict changes the exit status."},
	{"excerpt", "word", "The part of a large recording that a page draws: the requests around the first " +
		"findings."},
	{"not-shown", "word", "Too few runs, or runs too far apart: a difference of latencies can neither " +
		"be shown " +
		"nor excluded (rlcheck compare)."},
	{"class", "word", "Algorithms that no endpoint shows apart: token bucket, GCRA and leaky bucket under " +
		"matched parameters."},
	{"identified", "identity", "One class of limits explains all answers; its SPEC is printed."},
	{"open", "identity", "Several classes explain the answers within the budget; alternatives has them " +
		"all."},
	{"none", "identity", "Every limit that rlcheck knows is refuted."},
	{"same", "change", "The verdict is the one of the old side, or of something that was never judged."},
	{"worse", "change", "PASS became INCONCLUSIVE or FAIL, or INCONCLUSIVE became FAIL."},
	{"better", "change", "FAIL became INCONCLUSIVE or PASS, or INCONCLUSIVE became PASS."},
	{"shared-quota", "diagnosis", "Clients that are told apart by rlcheck have one quota together.\n" +
		"Mend: tell them apart as the target does (--partition address), or not at all\n" +
		"(--partition none)."},
}

// closedLists are the words that other packages define: errors of requests, formats and shapes.
var closedLists = []entry{
	{"refused", "error", "The target refused the connection: nothing listens there."},
	{"reset", "error", "The target reset the connection, or closed a stream of it."},
	{"timeout", "error", "No answer came within target.timeout."},
	{"malformed", "error", "The answer is no HTTP."},
	{"header-too-large", "error", "The header of the answer has over 64 KiB."},
	{"tls", "error", "The TLS handshake failed."},
	{"tls-certificate", "error", "The certificate of the target was not accepted (--cacert, --host, " +
		"--insecure)."},
	{"no-tls", "error", "The target does not speak TLS: write http://."},
	{"wants-tls", "error", "The target asks for TLS: write https://."},
	{"http2", "error", "The answer breaks HTTP/2."},
	{"no-http2", "error", "The target does not speak HTTP/2: leave out --http2."},
	{"proxy", "error", "The HTTP proxy refused the connection (--proxy)."},
	{"no-proxy", "error", "The HTTP proxy does not answer (--proxy)."},
	{"no-socket", "error", "There is no such socket (--unix-socket)."},
	{"eof", "error", "The target closed the connection before the answer began."},
	{"closed", "error", "The connection was closed while the request was sent."},
	{"surplus", "error", "The target sent an answer too many: this one may be another request's."},
	{"dns", "error", "The name of the host was not found."},
	{"forbidden", "error", "The address is public and not allowed (--allow)."},
	{"no-route", "error", "No network leads to the address."},
	{"interrupted", "error", "The recording was stopped before the answer came."},
	{"network", "error", "Another error of the network."},
	{"table", "format", "For a terminal: the verdict, what was measured, and what proves a FAIL."},
	{"json", "format", "For programs: rlcheck schema report (verdict, compare, identity) describes it."},
	{"junit", "format", "For CI: a test case a claim."},
	{"markdown", "format", "For a pull request or a step summary."},
	{"github", "format", "Annotations of GitHub Actions."},
	{"html", "format", "One page without scripts: the requests, the witness and the limit as pictures."},
	{"acceptance", "format", "One page to print and sign before a release: a row a step of the load."},
	{"ndjson", "format", "The timeline, an observation a line; of one scenario."},
	{"csv", "format", "The timeline as a table."},
	{"clients", "format", "What became of each client, as CSV: the most denials first."},
	{"hlog", "format", "The latencies as an HdrHistogram log; of one scenario."},
	{"openmetrics", "format", "Counters, latencies and verdicts for Prometheus."},
	{"at-once", "shape",
		"All but the last bytes of every request are on the wire before the first one is " +
			"completed.\n" +
			"80 at once in 812 µs: so far apart were the first and the last."},
	{"constant", "shape", "Requests at an even rate, whatever comes back."},
	{"ramp", "shape", "A rate that grows or falls evenly."},
	{"steps", "shape", "Several even rates, one after the other."},
	{"poisson", "shape", "Requests at random times with a mean rate."},
	{"silence", "shape", "No request for a while."},
	{"boundary", "shape", "Requests around the boundary of a window."},
	{"closed", "shape", "Clients of which each sends its next request after the answer to the last one."},
	{"honor-retry-after", "shape", "Clients that wait after a denial as it says."},
	{"backoff", "shape", "Clients that wait longer after each denial."},
	{"hook", "shape", "No request: an event such as restart, reload, store-down or store-up, or a command."},
}
