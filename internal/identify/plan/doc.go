// Package plan chooses the next experiment: the one that divides best what is left, for its requests and its
// time. Models, which are single policies that are not refuted, predict what each experiment shows.
package plan
