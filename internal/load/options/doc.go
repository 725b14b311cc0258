// Package options is what a recording is asked to do: where and how a schedule is sent, what the names of
// partitions are on the wire, and what is checked of all that before anything is sent.
package options
