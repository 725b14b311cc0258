// Package spec holds the language in which limits are declared: its words, how a SPEC is read and printed,
// what its keys mean, and which of them contradict each other. It knows no algorithm: those are in package
// reference.
//
// It also translates a product's own configuration into the SPEC that the product really implements
// (Product): nginx:rate=10r/s,burst=20,nodelay is leaky-bucket,rate=10/s,burst=21. A product is an entry of
// products.txt: what may be written, the SPEC, how it differs from its documentation, and the source. If the
// SPEC is more than a form with blanks, it is a function in formulas.go.
package spec
