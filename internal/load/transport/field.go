package transport

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// CheckHeader tells whether the extra fields can be sent as they are. Their names must be in canonical form.
func CheckHeader(h http.Header) error {
	for name, values := range h {
		if err := CheckName(name); err != nil {
			return fmt.Errorf("header %q: %w", name, err)
		}
		if name != http.CanonicalHeaderKey(name) {
			return fmt.Errorf("header %q: a name is kept in canonical form (write %q)", name,
				http.CanonicalHeaderKey(name))
		}
		for _, v := range values {
			if err := CheckValue(v); err != nil {
				return fmt.Errorf("header %s: %w", name, err)
			}
		}
	}
	return nil
}

// CheckName tells whether name is a token and names no field that frames the message.
func CheckName(name string) error {
	if !IsToken(name) {
		return fmt.Errorf("name %q: a field name is made of letters, digits and !#$%%&'*+-.^_`|~", name)
	}
	switch http.CanonicalHeaderKey(name) {
	case "Content-Length", "Transfer-Encoding", "Trailer", "Te", "Upgrade":
		return fmt.Errorf("name %q: rlcheck frames the message itself (leave it out)", name)
	}
	return nil
}

// IsToken tells whether s is a token (RFC 9110 section 5.6.2).
func IsToken(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && !(c >= '0' && c <= '9') && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

var errValue = errors.New("a field value has no control characters such as CR or LF, and no space at its " +
	"ends")

// CheckValue tells whether v is a field value (RFC 9110 section 5.5). The error does not quote the value: it
// may be a secret.
func CheckValue(v string) error {
	for i := 0; i < len(v); i++ {
		if (v[i] < ' ' && v[i] != '\t') || v[i] == 0x7f {
			return errValue
		}
	}
	if v != strings.Trim(v, " \t") {
		return errValue
	}
	return nil
}
