package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("scenario schema: %w", err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return nil, fmt.Errorf("scenario schema: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}
