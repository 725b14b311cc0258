// Package claim judges what a scenario expects beyond conformance: header fields and bodies of denials, what
// answers say of the quota, what a proxy must not change, waits, latency, the schedule and the counts of
// phases. expect.go has the table of its questions. It also judges how clients retry after a denial
// (JudgeClients).
//
// # Client
//
// A request arrives later than it was sent, and a denial is read later than it was written. So the server
// sees at least the time that the client waited. If that time is too short at the server, the client's wait
// was too short. A recording alone cannot tell whether a request is a retry: see Options.Same.
package claim
