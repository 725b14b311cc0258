package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/rlcheck/rlcheck/internal/timeline"
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

// recording is one of n answered requests of 16 partitions, whose header fields change again and again.
func recording(n int) *timeline.Timeline {
	tl := &timeline.Timeline{Header: timeline.Header{Started: time.Unix(1_800_000_000, 0).UTC()}}
	for i := range n {
		at := time.Duration(i) * 100 * time.Microsecond
		o := timeline.Observation{Arrival: timeline.Arrival{Seq: i, Partition: fmt.Sprint("client-", i%16),
			Phase: "overload", At: at, Cost: 1}, Sent: at + 1021, FirstByte: at + 181_220, Done: at + 190_112,
			Answered: true, Status: 200, Outcome: timeline.Allowed}
		if i%10 > 0 {
			o.Status, o.Outcome = 429, timeline.Denied
			o.Fields = timeline.Fields{{Name: "Retry-After", Value: fmt.Sprint(i % 7)}}
		}
		tl.Observations = append(tl.Observations, o)
	}
	return tl
}

// readAs reads text, which must be the recording want.
func readAs(t *testing.T, text string, want *timeline.Timeline) {
	t.Helper()
	got, err := timeline.Read(strings.NewReader(text), "x", timeline.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Header, want.Header) || len(got.Observations) != len(want.Observations) {
		t.Fatalf("got %d requests and %+v, want %d and %+v", len(got.Observations), got.Header,
			len(want.Observations), want.Header)
	}
	for i := range got.Observations {
		if !reflect.DeepEqual(got.Observations[i], want.Observations[i]) {
			t.Fatalf("request %d: got %+v, want %+v", i, got.Observations[i], want.Observations[i])
		}
	}
}

// TestZstdIsRead: a recording compressed by zstd is read as the recording, even in several frames.
func TestZstdIsRead(t *testing.T) {
	want := recording(3000)
	var b bytes.Buffer
	if err := timeline.Write(&b, want); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	half := len(text) / 2
	readAs(t, zstdOf(t, text[:half])+zstdOf(t, text[half:]), want)
	if strings.Contains(zstdOf(t, text), "sent_ns") {
		t.Error("it is not compressed")
	}
}

// TestALongRecordingIsPacked: a long recording is written and packed as any other.
func TestALongRecordingIsPacked(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	want := recording(25_000)
	long := &timeline.Timeline{Header: want.Header, Spool: timeline.NewSpool(func() (timeline.Spill, error) {
		return os.CreateTemp(t.TempDir(), "spool")
	})}
	defer long.Spool.Close()
	for i := range want.Observations {
		long.Spool.Add(&want.Observations[i])
	}
	var b, plain bytes.Buffer
	z, err := packer(&b)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(timeline.Write(z, long), z.Close(), timeline.Write(&plain, want)); err != nil {
		t.Fatal(err)
	}
	readAs(t, b.String(), want)
	if b.Len() > plain.Len()/4 {
		t.Errorf("got %d bytes of %d", b.Len(), plain.Len())
	}
}

// TestFlawsOfZstd: the error of a file that zstd cannot read says what to do.
func TestFlawsOfZstd(t *testing.T) {
	const line = `{"sent_ns":1,"outcome":"allowed"}` + "\n"
	damaged := []byte(zstdOf(t, line))
	damaged[len(damaged)-1] ^= 1
	for _, c := range []struct{ file, want string }{
		{zstdOf(t, line)[:20],
			"x:1: end of the file: the compressed data stops in the middle: the file is cut (copy it again)"},
		{zstdOf(t, zstdOf(t, line)), "x:1: the file: it is compressed twice; plain text in UTF-8, gzip and " +
			"zstd are read (zstd -dc FILE | rlcheck check -)"},
		{"\x28\xb5\x2f\xfd\x00\x88" + strings.Repeat("\x00", 20),
			"x:1: the compressed data: it needs more memory than 8 MiB (zstd -dc FILE | rlcheck check -)"},
		{zstdOf(t, line) + "{\"sent_ns\":2}",
			"x:1: end of the compressed data: what follows it is not zstd (copy it again)"},
		{string(damaged),
			"x:1: the compressed data: its checksum is wrong: the file is damaged (copy it again)"},
	} {
		_, err := timeline.Read(strings.NewReader(c.file), "x", timeline.ReadOptions{})
		if got := fmt.Sprint(err); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}
