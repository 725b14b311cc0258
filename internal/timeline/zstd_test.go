package timeline

import (
	"bytes"
	"errors"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// zstdOf compresses text.
func zstdOf(t *testing.T, text string) string {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(z.EncodeAll([]byte(text), nil))
}

// TestZstdIsRead: a recording compressed by zstd is read as the recording, even in several frames.
func TestZstdIsRead(t *testing.T) {
	want := benchTimeline(3000)
	text := string(mustWrite(t, want))
	half := len(text) / 2
	same(t, mustRead(t, []byte(zstdOf(t, text[:half])+zstdOf(t, text[half:]))), want)
	if bytes.Contains([]byte(zstdOf(t, text)), []byte("sent_ns")) {
		t.Error("it is not compressed")
	}
}

// TestALongRecordingIsPacked: a long recording is written and packed as any other, even if its header fields
// change again and again.
func TestALongRecordingIsPacked(t *testing.T) {
	want := benchTimeline(25_000)
	long := &Timeline{Header: want.Header, Spool: NewSpool(ndjsonTempFile(t))}
	defer long.Spool.Close()
	for i := range want.Observations {
		long.Spool.Add(&want.Observations[i])
	}
	var b bytes.Buffer
	z := NewPacker(&b)
	if err := errors.Join(Write(z, long), z.Close()); err != nil {
		t.Fatal(err)
	}
	same(t, mustRead(t, b.Bytes()), want)
	if n := len(mustWrite(t, want)); b.Len() > n/4 {
		t.Errorf("got %d bytes of %d", b.Len(), n)
	}
}
