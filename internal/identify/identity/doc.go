// Package identity is what `rlcheck identify` found out, and how it says so to people and to programs.
package identity
