// Package rundir has the files of a run: manifest, lock, plans, recordings and reports. Recordings may be
// larger than memory.
package rundir
