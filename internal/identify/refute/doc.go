// Package refute asks the judge whether a recording refutes a limit. Unlike package check it supposes that a
// request without an answer was decided soon or never. It also knows clocks of whole seconds.
package refute
