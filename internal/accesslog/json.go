package accesslog

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// object reads lines that are one JSON object each. The value of a member inside other members has their
// names with dots between them. The element of a list has its number: request.headers.X-Api-Key.0. Of two
// members with one name the first counts.
type object struct {
	t *table
	// key is the name of the member that is being read.
	key []byte
}

func (j *object) split(line []byte, v values) flaw {
	if !json.Valid(line) {
		return flaw{what: "line " + quote(line),
			why: "it is not JSON: the line is cut, or a value without quotes is empty"}
	}
	if line[skipSpace(line, 0)] != '{' {
		return flaw{what: "line " + quote(line), why: "a JSON object is needed"}
	}
	j.key = j.key[:0]
	j.walk(line, skipSpace(line, 0), v)
	for s := range v {
		if none(v[s]) {
			v[s] = nil
		}
	}
	return flaw{}
}

// walk reads the value at line[i:], which is valid JSON, and returns where it ends.
func (j *object) walk(line []byte, i int, v values) int {
	switch line[i] {
	case '{':
		return j.members(line, i+1, v)
	case '[':
		return j.elements(line, i+1, v)
	case '"':
		end := endOfString(line, i+1)
		j.put(line[i:end+1], true, v)
		return end + 1
	}
	end := i
	for end < len(line) && strings.IndexByte(",]} \t\r\n", line[end]) < 0 {
		end++
	}
	if string(line[i:end]) != "null" {
		j.put(line[i:end], false, v)
	}
	return end
}

func (j *object) members(line []byte, i int, v values) int {
	outer := len(j.key)
	for i = skipSpace(line, i); line[i] != '}'; {
		end := endOfString(line, i+1)
		if outer > 0 {
			j.key = append(j.key, '.')
		}
		j.key = append(j.key, line[i+1:end]...)
		i = skipSpace(line, end+1) // at the colon
		i = j.walk(line, skipSpace(line, i+1), v)
		j.key = j.key[:outer]
		if i = skipSpace(line, i); line[i] == ',' {
			i = skipSpace(line, i+1)
		}
	}
	return i + 1
}

func (j *object) elements(line []byte, i int, v values) int {
	outer := len(j.key)
	n := int64(0)
	for i = skipSpace(line, i); line[i] != ']'; n++ {
		j.key = strconv.AppendInt(append(j.key, '.'), n, 10)
		i = j.walk(line, i, v)
		j.key = j.key[:outer]
		if i = skipSpace(line, i); line[i] == ',' {
			i = skipSpace(line, i+1)
		}
	}
	return i + 1
}

// put keeps the value of the member j.key if it is needed.
func (j *object) put(value []byte, quoted bool, v values) {
	s, ok := j.t.slots[string(j.key)]
	if !ok || v[s] != nil {
		return
	}
	text := value
	if quoted {
		text = value[1 : len(value)-1]
	}
	v[s] = text[:len(text):len(text)]
	// Bytes that are no UTF-8 stay as they are, or they would become one byte.
	if quoted && bytes.IndexByte(value, '\\') >= 0 && utf8.Valid(value) {
		var decoded string
		_ = json.Unmarshal(value, &decoded) // the line is valid
		v[s] = []byte(decoded)
	}
}

func skipSpace(line []byte, i int) int {
	for i < len(line) && (line[i] == ' ' || line[i] == '\t' || line[i] == '\r' || line[i] == '\n') {
		i++
	}
	return i
}

// endOfString returns the index of the last quote of the string that begins at line[i:].
func endOfString(line []byte, i int) int {
	for line[i] != '"' {
		if line[i] == '\\' {
			i++
		}
		i++
	}
	return i
}
