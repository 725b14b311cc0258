package lab

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// trustedURL is the variable with the URL that TestRedisOverTLSTrusts connects to in a process of its own.
const trustedURL = "RLCHECK_TEST_REDISS"

// TestRedisOverTLS: a store at a rediss:// URL keeps the limit. A certificate that nobody signed is refused
// unless the URL says otherwise. One that SSL_CERT_FILE vouches for is accepted.
func TestRedisOverTLS(t *testing.T) {
	addr, ca := startSecureRedis(t)
	if got := secureBurst(t, "rediss://"+addr+"/0?skip_verify=true"); got != "10 0" {
		t.Errorf("unverified: got %s, want ten admitted, and then a denial", got)
	}
	for url, want := range map[string]string{"rediss://": "SSL_CERT_FILE=FILE",
		"redis://": "does the server speak TLS?"} {
		if store, err := OpenStore(url + addr + "/0"); err == nil || store != nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s%s: got %v, want an error that says %q", url, addr, err, want)
		}
	}
	// A process reads the trusted certificates only once.
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRedisOverTLSTrusts$", "-test.v")
	c.Env = append(os.Environ(), "SSL_CERT_FILE="+ca, trustedURL+"=rediss://"+addr+"/1")
	if out, err := c.CombinedOutput(); err != nil ||
		!strings.Contains(string(out), "--- PASS: TestRedisOverTLSTrusts") {
		t.Errorf("a certificate that SSL_CERT_FILE vouches for: %v\n%s", err, out)
	}
}

// TestRedisOverTLSTrusts is the part of TestRedisOverTLS in a process of its own.
func TestRedisOverTLSTrusts(t *testing.T) {
	url := os.Getenv(trustedURL)
	if url == "" {
		t.Skip("TestRedisOverTLS runs it")
	}
	if got := secureBurst(t, url); got != "10 0" {
		t.Errorf("got %s, want ten admitted, and then a denial", got)
	}
}

// secureBurst uses up a quota of ten, of which nothing comes back soon, and asks again.
func secureBurst(t *testing.T, url string) string {
	t.Helper()
	store, err := OpenStore(url)
	if err != nil {
		t.Fatal(err)
	}
	target, err := New(Options{Limit: redisParse(t, "sliding-window-log,rate=10/1h"), Store: store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = target.Close() })
	return fmt.Sprint(admitted(target, 10), admitted(target, 10))
}

// startSecureRedis starts a redis-server that speaks only TLS. It returns its address and the file of the
// authority that signed its certificate.
func startSecureRedis(t *testing.T) (addr, ca string) {
	t.Helper()
	program := redisServer(t)
	dir := t.TempDir()
	ca = certify(t, dir)
	for range 5 {
		port := freePort(t)
		stop := launch(t, exec.Command(program, "--port", "0", "--tls-port", port, "--bind", "127.0.0.1",
			"--dir", dir, "--save", "",
			"--tls-cert-file", filepath.Join(dir, "server.pem"), "--tls-key-file",
			filepath.Join(dir, "server.key"),
			"--tls-ca-cert-file", ca, "--tls-auth-clients", "no"))
		if stop != nil {
			t.Cleanup(stop)
			return net.JoinHostPort("127.0.0.1", port), ca
		}
	}
	t.Fatal("redis-server did not start on any of 5 ports")
	return "", ""
}

// certify writes an authority, and a certificate for 127.0.0.1 signed by it, into dir. It returns the file of
// the authority.
func certify(t *testing.T, dir string) string {
	t.Helper()
	write := func(name, kind string, der []byte, err error) string {
		path := filepath.Join(dir, name)
		if err = errors.Join(err, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}),
			0o600)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	template := func(serial int64, name string) *x509.Certificate {
		return &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
			BasicConstraintsValid: true,
			NotBefore:             time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			KeyUsage: x509.KeyUsageDigitalSignature}
	}
	key := func() *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	authority, authorityKey, serverKey := template(1, "rlcheck test authority"), key(), key()
	authority.IsCA, authority.KeyUsage = true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, authority, authority, &authorityKey.PublicKey,
		authorityKey)
	ca := write("ca.pem", "CERTIFICATE", der, err)
	server := template(2, "redis")
	server.IPAddresses, server.ExtKeyUsage = []net.IP{net.IPv4(127, 0, 0, 1)},
		[]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	der, err = x509.CreateCertificate(rand.Reader, server, authority, &serverKey.PublicKey, authorityKey)
	write("server.pem", "CERTIFICATE", der, err)
	der, err = x509.MarshalECPrivateKey(serverKey)
	write("server.key", "EC PRIVATE KEY", der, err)
	return ca
}
