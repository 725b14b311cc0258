package timeline

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
)

var seed = flag.Uint64("seed", 1, "seed of the random tests")

func TestDesignExampleIsReadAndWrittenToTheByte(t *testing.T) {
	text, err := os.ReadFile("testdata/design.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	want := &Timeline{
		Header: Header{Started: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC),
			WallError: 500 * time.Millisecond},
		Observations: []Observation{{
			Arrival: Arrival{Partition: "k1", Phase: "burst", Cost: 1}, Sent: 1021,
			FirstByte: 181220,
			Done:      190112,
			Answered:  true, Status: 200, Outcome: Allowed,
			Fields: Fields{{Name: "Retry-After", Value: "2"}},
		}},
	}
	got := mustRead(t, text)
	same(t, got, want)
	if again := mustWrite(t, got); !bytes.Equal(again, text) {
		t.Errorf("written:\n%s\nwant:\n%s", again, text)
	}
}

// TestEveryMemberIsKept fills every member of the types, so that the files cannot lack one that is added
// later.
func TestEveryMemberIsKept(t *testing.T) {
	want := &Timeline{Observations: make([]Observation, 1)}
	ndjsonFill(reflect.ValueOf(&want.Header).Elem())
	ndjsonFill(reflect.ValueOf(&want.Observations).Elem())
	want.Observations[0].FirstByte = want.Observations[0].Sent + 1
	want.Observations[0].Done = want.Observations[0].Sent + 2
	terms := &want.Header.Judged
	terms.Conformance, terms.Burst, terms.Rate = "lower-bound", 0.5, 0.25
	same(t, mustRead(t, mustWrite(t, want)), want)
}

// ndjsonFill sets everything to values that are not zero and differ. It gives empty slices one element.
func ndjsonFill(v reflect.Value) {
	next := int64(1)
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		next++
		switch p := v.Addr().Interface().(type) {
		case *time.Time:
			*p = time.Unix(next, 1).UTC()
			return
		case *Outcome:
			*p = Denied
			return
		case *Shape:
			*p = Boundary
			return
		case *Aim:
			*p = AimProbe
			return
		case *Fields:
			*p = Fields{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}}
			return
		case *map[string][]string:
			*p = map[string][]string{"a": {"b", "c"}}
			return
		}
		switch v.Kind() {
		case reflect.Struct:
			for i := range v.NumField() {
				walk(v.Field(i))
			}
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			walk(v.Index(0))
		case reflect.String:
			v.SetString(fmt.Sprint("text", next))
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Float64:
			v.SetFloat(float64(next) + .5)
		case reflect.Int, reflect.Int32, reflect.Int64:
			v.SetInt(next)
		case reflect.Uint64:
			v.SetUint(uint64(next))
		case reflect.Map:
			v.Set(reflect.ValueOf(map[string]string{"a": fmt.Sprint("text", next)}))
		case reflect.Func: // it is in no file
		default:
			panic("fill: " + v.Type().String())
		}
	}
	walk(v)
}

func TestRandomTimelinesAreReadAsWritten(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	rng := rand.New(rand.NewPCG(*seed, 0))
	for i := range 1000 {
		want := randomTimeline(rng)
		text := mustWrite(t, want)
		got, err := Read(bytes.NewReader(text), "x", ReadOptions{})
		if err != nil {
			t.Fatalf("round %d of -seed=%d: %v\n%s", i, *seed, err, text)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("round %d of -seed=%d: got %+v, want %+v", i, *seed, got, want)
		}
		if i%10 > 0 {
			continue
		}
		fromCSV, err := ReadCSV(bytes.NewReader(csvOf(t, want)), "x", ReadOptions{})
		if err != nil {
			t.Fatalf("CSV, round %d of -seed=%d: %v", i, *seed, err)
		}
		if !reflect.DeepEqual(fromCSV.Observations, want.Observations) {
			t.Fatalf("CSV, round %d of -seed=%d: got %+v, want %+v", i, *seed, fromCSV.Observations,
				want.Observations)
		}
	}
}

func randomTimeline(rng *rand.Rand) *Timeline {
	tl := &Timeline{Header: Header{Started: time.Unix(rng.Int64N(1e10),
		rng.Int64N(1e9)).UTC(),
		Unsent: rng.IntN(3)}}
	sent := time.Duration(0)
	for _, seq := range rng.Perm(rng.IntN(5) + 1) {
		sent += time.Duration(rng.Int64N(1 << rng.IntN(58)))
		o := Observation{
			Arrival: Arrival{Seq: seq * 50, Partition: randomText(rng), Phase: randomText(rng),
				At:     sent / 2,
				Cost:   1 + rng.Int64N(3),
				Origin: rng.IntN(2) == 0},
			Sent: sent, Observer: rng.Int32N(3), Outcome: Outcome(rng.IntN(3)),
			Error: randomText(rng),
			Body:  strings.ReplaceAll(randomText(rng), "\r\n", "\n"),
		}
		if rng.IntN(3) > 0 {
			o.Answered, o.FirstByte, o.Status = true, sent+time.Duration(rng.Int64N(1e9)), rng.IntN(1000)
		}
		if rng.IntN(2) > 0 {
			o.Done = max(o.FirstByte, sent) + 1
		}
		for _, name := range []string{"Date", "Retry-After", "X-Ratelimit-Limit"} {
			if rng.IntN(2) > 0 {
				o.Fields = append(o.Fields, Field{Name: name, Value: randomText(rng)})
			}
		}
		tl.Observations = append(tl.Observations, o)
	}
	return tl
}

