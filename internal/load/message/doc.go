// Package message makes requests: their bytes for HTTP/1.1, their fields for HTTP/2. The content follows from
// the options of a recording, the partition, and what a phase sets for its own requests.
package message
