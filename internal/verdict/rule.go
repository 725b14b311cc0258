package verdict

// rules are the rules that findings rest on: by the kind of their claim and their own, or by that of the
// claim alone. A rule that is read from the answer stands in the finding itself.
var rules = map[ClaimKind]map[Kind]string{
	ClaimConformance: {
		OverAdmission: "AL-UPPER", UnderAdmission: "AL-LOWER", NoExplanation: "AL-UPPER",
	},
	ClaimRetryAfterHonored:   {"": "RA-NOT-EARLY"},
	ClaimRetryAfterNotLonger: {"": "RA-NOT-LATE"},
	ClaimFieldsRetryAfter:    {"field-missing": "ST-429-RA"},
	ClaimFieldsRateLimit:     {"field-missing": "XR-SET"},
	ClaimFieldsDate:          {"field-missing": "ST-DATE"},
	ClaimFieldsProblem:       {"field-missing": "PD-TYPE"},
	ClaimFieldsNoStore:       {"": "ST-429-NOSTORE"},
	ClaimFieldsExplanation:   {"": "ST-429-BODY"},
	ClaimQuotaAgrees:         {"": "RL-CONSISTENT-LEGACY"},
	ClaimQuotaStable:         {"": "RP-STABLE"},
	ClaimQuotaCounts:         {"": "RL-MONO"},
	ClaimQuotaLimit:          {"": "RL-LIMIT"},
	ClaimQuotaReset:          {"": "RL-TRUTH-T"},
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

// NameRules names in each finding of a claim of the kind the rule that it rests on, unless it has its own: a
// word that `rlcheck explain` knows. What rests on the expectation of a scenario alone has none.
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

// RuleNames are all rules that findings may name by the kind of their claim, each once or more.
func RuleNames() (out []string) {
	for _, of := range rules {
		for _, name := range of {
			out = append(out, name)
		}
	}
	return out
}
