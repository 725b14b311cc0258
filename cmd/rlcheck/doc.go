// Command rlcheck tests rate limiters: load, and proofs of what went wrong. This package turns flags into
// options, and results into an exit status. A command has a file of its own.
package main
