// Package audit is what the generator records of itself: the processor time and the garbage collections of
// its process, when that stood still, how late it read what had come, and how well a plan was kept.
package audit
