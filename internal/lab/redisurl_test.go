package lab

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// TestRedisURLs: URLs of several servers are read, and others are refused without showing a possible
// password.
func TestRedisURLs(t *testing.T) {
	for text, want := range map[string]string{
		"a:1,b:2":            "{  [a:1 b:2] }",
		"u:p%40@a:1/m":       "{u p@ [a:1] m}",
		"[::1]:6379,b:2/m":   "{  [[::1]:6379 b:2] m}",
		":secret@a:1":        "{ secret [a:1] }",
		"a":                  "",
		"a:1,":               "",
		":1":                 "",
		"u:%zz@a:1":          "",
		"user:secret@a:1:2/": "",
	} {
		got, err := parseAddresses(text)
		if (err != nil) != (want == "") || err == nil && fmt.Sprint(got) != want {
			t.Errorf("%q: got %v, %v, want %q", text, got, err, want)
		}
	}
	for _, url := range []string{
		"redis-cluster://u:secret@a:1/0", "redis-sentinel://u:secret@a:1", "redis-cluster://secret",
		"http://u:secret@a:1", "secret",
	} {
		if _, err := OpenRedis(url); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got error %v, want one that keeps the secret", url, err)
		}
	}
}

// TestWhatHelpsIsSaid: an error of the first exchange says what helps against it.
func TestWhatHelpsIsSaid(t *testing.T) {
	for want, err := range map[string]error{
		"check the user":        refusal("WRONGPASS invalid username-password pair"),
		"more rights":           refusal("NOPERM User x has no permissions to run the 'ping' command"),
		"does the server speak": io.EOF,
		"and does it speak TLS": context.DeadlineExceeded,
		"is the server up?":     errors.New("connection refused"),
		"SSL_CERT_FILE=FILE":    &tls.CertificateVerificationError{},
	} {
		if got := mend(fmt.Errorf("dial: %w", err)); !strings.Contains(got, want) {
			t.Errorf("%v: got %q, want %q", err, got, want)
		}
	}
}

// refusal is an error that a server answers.
type refusal string

// Error returns the error text of the server.
func (r refusal) Error() string { return string(r) }

// RedisError marks it as an error of a server.
func (refusal) RedisError() {}
