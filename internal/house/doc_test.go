// Package house holds the tests of the house rules: which room may import which, how many lines a room has,
// who is the only user of a third-party module, and how hard a function may be to read. It reads the sources
// in its own process, since the test cache does not see what a subprocess reads.
package house
