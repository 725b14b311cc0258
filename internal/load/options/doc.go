// Package options is what a recording is asked to do: where and how a schedule is sent, and what partitions
// are called on the wire. It checks the options before anything is sent.
package options
