package accesslog

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// mostWraps is how many wrappers a line may have, one around the other.
const mostWraps = 3

// wrap is a line, or what a wrapper of it holds.
type wrap struct {
	line []byte
	// by names the wrapper that was taken off. errors: it marks the line as output of errors. part: the line
	// goes on in the next one.
	by           string
	errors, part bool
}

const bySyslog = "syslog or journald"

// unwrapped returns a line, what its wrapper holds, what a wrapper in that holds, and so on. Two headers of
// syslog are those of two lines, of which the first lost the rest.
func unwrapped(line []byte, isJSON bool, list []wrap) []wrap {
	list = append(list[:0], wrap{line: line})
	for len(list) <= mostWraps {
		w := unwrap(list[len(list)-1].line, isJSON)
		if w.by == "" || w.by == bySyslog && w.by == list[len(list)-1].by {
			break
		}
		list = append(list, w)
	}
	return list
}

// unwrap takes off the outermost wrapper of a line:
//
//	2026-11-26T10:00:00.05Z stdout F LINE         container runtimes (CRI)
//	2026-11-26T10:00:00.05Z LINE                  kubectl logs --timestamps
//	[pod/NAME/CONTAINER] LINE                     kubectl logs --prefix
//	web-1  | LINE                                 docker compose logs
//	{"log":"LINE\n","stream":"stdout","time":"…"} docker, fluentd (also "message", "MESSAGE", "line")
//	Nov 26 10:00:00 HOST nginx[7]: LINE           journalctl, syslog, with or without <134>
//	<134>1 2026-11-26T10:00:00Z HOST nginx 7 - - LINE
func unwrap(line []byte, isJSON bool) wrap {
	if len(line) < 8 {
		return wrap{}
	}
	switch c := line[0]; {
	case c == '{':
		return unwrapJSON(line, isJSON)
	case c == '[' && bytes.HasPrefix(line, []byte("[pod/")):
		if _, rest, ok := bytes.Cut(line, []byte("] ")); ok {
			return wrap{line: rest, by: "kubectl"}
		}
	case c == '<' || c >= 'A' && c <= 'Z' && line[3] == ' ':
		return unwrapSyslog(line)
	case c >= '0' && c <= '9' && len(line) > 20 && line[4] == '-' && line[10] == 'T':
		return unwrapTimed(line)
	}
	if name, rest, ok := bytes.Cut(line, []byte("| ")); ok {
		if name = bytes.TrimRight(name, " "); len(name) > 0 && !bytes.ContainsAny(name, " \"[{(|,") {
			return wrap{line: rest, by: "docker compose"}
		}
	}
	return afterHost(line)
}

// unwrapTimed takes a time in ISO 8601 off, and what a container runtime or a syslog writes behind it.
func unwrapTimed(line []byte) wrap {
	at, rest, ok := bytes.Cut(line, []byte(" "))
	if !ok {
		return wrap{}
	}
	if _, _, ok := instant(at, time.UTC); !ok {
		return wrap{}
	}
	for _, stream := range []string{"stdout ", "stderr "} {
		if tagged, is := bytes.CutPrefix(rest, []byte(stream)); is && len(tagged) > 1 && tagged[1] == ' ' {
			return wrap{line: tagged[2:], by: "a container runtime (CRI)", errors: stream == "stderr ",
				part: tagged[0] == 'P'}
		}
	}
	if w := afterHost(rest); w.by != "" {
		return w
	}
	return wrap{line: rest, by: "kubectl (--timestamps)"}
}

// unwrapSyslog takes the header of RFC 3164 or RFC 5424 off.
func unwrapSyslog(line []byte) wrap {
	if line[0] == '<' {
		_, rest, ok := bytes.Cut(line, []byte(">"))
		if !ok {
			return wrap{}
		}
		if rest, is := bytes.CutPrefix(rest, []byte("1 ")); is {
			f := bytes.SplitN(rest, []byte(" "), 7) // time, host, application, process, message, data
			if len(f) < 7 || string(f[5]) != "-" {
				return wrap{}
			}
			return wrap{line: f[6], by: bySyslog}
		}
		line = rest
	}
	if len(line) < 16 || line[9] != ':' || line[12] != ':' {
		return wrap{}
	}
	_, rest, _ := bytes.Cut(line[15:], []byte(" ")) // a fraction of the second may stand before it
	return afterHost(rest)
}

// afterHost reads HOST PROGRAM[7]: LINE.
func afterHost(b []byte) wrap {
	host, rest, ok1 := bytes.Cut(b, []byte(" "))
	program, line, ok2 := bytes.Cut(rest, []byte(": "))
	if !ok1 || !ok2 || len(host) == 0 || len(program) == 0 || bytes.ContainsAny(program, " \"") ||
		bytes.ContainsAny(host, "\"[") {
		return wrap{}
	}
	return wrap{line: line, by: bySyslog}
}

