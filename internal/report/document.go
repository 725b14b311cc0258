package report

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"regexp"
	"time"

	"github.com/rlcheck/rlcheck/internal/text"
)

// The schemas of the JSON that this package writes. Within one version members are added, never changed.
const (
	verdictForm = "rlcheck.verdict/v1" // see result.Schema
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
	s := numberLists.ReplaceAllFunc(b.Bytes(), func(list []byte) []byte {
		return bytes.ReplaceAll(whiteLines.ReplaceAll(list, nil), []byte(","), []byte(", "))
	})
	return text.CleanJSON(s), nil
}

// numberLists matches the lists of numbers in an indented JSON text, to put each on one line. It cannot match
// in a string, which has no raw newline.
var (
	numberLists = regexp.MustCompile(`\[\n\s*` + number + `(?:,\n\s*` + number + `)*\n\s*\]`)
	whiteLines  = regexp.MustCompile(`\n\s*`)
)

const number = `(?:-?[0-9][0-9.eE+-]*|null)`

// filled returns a copy of x as the documents show it: an empty list instead of none, wall times in UTC, and
// 0 for a number that JSON cannot express. Members that are not written are shared with x.
func filled[T any](x T) T {
	return Copy(x, func(x reflect.Value) (reflect.Value, bool) {
		switch v := x.Interface().(type) {
		case time.Time:
			return reflect.ValueOf(v.UTC()), true
		case float64:
			return reflect.ValueOf(0.0), math.IsNaN(v) || math.IsInf(v, 0)
		}
		if Own(x) {
			return x, true
		}
		if x.Kind() == reflect.Slice && x.IsNil() {
			return reflect.MakeSlice(x.Type(), 0, 0), true
		}
		return x, false
	})
}
