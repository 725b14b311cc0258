// Package trial runs a parsed scenario, from its file to its verdict: it plans, has the embedded target
// started if needed, records and judges. It returns a result.Scenario. It also says what the scenarios of a
// run show together, which limits would explain a FAIL, removes secrets from everything that is shown or kept
// (Redactor), and runs commands of the user.
package trial