// wrapperTable has the members of a wrapper in JSON.
var wrapperTable = &table{slots: map[string]slot{"log": 0, "message": 0, "MESSAGE": 0, "line": 0, "msg": 0,
	"stream": 1}}

// unwrapJSON takes off a JSON object with a member that is a line. Among logs in JSON that line is JSON.
func unwrapJSON(line []byte, isJSON bool) wrap {
	if isJSON && !bytes.Contains(line, []byte(`"{\"`)) {
		return wrap{}
	}
	j, v := object{t: wrapperTable}, make(values, sharedSlots)
	if f := j.split(line, v); f.found() {
		return wrap{}
	}
	inner := v[0]
	if inner == nil || isJSON && inner[0] != '{' {
		return wrap{}
	}
	w := wrap{line: bytes.TrimRight(inner, "\r\n"), by: "JSON", errors: string(v[1]) == "stderr"}
	// Docker cuts long lines into parts, of which the last has a line end.
	w.part = v[1] != nil && bytes.HasPrefix(line, []byte(`{"log":`)) && len(w.line) == len(inner)
	return w
}

// otherLine tells whether a line is of a server's log of errors, or of Kubernetes, which containers mix with
// requests:
//
//	2026/11/26 10:00:00 [error] 31#31: *1 limiting requests, excess: 5.9
//	I1126 10:00:00.000000       7 main.go:49]
func otherLine(b []byte) bool {
	if len(b) > 25 && b[4] == '/' && b[7] == '/' && b[13] == ':' && b[20] == '[' {
		return true
	}
	return len(b) > 30 && bytes.IndexByte([]byte("IWEF"), b[0]) >= 0 && digits(b[1:5]) && b[5] == ' ' &&
		b[8] == ':' && bytes.Contains(b, []byte("] "))
}

// joiner puts records in JSON together: those that stand over several lines, and those of a list.
type joiner struct {
	text []byte
	// open is the line that began the record, and first its number. depth is how many braces and
	// brackets are open behind at. What is whole begins at from.
	open                   []byte
	first, depth, at, from int
}

// next takes the next line. It returns a record and the number of its first line, or nothing if it goes on in
// the next line. cut: it is the beginning of a record whose end is missing, and the line is to be read again.
func (j *joiner) next(line []byte, number int) (record []byte, first int, cut bool) {
	bare := bytes.TrimSpace(line)
	if len(j.text) == 0 {
		if string(bare) == "[" || string(bare) == "]" || string(bare) == "]," {
			return nil, number, false
		}
		bare = bytes.TrimSuffix(bare, []byte(","))
		if string(bare) != "{" && string(bare) != "[{" {
			if bytes.HasSuffix(bare, []byte("}]")) && bare[0] == '{' {
				bare = bare[:len(bare)-1]
			}
			return bare, number, false
		}
		j.open, j.first, j.depth, j.at = append(j.open[:0], line...), number, 0, 0
		bare = bare[len(bare)-1:]
	} else if bytes.Equal(line, j.open) || len(j.text) > timeline.MaxLine {
		return j.over(), j.first, true
	}
	j.text = append(append(j.text, bare...), '\n')
	if j.scan(); j.depth > 0 {
		return nil, number, false
	}
	return bytes.TrimRight(j.over(), "], \n"), j.first, false
}

// scan goes on through the text, and returns the objects of depth 1 that end in it.
func (j *joiner) scan() (all [][]byte) {
	for ; j.at < len(j.text); j.at++ {
		switch j.text[j.at] {
		case '"': // a string without an end ends with the line
			for j.at++; j.at < len(j.text) && j.text[j.at] != '"' && j.text[j.at] != '\n'; j.at++ {
				if j.text[j.at] == '\\' {
					j.at++
				}
			}
		case '{', '[':
			if j.depth++; j.depth == 1 {
				j.from = j.at
			}
		case '}', ']':
			if j.depth--; j.depth == 0 && j.text[j.from] == '{' {
				all = append(all, j.text[j.from:j.at+1])
			}
		}
	}
	return all
}

// over ends a record.
func (j *joiner) over() []byte {
	record := j.text
	j.text = j.text[:0]
	return record
}

// elements cuts a list that stands in one line into its objects.
func elements(line []byte) [][]byte {
	if !json.Valid(line) {
		return [][]byte{line}
	}
	return (&joiner{text: line, depth: -1}).scan() // in the list
}

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
