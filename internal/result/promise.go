package result

// Promise is a feature that a target may have or lack. A lack is held against it only if the feature was
// promised.
type Promise string

// The promises. The first three are header fields and bodies that standards leave open or that are
// conventions.
const (
	// PromiseRetryAfter: denials carry Retry-After (RFC 6585 section 4: MAY).
	PromiseRetryAfter Promise = "retry-after"
	// PromiseRateLimit: answers state their quota, in RateLimit, RateLimit-Limit, X-RateLimit-Limit or their
	// kin (no standard).
	PromiseRateLimit Promise = "ratelimit"
	// PromiseProblem: denials have a body of type application/problem+json (RFC 9457 asks nobody to send it).
	PromiseProblem Promise = "problem"
	// PromiseCost: a request takes as many units as its field X-Cost says.
	PromiseCost Promise = "cost"
	// PromiseMethods: the route answers the methods that are sent.
	PromiseMethods Promise = "methods"
)

// Promises returns all promises, in the order of the documentation.
func Promises() []Promise {
	return append(RecommendedPromises(), PromiseCost, PromiseMethods)
}

// RecommendedPromises returns the promises that are recommended to all limiters. A strict run takes them as
// given.
func RecommendedPromises() []Promise {
	return []Promise{PromiseRetryAfter, PromiseRateLimit, PromiseProblem}
}

// Lack says what is missing if p was never seen: sends no Retry-After (recommended).
func (p Promise) Lack() string {
	switch p {
	case PromiseRetryAfter:
		return "sends no Retry-After: recommended"
	case PromiseRateLimit:
		return "states no quota in RateLimit or X-RateLimit fields: recommended"
	case PromiseProblem:
		return "sends no application/problem+json with denials: recommended"
	case PromiseCost:
		return "takes no costs from X-Cost"
	case PromiseMethods:
		return "does not answer every method"
	default:
		return "has no " + string(p)
	}
}
