package http2

import (
	"net/http"

	"golang.org/x/net/http2"
)

// Configure makes a server of the standard library speak HTTP/2 with golang.org/x/net. It also works in a
// build without the HTTP/2 of net/http, which would bring its client along. It must be called before the
// server serves.
func Configure(s *http.Server) {
	//lint:ignore SA1019 Protocols would be that of net/http, which releases leave out (nethttpomithttp2)
	if err := http2.ConfigureServer(s, nil); err != nil {
		panic("http2: " + err.Error()) // only a TLS configuration causes errors, and s has none
	}
}
