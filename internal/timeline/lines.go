package timeline

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the longest line of a timeline or schedule file in bytes, without its line end. Longer lines are
// neither written nor read.
const MaxLine = 1 << 20

// What a small compressed file may unpack to, and is not read to its end: a line of more than endlessLine
// bytes, or more than mostBlank blank lines in a row.
const (
	endlessLine = 64 << 20
	mostBlank   = 1 << 20
)

var (
	errEndless = errors.New("a line is longer than 64 MiB: this is no recording, and the rest is not read")
	errBlank   = errors.New("a million lines in a row are blank: this is no recording, and the rest is not " +
		"read")
)

// ErrLongLine is the error of a line of more than MaxLine bytes.
var ErrLongLine = errors.New("line too long")

// ReadFlaw explains any other error of Next: what is wrong with the file, why, and an edit that helps, which
// may be empty.
func ReadFlaw(err error) (what, why, mend string) {
	if packed.Flaw != nil {
		if what, why, mend = packed.Flaw(err); what != "" {
			return what, why, mend
		}
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "end of the file", "the compressed data stops in the middle: the file is cut", "copy it again"
	case errors.Is(err, gzip.ErrHeader):
		return "end of the compressed data", "what follows it is not gzip", "copy it again"
	case errors.Is(err, gzip.ErrChecksum):
		return "the compressed data", "its checksum is wrong: the file is damaged", "copy it again"
	}
	if f := (formError{}); errors.As(err, &f) {
		return "the file", f.Error(), f.mend
	}
	return "reading", err.Error(), ""
}

// Lines reads a file line by line: plain, gzip or zstd (by its first bytes), with or without a byte order
// mark, with line ends LF or CRLF. Its memory is a buffer of 64 KiB and the longest line.
type Lines struct {
	raw  io.Reader
	r    *bufio.Reader
	long []byte
	// number is that of the last line.
	number int
	// blank is how many lines before the next one are blank.
	blank int
	// Cut: the last line had no line end.
	Cut bool
}

// NewLines returns the lines of r. It reads nothing before the first call of Next.
func NewLines(r io.Reader) *Lines { return &Lines{raw: r} }

// Next returns the next line without its line end, valid until the next call. The error is io.EOF at the end,
// ErrLongLine for a line that was skipped as too long, or that of the reader.
func (l *Lines) Next() ([]byte, error) {
	if l.r == nil {
		if err := l.open(); err != nil {
			return nil, err
		}
	}
	line, err := l.r.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		line, err = l.rest(line)
	}
	if len(line) == 0 { // only with an error
		return nil, err
	}
	l.number++
	if err != nil && err != io.EOF {
		return nil, err
	}
	l.Cut = err == io.EOF
	line = bytes.TrimSuffix(line, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if l.blank++; len(bytes.TrimSpace(line)) > 0 {
		l.blank = 0
	}
	switch {
	case l.blank > mostBlank:
		return nil, errBlank
	case len(line) > MaxLine:
		return nil, ErrLongLine
	}
	return line, nil
}

// rest returns a line that does not fit the buffer and begins with start. Of a line that is too long, it
// keeps only enough to see that.
func (l *Lines) rest(start []byte) ([]byte, error) {
	l.long = append(l.long[:0], start...)
	for n := len(start); ; {
		part, err := l.r.ReadSlice('\n')
		if l.long[len(l.long)-1] == 0 && len(bytes.Trim(part, "\x00")) == 0 && err == bufio.ErrBufferFull {
			continue // of a hole that a rotation leaves, the first part is kept
		}
		if n += len(part); n > endlessLine {
			return l.long, errEndless
		}
		if len(l.long) <= MaxLine+2 {
			l.long = append(l.long, part...)
		}
		if err != bufio.ErrBufferFull {
			return l.long, err
		}
	}
}

// formError is the error of a file in an unknown form.
type formError struct{ form, mend string }

func (e formError) Error() string {
	return "it is " + e.form + "; plain text in UTF-8, gzip and zstd are read"
}

