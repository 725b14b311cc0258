// Package result is the record of a run: its scenarios, their verdicts and recordings, and what they measured
// together. It has the words that the judge, the claims and the reports share: verdicts and their reasons,
// findings, and the judgement on a recording.
package result
