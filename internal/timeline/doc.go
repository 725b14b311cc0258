// Package timeline holds what was planned and what happened: the schedule of a run, and the observations that
// were recorded. They are in memory or, if they are too many, in a Spool. It reads and writes their files: a
// line of JSON for each observation, plain or compressed, the journal of a recording while it is made, and
// CSV. It measures how long answers took (LatencySummary). It knows neither HTTP nor any algorithm.
//
// Time is a time.Duration since the start of the recording, monotonic. Wall time appears once, in the Header.
package timeline
