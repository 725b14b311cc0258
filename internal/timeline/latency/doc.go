// Package latency measures how long the answers of a recording took: distributions to three digits, and logs
// of HdrHistogram.
package latency
