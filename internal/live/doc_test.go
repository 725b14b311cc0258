// Package live has only tests: rlcheck against limiters that others wrote, as processes on loopback. They are
// nginx, HAProxy, Redis and libraries of Python from Debian, packages of npm, and Go modules, set up as in
// testdata. Each test states, as a SPEC, the policy that a limiter really implements. The SPEC must pass, and
// other SPECs must fail with a witness.
//
// A test whose server is not installed is skipped. It fails if CI=true or RLCHECK_REQUIRE_SERVERS=1 says that
// all are installed. RLCHECK_SOAK=1 repeats what must hold fifty times out of fifty.
package live
