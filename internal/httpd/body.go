package httpd

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
)

// drain reads the body of the request and reports whether the connection can go on with the next one.
func (c *leanConn) drain() bool {
	switch n := c.head.length; {
	case n == 0:
		return true
	case n == chunked:
		c.arm(headerTimeout)
		return c.drainChunks() == nil
	case n > maxDrain:
		return false
	default:
		c.arm(headerTimeout)
		return c.skip(n) == nil
	}
}

// skip drops n bytes.
func (c *leanConn) skip(n int64) error {
	for {
		have := min(n, int64(c.to-c.from))
		c.from += int(have)
		if n -= have; n == 0 {
			return nil
		}
		if err := c.fill(); err != nil {
			return err
		}
	}
}

// errChunk is the error of a body that breaks the rules of chunked coding.
var errChunk = errors.New("a chunked body is SIZE in hexadecimal digits, a line end, as many bytes, a line " +
	"end, and so on")

// drainChunks drops a chunked body and its trailers.
func (c *leanConn) drainChunks() error {
	for left := int64(maxDrain); ; {
		line, err := c.line()
		if err != nil {
			return err
		}
		size, _, _ := strings.Cut(line, ";")
		size = strings.TrimRight(size, " \t")
		n, err := strconv.ParseUint(size, 16, 31)
		if err != nil || size[0] == '+' {
			return errChunk
		}
		if n == 0 {
			break
		}
		if left -= int64(n); left < 0 {
			return io.ErrShortBuffer
		}
		if err := c.skip(int64(n)); err != nil {
			return err
		}
		if line, err = c.line(); err != nil {
			return err
		} else if line != "" {
			return errChunk
		}
	}
	for left := maxHeader; ; {
		line, err := c.line()
		if err != nil || line == "" {
			return err
		}
		if left -= len(line); left < 0 {
			return io.ErrShortBuffer
		}
	}
}

// line returns the next line of a chunked body without its end. It accepts only CRLF as an end: readers that
// differ about line ends would see different requests behind the body.
func (c *leanConn) line() (string, error) {
	for {
		if i := bytes.IndexByte(c.buffer[c.from:c.to], '\n'); i >= 0 {
			line, strict := strings.CutSuffix(string(c.buffer[c.from:c.from+i]), "\r")
			c.from += i + 1
			if !strict || strings.Contains(line, "\r") {
				return "", errChunk
			}
			return line, nil
		}
		if c.to-c.from >= startBuffer {
			return "", io.ErrShortBuffer
		}
		if err := c.fill(); err != nil {
			return "", err
		}
	}
}
