package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"net/http/httputil"
	"os"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// dumps wraps a limiter and writes the first request that it gets into request.txt.
func dumps(ts *testscript.TestScript) func(http.Handler) http.Handler {
	var once sync.Once
	path := ts.MkAbs("request.txt")
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			once.Do(func() {
				text, _ := httputil.DumpRequest(r, true)
				_ = os.WriteFile(path, bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), 0o600)
			})
			_, _ = io.Copy(io.Discard, r.Body)
			h.ServeHTTP(w, r)
		})
	}
}

// certified is a server called api.test that asks its clients for a certificate. The files ca.pem, client.pem
// and client.key are those of its authority and of a client.
func certified(ts *testscript.TestScript) *tls.Config {
	authority := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign}
	ca, caKey := sign(ts, authority, authority, nil)
	named := &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{"api.test"}}
	server, serverKey := sign(ts, named, authority, caKey)
	client, clientKey := sign(ts, &x509.Certificate{SerialNumber: big.NewInt(3)}, authority, caKey)
	key, err := x509.MarshalPKCS8PrivateKey(clientKey)
	ts.Check(err)
	for name, block := range map[string]*pem.Block{
		"ca.pem":     {Type: "CERTIFICATE", Bytes: ca},
		"client.pem": {Type: "CERTIFICATE", Bytes: client},
		"client.key": {Type: "PRIVATE KEY", Bytes: key},
	} {
		ts.Check(os.WriteFile(ts.MkAbs(name), pem.EncodeToMemory(block), 0o600))
	}
	trusted := x509.NewCertPool()
	parsed, err := x509.ParseCertificate(ca)
	ts.Check(err)
	trusted.AddCert(parsed)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{server},
		PrivateKey: serverKey}},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: trusted}
}

// sign makes a certificate. Without a signer it is signed by its own key.
func sign(
	ts *testscript.TestScript, c, by *x509.Certificate, with *ecdsa.PrivateKey,
) ([]byte, *ecdsa.PrivateKey) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	if with == nil {
		with = key
	}
	c.Subject = pkix.Name{CommonName: "rlcheck test"}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(rand.Reader, c, by, &key.PublicKey, with)
	ts.Check(err)
	return der, key
}
