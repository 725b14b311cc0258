package http2

import (
	"net/http"

	"golang.org/x/net/http2"
)

// Configure makes a server of the standard library speak HTTP/2 by golang.org/x/net, in a build too that
// leaves out the one in net/http, which brings its client along. It is to be called before the server serves.
func Configure(s *http.Server) {
	//lint:ignore SA1019 Protocols would be that of net/http, which releases leave out (nethttpomithttp2)
	if err := http2.ConfigureServer(s, nil); err != nil {
		panic("http2: " + err.Error()) // of the TLS of s, which has none
	}
}
