// Package reference holds the rate limiting algorithms, pure and exact: integer arithmetic, an explicit
// clock, states that are values. It has one file for each algorithm. It also plays requests against them in
// virtual time (Play): what a right limiter would have done. It reads no clock, sends nothing and knows no
// HTTP.
package reference
