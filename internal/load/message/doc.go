// Package message makes requests: their bytes for HTTP/1.1, their fields for HTTP/2. What they say follows
// from the options of a recording, the partition, and what the requests of a phase have of their own.
package message
