// Package scenarios holds the scenario files that come with rlcheck, and the JSON Schema that editors check
// such files with.
package scenarios

import "embed"

// FS holds NAME.yaml for each builtin:NAME, more/NAME.yaml for those that are run only where they are named,
// scenario.schema.json, and SOURCES.md with the anchors of their sources.
//
//go:embed *.yaml more/*.yaml scenario.schema.json SOURCES.md
var FS embed.FS
