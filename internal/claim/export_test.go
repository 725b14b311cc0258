package claim

// What tests that import the embedded target share with those of this package. The target imports scenarios,
// which import claims, so those tests have a package of their own.
var (
	Fewer          = fewer
	NotAccused     = notAccused
	Parse          = parse
	TellingLimiter = tellingLimiter
	Widened        = widened
)
