// Package load sends a schedule open loop and records what became of every request. It knows HTTP and no
// limit algorithm. This package has the phases: how each plays its arrivals or its clients. It also gathers
// the recording. Package transport does the rest: options, connections, pacers, the journal.
//
// The clock is the time since the recording started, monotonic. One goroutine, the pacer, waits for the due
// times and sends. A request that finds no idle connection waits for the next one. It is recorded with its
// real, late send time.
//
// Every request is recorded, also those that aim a boundary. Nothing is retried and no redirect is followed.
// Compression is not negotiated. A proxy is used only if the options name one.
//
// A recording that may become long is sorted into a file while it is made (long.go, timeline.Spool). So
// memory does not grow with the recording; only the plan stays in memory.
package load
