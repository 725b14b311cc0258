// Package cause has the words by which a recording says why a request got no answer. It also says why a whole
// target did not answer or a plan was not kept, and what helps.
package cause
