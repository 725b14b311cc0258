package report

import (
	"encoding"
	"encoding/json"
	"reflect"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
)

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
