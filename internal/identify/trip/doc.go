// Package trip knows how long answers take, and what may be supposed of the path to an endpoint.
package trip
