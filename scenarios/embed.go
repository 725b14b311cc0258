// Package scenarios holds the scenario files that come with rlcheck, and the JSON Schema that editors check such files
// with.
package scenarios

import "embed"

// FS holds NAME.yaml for each builtin:NAME, scenario.schema.json, and SOURCES.md with the anchors of their sources.
//
//go:embed *.yaml scenario.schema.json SOURCES.md
var FS embed.FS
