// Package house holds the tests of the house rules: who may import whom, who is the only user of a
// third-party module, and how large files and functions may grow. It reads the sources in its own process,
// since the test cache does not see what a subprocess reads.
package house
