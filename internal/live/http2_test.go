package live

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// certificate writes a self-signed certificate and its key into one file.
func certificate(t testing.TB) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "server.pem")
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})...)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Real servers of HTTP/2 are judged as over HTTP/1.1: nginx over TLS, whose workers share a zone, and HAProxy
// in clear text.
func TestServersAreJudgedOverHTTP2(t *testing.T) {
	t.Parallel()
	zones := []zone{{Name: "a", Rate: "10r/s", Args: "burst=20 nodelay", Status: 429}}
	addr := start(t, program{
		binary: "nginx", template: "nginx.conf.tmpl",
		params: map[string]any{"Workers": 2, "Limits": zones, "Certificate": certificate(t)},
		args:   func(config string, _ int) []string { return []string{"-e", "stderr", "-c", config} },
	})
	counter := haproxy(t, table{store: "gpc0,gpc0_rate(600ms)", denyIf: "sc0_gpc0_rate ge 10", expire: "10s",
		after: []string{"sc-inc-gpc0(0)"}, bind: "proto h2"})
	const counts = "sliding-window-counter,align=first,rounding=down,tick=2ms,count=admitted,"
	h2 := []string{"target.protocol=h2", "target.insecure=true"}
	for name, c := range map[string]trial{
		"nginx": {url: "https://" + addr + "/a", right: "leaky-bucket,rate=10/s,burst=21", wrong: []string{
			"leaky-bucket,rate=10/s,burst=20", "leaky-bucket,rate=10/s,burst=22"}},
		"HAProxy": {url: counter, right: counts + "rate=10/600ms", wrong: []string{
			counts + "rate=9/600ms", counts + "rate=11/600ms"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.scenario, c.sets, c.turns = "burst", h2, true
			r := c.judged(t)
			for _, s := range r.Header.Spreads {
				if s.Width != 0 {
					t.Errorf("phase %s: got a spread of %v, want one write", s.Phase, s.Width)
				}
			}
			notes := strings.Join(r.Header.Notes, " ")
			if n := r.Header.Audit.Connections; n > 8 || strings.Contains(notes, "first ") {
				t.Errorf("got %d connections, notes %q", n, r.Header.Notes)
			}
		})
	}
}
