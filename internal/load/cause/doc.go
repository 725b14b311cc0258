// Package cause has the words by which a recording says why a request got no answer, and tells of a whole
// recording what kept its target from answering, or its plan from being kept, and what helps.
package cause
