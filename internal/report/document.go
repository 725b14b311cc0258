package report

import (
	"bytes"
	"encoding"
	"encoding/json"
	"math"
	"reflect"
	"regexp"
	"time"

	"github.com/rlcheck/rlcheck/internal/result"
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

// cleanRun returns a copy of r in which every text has passed Text, and URLs have no credentials. Timelines
// are shared and not copied. Their texts are cleaned where they are used.
func cleanRun(r *result.Run) *result.Run {
	c := Copy(*r, func(x reflect.Value) (reflect.Value, bool) {
		if x.Kind() != reflect.String {
			return x, Own(x)
		}
		return reflect.ValueOf(text.Clean(x.String())).Convert(x.Type()), true
	})
	for i := range c.Scenarios {
		s, raw := &c.Scenarios[i], &r.Scenarios[i]
		s.Target, s.Origin, s.Excerpt = text.Clean(text.CleanURL(raw.Target)),
			text.Clean(text.CleanURL(raw.Origin)), text.Clean(raw.Excerpt)
		for k := range s.Statuses {
			s.Statuses[k].Location = text.Clean(text.CleanURL(raw.Statuses[k].Location))
		}
	}
	return &c
}

// Own tells whether the JSON of a value is not that of its members.
func Own(x reflect.Value) bool {
	switch x.Interface().(type) {
	case json.Marshaler, encoding.TextMarshaler:
		return true
	}
	return false
}

// Copy returns a copy of x with what edit returns in place of each value in it, if edit says so. Members that
// JSON leaves out are shared with x.
func Copy[T any](x T, edit func(reflect.Value) (reflect.Value, bool)) T {
	return copied(reflect.ValueOf(&x).Elem(), edit).Interface().(T)
}

func copied(x reflect.Value, edit func(reflect.Value) (reflect.Value, bool)) reflect.Value {
	if v, done := edit(x); done {
		return v
	}
	out := reflect.New(x.Type()).Elem()
	out.Set(x)
	switch {
	case x.Kind() == reflect.Pointer && !x.IsNil():
		out.Set(reflect.New(x.Type().Elem()))
		out.Elem().Set(copied(x.Elem(), edit))
	case x.Kind() == reflect.Slice && !x.IsNil():
		out.Set(reflect.MakeSlice(x.Type(), x.Len(), x.Len()))
		for i := range x.Len() {
			out.Index(i).Set(copied(x.Index(i), edit))
		}
	case x.Kind() == reflect.Array:
		for i := range x.Len() {
			out.Index(i).Set(copied(x.Index(i), edit))
		}
	case x.Kind() == reflect.Struct:
		for f, v := range out.Fields() {
			if f.IsExported() && f.Tag.Get("json") != "-" {
				v.Set(copied(v, edit))
			}
		}
	}
	return out
}
