package scenario

import (
	_ "embed"
	"slices"
)

//go:embed template.yaml
var template []byte

// Template returns the scenario that `rlcheck init` prints: every part of the format with a comment, and it
// parses.
func Template() []byte { return slices.Clone(template) }
