package headers

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Member is a number or text of a body, with the name that the body gives it.
type Member struct{ Name, Value string }

// Number returns the value as a number, a duration in seconds. A name may say that it counts milliseconds.
func (m Member) Number() (float64, bool) {
	if d, err := time.ParseDuration(m.Value); err == nil && m.Spelled() {
		return d.Seconds(), true
	}
	x, err := strconv.ParseFloat(m.Value, 64)
	if m.unit() == time.Millisecond {
		x /= 1000
	}
	return x, err == nil && !math.IsInf(x, 0) && !math.IsNaN(x)
}

// Spelled tells whether the value has a unit, as that of RetryInfo of Google has: 42s.
func (m Member) Spelled() bool { return strings.HasSuffix(m.Value, "s") }

// InSeconds tells whether Number surely counts seconds.
func (m Member) InSeconds() bool { return m.Spelled() || m.unit() != 0 }

// unit returns the unit that the name of a wait states, 0: none.
func (m Member) unit() time.Duration { return waitUnits[plainName(m.Name)] }

// waitUnits are the units in names of waits.
var waitUnits = map[string]time.Duration{
	"retryafterseconds": time.Second, "retryaftersecs": time.Second, "retryaftersec": time.Second,
	"retryafterms": time.Millisecond, "retryaftermillis": time.Millisecond,
	"retryaftermilliseconds": time.Millisecond,
}

// aliases are the names of the members that are read, in lower case without dashes and underscores.
var aliases = map[string]string{
	"retryafter": "retryafter", "retryafterseconds": "retryafter", "retryin": "retryafter",
	"retrydelay": "retryafter", "retryafterms": "retryafterms", "retryaftermillis": "retryafterms",
	"retryaftermilliseconds": "retryafterms", "retryaftersecs": "retryafter", "retryaftersec": "retryafter",
	"limit": "limit", "window": "window", "windowseconds": "window",
	"resetat": "resetat", "resettime": "resetat", "resetsat": "resetat",
	"status": "status", "statuscode": "status",
}

// BodyWaits are the keys of the waits in Members.
var BodyWaits = []string{"retryafter", "retryafterms"}

// Members returns the members of a denial's body by the names of aliases. It reads a JSON object and the
// objects in it, as far as the body was kept. It leaves out a member if two of that name contradict each
// other.
func Members(body string) map[string]Member {
	body = strings.TrimSpace(body)
	if body == "" || body[0] != '{' || !IsText(body) {
		return nil
	}
	out, unsure := map[string]Member{}, map[string]bool{}
	scanMembers(body, func(m Member) {
		key := aliases[plainName(m.Name)]
		if key == "" {
			return
		}
		known, has := out[key]
		unsure[key] = unsure[key] || has && known.Value != m.Value
		out[key] = m
	})
	maps.DeleteFunc(out, func(key string, _ Member) bool { return unsure[key] })
	return out
}

// scanMembers calls tell with each member of a JSON text that is no object and no list, up to where the text
// is cut off.
func scanMembers(text string, tell func(Member)) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var open []json.Delim // the objects and lists around it
	var name string
	named := false // the next token is the value of name
	for {
		token, err := d.Token()
		if err != nil {
			return
		}
		mark, isMark := token.(json.Delim)
		switch {
		case mark == '{' || mark == '[':
			open, named = append(open, mark), false
		case isMark:
			if open, named = open[:len(open)-1], false; len(open) == 0 {
				return
			}
		case named:
			tell(Member{name, fmt.Sprint(token)})
			named = false
		case open[len(open)-1] == '{':
			name, _ = token.(string)
			named = true
		}
	}
}

// plainName returns the name of a member in lower case, without dashes and underscores.
func plainName(name string) string {
	return separators.Replace(strings.ToLower(name))
}

// IsText tells whether the beginning of a body can be read as text. It cannot if it is compressed or no
// UTF-8. Its last character may be cut off.
func IsText(body string) bool {
	for i, c := range body {
		if c == utf8.RuneError && i < len(body)-utf8.UTFMax || c < ' ' && !unicode.IsSpace(c) {
			return false
		}
	}
	return true
}
