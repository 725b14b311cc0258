// Package scenario says what is sent to a target, under which limit, and what its answers must show. Parse
// reads the files of scenarios by tables: which keys there are, which form their values have, and which
// numbers the multiples of the limit are. The same tables make the JSON Schema for editors, so the two cannot
// disagree. Plan turns a Scenario into a schedule. The package knows what a run takes, which scenarios fit a
// budget and which must be recorded alone.
package scenario
