// Package identify finds out which limit an endpoint has. Hypotheses are policies, and only the judge of
// package check refutes one. What is left of a kind are its policies that are not refuted. The next
// experiment is the one that divides them best. The core is pure: it asks a Sender for the recording of a
// phase. That may be an endpoint or a simulated limiter.
package identify
