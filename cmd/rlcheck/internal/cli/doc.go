// Package cli is what all commands share: their access to the system, exit statuses and messages, the formats
// of -o, files that are written completely or not at all, and the progress display.
package cli
