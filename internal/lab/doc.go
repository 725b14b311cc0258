// Package lab is the laboratory: targets on the loopback interface that are right or have one named fault, in
// memory or on Redis, and proxies that pass, strip or rewrite header fields. A fault is a deliberate defect
// that a real product had. Embed starts the target that a scenario asks for. Selftest runs every bundled
// scenario against every fault that it claims to catch. Only serve, proxy, selftest, what starts embedded
// targets, and tests import this package.
package lab
