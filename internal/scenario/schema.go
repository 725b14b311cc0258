package scenario

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
)

// schemaID names the schema; it is an identifier and need not be fetched.
const schemaID = "https://rlcheck.github.io/scenario.schema.json"

// Schema returns the JSON Schema (draft 2020-12) of scenario files, indented. It comes from the tables that
// also read the files. It cannot express sums, ceilings and references between phases. Only Parse checks
// these.
func Schema() ([]byte, error) {
	s := *grammar().schema
	s.ID = schemaID
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "rlcheck scenario"
	s.Description = "What to send to a rate limited endpoint, under which limit, and what to expect of its " +
		"answers."
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("scenario schema: %w", err)
	}
	return append(out, '\n'), nil
}

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