// forms are the first bytes of files in other forms.
var forms = []struct {
	magic string
	formError
}{
	{"\xfd7zXZ", formError{"compressed with xz", "xz -dc FILE | rlcheck check -"}},
	{"BZh", formError{"compressed with bzip2", "bzip2 -dc FILE | rlcheck check -"}},
	{"PK\x03\x04", formError{"a zip archive", "unzip -p FILE | rlcheck check -"}},
	{"\xff\xfe", formError{"in UTF-16", "iconv -f UTF-16 -t UTF-8 FILE | rlcheck check -"}},
	{"\xfe\xff", formError{"in UTF-16", "iconv -f UTF-16 -t UTF-8 FILE | rlcheck check -"}},
	// These were unpacked once before.
	{zstdMagic, formError{"compressed twice", "zstd -dc FILE | rlcheck check -"}},
	{"\x1f\x8b", formError{"compressed with gzip twice", "zcat FILE | rlcheck check -"}},
}

// zstdMagic is the beginning of a file that is compressed with zstd.
const zstdMagic = "\x28\xb5\x2f\xfd"

// unpacked returns the content of a compressed file, or nil if it is not compressed.
func unpacked(r *bufio.Reader) (io.Reader, error) {
	if magic, _ := r.Peek(2); string(magic) == "\x1f\x8b" {
		return gzip.NewReader(r)
	}
	if magic, _ := r.Peek(len(zstdMagic)); string(magic) == zstdMagic {
		if packed.Reader == nil {
			return nil, formError{"compressed with zstd", "zstd -dc FILE | rlcheck check -"}
		}
		return packed.Reader(r)
	}
	return nil, nil
}

// bareUTF16 tells whether text begins with a character of ASCII in UTF-16, without a byte order mark, and
// returns its encoding.
func bareUTF16(text []byte) (encoding string, is bool) {
	switch {
	case len(text) < 2 || (text[0] == 0) == (text[1] == 0),
		len(text) == 4 && (text[0] == 0) != (text[2] == 0): // one zero byte is a hole in a file
		return "", false
	case text[0] == 0:
		return "UTF-16BE", true
	}
	return "UTF-16LE", true
}

func (l *Lines) open() error {
	const size = 64 << 10
	l.r = bufio.NewReaderSize(l.raw, size)
	z, err := unpacked(l.r)
	if err != nil {
		l.number = 1
		return err
	}
	if z != nil {
		l.r = bufio.NewReaderSize(z, size)
	}
	for _, f := range forms {
		if magic, _ := l.r.Peek(len(f.magic)); string(magic) == f.magic {
			l.number = 1
			return f.formError
		}
	}
	begin, _ := l.r.Peek(4)
	if encoding, is := bareUTF16(begin); is {
		l.number = 1
		return formError{"in UTF-16", "iconv -f " + encoding + " -t UTF-8 FILE | rlcheck check -"}
	}
	if mark, _ := l.r.Peek(3); bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
		l.r.Discard(3) // Peek has buffered them, so it cannot fail
	}
	return nil
}

// Last returns the number of the last line, from 1. A problem of the whole file is reported there.
func (l *Lines) Last() int { return max(1, l.number) }

// Zstd compresses files with zstd. Package zstd has it, for the programs that import that package. Others
// need no module for it, and read such files no more than those of xz.
type Zstd struct {
	// Reader unpacks r, and needs no Close. Writer packs into w; Close does not close w.
	Reader func(r io.Reader) (io.Reader, error)
	Writer func(w io.Writer) (io.WriteCloser, error)
	// Flaw explains an error of Reader as ReadFlaw does. what is empty for any other error.
	Flaw func(err error) (what, why, mend string)
}

var packed Zstd

// RegisterZstd says how files are compressed with zstd. It is called while a program starts.
func RegisterZstd(z Zstd) { packed = z }

// NewPacker returns a writer that compresses lines with zstd into w. Close must be called at the end, and
// does not close w. A line of a recording takes some 21 bytes and 0.4 us. With its own goroutines, the
// compressor would take half as much time again. It panics in a program without package zstd.
func NewPacker(w io.Writer) io.WriteCloser {
	z, err := packed.Writer(w)
	if err != nil {
		panic(fmt.Sprintf("timeline: zstd: %v", err)) // the options are constants
	}
	return z
}
