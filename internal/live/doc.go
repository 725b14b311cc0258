// Package live holds no code but tests: rlcheck against limiters that others wrote, as processes on loopback.
// They are nginx, HAProxy, Redis and libraries of Python from Debian, packages of npm and Go modules, set up
// as in testdata. Each test states, as a SPEC, the policy that a limiter really implements; the SPEC is found
// true, and others are found false with a witness.
//
// A test whose server is not installed is skipped, or fails where CI=true or RLCHECK_REQUIRE_SERVERS=1 says
// that all are there. RLCHECK_SOAK=1 repeats what must hold fifty times out of fifty.
package live
