// Package document writes and reads the JSON documents of rlcheck, and has their schemas: the report of a
// run, the verdict on a recording, and the comparison of runs.
package document

import (
	"bytes"
	"encoding/json"
	"regexp"

	"github.com/rlcheck/rlcheck/internal/report/plain"
)

// The schemas of the JSON that this package writes. Within one version members are added, never changed.
const (
	verdictForm = "rlcheck.verdict/v1"
	reportForm  = "rlcheck.report/v1"
	compareForm = "rlcheck.compare/v1"
)

// marshal returns v as indented JSON that ends in a newline. Characters that a reader of the text would not
// see are written as \u escapes. The value stays exact, and the text is safe to print.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	text := numberLists.ReplaceAllFunc(b.Bytes(), func(list []byte) []byte {
		return bytes.ReplaceAll(whiteLines.ReplaceAll(list, nil), []byte(","), []byte(", "))
	})
	return plain.JSON(text), nil
}

// numberLists matches the lists of numbers in an indented JSON text, to put each on one line. It cannot match
// in a string, which has no raw newline.
var (
	numberLists = regexp.MustCompile(`\[\n\s*` + number + `(?:,\n\s*` + number + `)*\n\s*\]`)
	whiteLines  = regexp.MustCompile(`\n\s*`)
)

const number = `(?:-?[0-9][0-9.eE+-]*|null)`
