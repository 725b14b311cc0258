package scenario

import (
	"bytes"
	_ "embed"
	"regexp"
	"slices"
)

//go:embed template.yaml
var template []byte

// templateID are the ids that need no quotes in YAML.
var templateID = regexp.MustCompile(phaseNamePattern)

// Template returns the scenario that `rlcheck init` prints. It has every part of the format, with comments,
// and parses. Its id is the given one, or my-endpoint if that is no lower case name that begins with a
// letter.
func Template(id string) []byte {
	const example = "my-endpoint"
	if !templateID.MatchString(id) {
		id = example
	}
	return bytes.Replace(template, []byte("id: "+example), []byte("id: "+id), 1)
}

//go:embed config.template.yaml
var configTemplate []byte

// ConfigTemplate returns the configuration that `rlcheck init rlcheck.yaml` writes. It parses, and what it
// names can be run as it is.
func ConfigTemplate() []byte { return slices.Clone(configTemplate) }
