package transport

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

// target returns the request target for the partition named name, made of a path and a query. field is the
// header field that names the partition; ok is false if there is none. An empty name adds nothing.
func target(p Partition, path, query, name string) (target string, field [2]string, ok bool) {
	if name == "" {
		return join(path, query), field, false
	}
	switch p.Kind {
	case ByHeader:
		return join(path, query), [2]string{p.Name, p.Value(name)}, true
	case ByCookie:
		return join(path, query), [2]string{"Cookie", p.Name + "=" + name}, true
	case ByPath:
		path = strings.TrimSuffix(path, "/") + "/" + url.PathEscape(name)
	case ByQuery:
		if query != "" {
			query += "&"
		}
		query += url.QueryEscape(p.Name) + "=" + url.QueryEscape(name)
	}
	return join(path, query), field, false
}

func join(path, query string) string {
	if path == "" {
		path = "/"
	}
	if query == "" {
		return path
	}
	return path + "?" + query
}

// bodyOf returns the body of a request of the client named key. If the partition stands in the body, the key
// is in a field of a JSON object, or else of a form. media is the media type of that body, "" otherwise.
func bodyOf(p Partition, body []byte, key string) (out []byte, media string) {
	if p.Kind != ByBody || key == "" {
		return body, ""
	}
	if object := map[string]json.RawMessage{}; json.Unmarshal(body, &object) == nil {
		object[p.Name], _ = json.Marshal(key) // every string can be written as JSON
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if e.Encode(object) == nil {
			return bytes.TrimSpace(b.Bytes()), "application/json"
		}
	}
	form, _ := url.ParseQuery(string(body)) // what cannot be read is left out
	form.Set(p.Name, key)
	return []byte(form.Encode()), "application/x-www-form-urlencoded"
}

// minted returns the name on the wire of request n of a phase in which each request uses another name.
func minted(o *Options, key string, n int) string {
	if len(o.Minted) > 0 {
		return o.Minted[n%len(o.Minted)]
	}
	return fmt.Sprintf("%s.%d", key, n)
}
