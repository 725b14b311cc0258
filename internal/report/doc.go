// Package report prints the results of a run, one file for each output format. Everything that it prints is
// in a result.Run. It puts results into words once for all formats (Failures, Causes, Mend), writes and reads
// the JSON documents with their schemas (ReadDocument), draws recordings as SVG, and compares two sides of
// runs (Compare). It judges nothing and reads no file, clock or environment. Text from outside is cleaned
// before it reaches a reader.
package report
