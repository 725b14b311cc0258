// Package audit is what the generator records about itself: processor time, garbage collections, stalls, read
// lag, and how well the plan was kept.
package audit