// randomText is empty, a word, or any UTF-8 text.
func randomText(rng *rand.Rand) string {
	switch rng.IntN(4) {
	case 0:
		return ""
	case 1:
		return fmt.Sprint("word", rng.IntN(10))
	}
	runes := []rune("a\"\\\n\t\x00\x1b\x7f\u0085\u009b é€\u2028\u202e😀,;{}[]:'&<>")
	text := make([]rune, rng.IntN(12))
	for i := range text {
		text[i] = runes[rng.IntN(len(runes))]
	}
	return string(text)
}

func TestAnyTextIsValidJSON(t *testing.T) {
	texts := []string{"\xff", "a\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "", "\u2028\u2029", "\U0010ffff"}
	for r := range rune(0x300) {
		texts = append(texts, string(r)+"x"+string(r))
	}
	for _, text := range texts {
		quoted := appendQuoted(nil, text)
		want := strings.Builder{}
		for _, r := range text { // yields the bytes of invalid UTF-8 one by one
			want.WriteRune(r)
		}
		all := objectMembers(append(append([]byte(`{"x":`), quoted...), '}'))
		if len(all) != 1 {
			t.Fatalf("%q is written as %s", text, quoted)
		}
		if got := string((&cursor{}).unquoted(all[0].raw)); got != want.String() {
			t.Errorf("%q is written as %s", text, quoted)
		}
		for _, c := range string(quoted) {
			if unicode.IsControl(c) {
				t.Errorf("%q is written as %q, with a control character", text, quoted)
			}
		}
	}
}

func TestTheFormOfTheFileDoesNotMatter(t *testing.T) {
	plain := mustWrite(t, benchTimeline(50))
	want := benchTimeline(50)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write(plain[:1000])
	z.Close()
	z.Reset(&zipped) // a second gzip member
	z.Write(plain[1000:])
	z.Close()
	for name, text := range map[string][]byte{
		"plain":           plain,
		"gzip":            zipped.Bytes(),
		"byte order mark": append([]byte("\xef\xbb\xbf"), plain...),
		"CRLF":            bytes.ReplaceAll(plain, []byte("\n"), []byte("\r\n")),
		"no last newline": bytes.TrimSuffix(plain, []byte("\n")),
		"blank lines":     bytes.ReplaceAll(plain, []byte("\n"), []byte("\n \t\n\n")),
		"spaces": bytes.ReplaceAll(bytes.ReplaceAll(plain, []byte(":"), []byte(" : ")), []byte(","),
			[]byte(" , ")),
		"tabs": bytes.ReplaceAll(plain, []byte(","), []byte("\t,\t")),
		"more members": bytes.ReplaceAll(plain, []byte(`{"seq"`),
			[]byte(`{"x":"y","n":-1.5e3,"t":true,"0":null,"seq"`)),
		"nested members": bytes.ReplaceAll(plain, []byte(`{"seq"`),
			[]byte(`{"x":{"sent_ns":[{}, "}"]},"seq"`)),
		"null members":  bytes.ReplaceAll(plain, []byte(`{"seq"`), []byte(`{"body":null,"seq"`)),
		"escaped names": bytes.ReplaceAll(plain, []byte(`"sent_ns"`), []byte(`"\u0073ent_ns"`)),
	} {
		t.Run(name, func(t *testing.T) {
			if name == "spaces" { // the colons inside of started, too
				text = bytes.Replace(text, []byte("T08 : 00 : 00"), []byte("T08:00:00"), 1)
			}
			same(t, mustRead(t, text), want)
		})
	}
}

func TestReadingByBytesGivesTheSame(t *testing.T) {
	plain := mustWrite(t, benchTimeline(20))
	got, err := Read(&oneByte{plain}, "x", ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, benchTimeline(20))
}

type oneByte struct{ left []byte }

func (o *oneByte) Read(p []byte) (int, error) {
	if len(o.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:1], o.left)
	o.left = o.left[n:]
	return n, nil
}

func mustRead(t *testing.T, text []byte) *Timeline {
	t.Helper()
	tl, err := Read(bytes.NewReader(text), "x", ReadOptions{})
	if err != nil {
		var all Errors
		if !errors.As(err, &all) {
			t.Errorf("the error is a %T, want Errors", err)
		}
		t.Fatalf("%v\nof:\n%.2000s", err, text)
	}
	return tl
}

func mustWrite(t *testing.T, tl *Timeline) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, tl); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func same(t *testing.T, got, want *Timeline) {
	t.Helper()
	if !reflect.DeepEqual(got.Header, want.Header) {
		t.Errorf("header: got %+v, want %+v", got.Header, want.Header)
	}
	if len(got.Observations) != len(want.Observations) {
		t.Fatalf("got %d observations, want %d", len(got.Observations), len(want.Observations))
	}
	for i := range got.Observations {
		if !reflect.DeepEqual(got.Observations[i], want.Observations[i]) {
			t.Fatalf("observation %d: got %+v, want %+v", i, got.Observations[i], want.Observations[i])
		}
	}
}

// TestHowThePlanWasKeptIsRead: what a recorder says of its phases is in the file as it was.
func TestHowThePlanWasKeptIsRead(t *testing.T) {
	want := []Kept{{Phase: "a", Sent: 3, Unsent: 1, LateP99: 5, LateMax: 7, Stalled: 11,
		ReadLag: 13}, {Phase: "b"}}
	var b bytes.Buffer
	if err := Write(&b, &Timeline{Header: Header{Phases: want}}); err != nil {
		t.Fatal(err)
	}
	tl, err := Read(&b, "x", ReadOptions{AllowEmpty: true})
	if err != nil || !slices.Equal(tl.Header.Phases, want) {
		t.Errorf("got %+v, %v, want %+v", tl.Header.Phases, err, want)
	}
}
