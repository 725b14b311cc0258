// Package scenarios holds the scenario files that come with rlcheck. Beside them stand the JSON Schema that
// editors check such files with, and SOURCES.md with the anchors of their sources.
package scenarios

import "embed"

// FS holds NAME.yaml for each builtin:NAME, and more/NAME.yaml for those that are run only where they are
// named. core.txt has the names of builtin:core in the order of their use, each with what it catches.
//
//go:embed *.yaml more/*.yaml core.txt
var FS embed.FS
