// Package document writes and reads the JSON documents of rlcheck, and has their schemas: the report of a
// run, the verdict on a recording, and the comparison of runs.
package document

import (
	"bytes"
	"encoding"
	"encoding/json"
	"math"
	"reflect"
	"regexp"
	"time"

	"github.com/rlcheck/rlcheck/internal/report/plain"
)

// The schemas of the JSON that this package writes. Within one version members are added, never changed.
const (
	verdictForm = "rlcheck.verdict/v1" // see verdict.Schema
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

// filled returns a copy of x as the documents show it: an empty list instead of none, wall times in UTC, and
// 0 for a number that JSON cannot express. Members that are not written are shared with x.
func filled[T any](x T) T { return fill(reflect.ValueOf(&x).Elem()).Interface().(T) }

func fill(x reflect.Value) reflect.Value {
	switch v := x.Interface().(type) {
	case time.Time:
		return reflect.ValueOf(v.UTC())
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return reflect.ValueOf(0.0)
		}
	case json.Marshaler, encoding.TextMarshaler: // it has a form of its own
		return x
	}
	switch out := reflect.New(x.Type()).Elem(); {
	case x.Kind() == reflect.Pointer && !x.IsNil():
		out.Set(reflect.New(x.Type().Elem()))
		out.Elem().Set(fill(x.Elem()))
		return out
	case x.Kind() == reflect.Slice:
		out.Set(reflect.MakeSlice(x.Type(), x.Len(), x.Len()))
		for i := range x.Len() {
			out.Index(i).Set(fill(x.Index(i)))
		}
		return out
	case x.Kind() == reflect.Struct:
		out.Set(x)
		for f, v := range out.Fields() {
			if f.IsExported() && f.Tag.Get("json") != "-" {
				v.Set(fill(v))
			}
		}
		return out
	}
	return x
}
