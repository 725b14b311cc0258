package httpd

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// leanWriter collects an answer. It sends nothing before the handler has returned.
type leanWriter struct {
	header http.Header
	status int
	body   []byte
	out    []byte
}

// reset makes the writer ready for the next answer.
func (w *leanWriter) reset() {
	clear(w.header)
	w.status, w.body, w.out = 0, w.body[:0], w.out[:0]
}

// Header returns the fields of the answer.
func (w *leanWriter) Header() http.Header { return w.header }

// WriteHeader sets the status. Only the first call counts.
func (w *leanWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

// Write adds to the body.
func (w *leanWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	w.body = append(w.body, b...)
	return len(b), nil
}

// WriteString adds to the body.
func (w *leanWriter) WriteString(s string) (int, error) {
	w.WriteHeader(http.StatusOK)
	w.body = append(w.body, s...)
	return len(s), nil
}

// finish returns the bytes of the answer to h. last tells that the connection ends with it. Like net/http, it
// adds Date and Content-Length, unless the handler has set them, even to no value.
func (w *leanWriter) finish(h *head, last bool) []byte {
	bodiless := w.status == http.StatusNoContent || w.status == http.StatusNotModified || w.status < 200
	b := append(w.out, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(w.status), 10)
	b = append(append(append(b, ' '), http.StatusText(w.status)...), "\r\n"...)
	for name, values := range w.header {
		if bodiless && name == "Content-Length" {
			continue
		}
		for _, v := range values {
			b = append(append(b, name...), ": "...)
			b = append(append(b, oneLine(v)...), "\r\n"...)
		}
	}
	if _, given := w.header["Date"]; !given {
		b = append(append(append(b, "Date: "...), time.Now().UTC().Format(http.TimeFormat)...), "\r\n"...)
	}
	if _, given := w.header["Content-Length"]; !given && !bodiless && h.method != http.MethodHead {
		b = append(strconv.AppendInt(append(b, "Content-Length: "...), int64(len(w.body)), 10), "\r\n"...)
	}
	if _, given := w.header["Connection"]; !given {
		switch {
		case last:
			b = append(b, "Connection: close\r\n"...)
		case h.minor == 0:
			b = append(b, "Connection: keep-alive\r\n"...)
		}
	}
	b = append(b, "\r\n"...)
	if !bodiless && h.method != http.MethodHead {
		b = append(b, w.body...)
	}
	w.out = b
	return b
}

// oneLine returns v without line ends, which would begin another field.
func oneLine(v string) string {
	if strings.IndexByte(v, '\n') < 0 && strings.IndexByte(v, '\r') < 0 {
		return v
	}
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(v)
}
