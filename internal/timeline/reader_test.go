package timeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/textproto"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestDefaults(t *testing.T) {
	const file = `{"sent_ns":5,"first_byte_ns":9,"status":204}
{"sent_ns":6,"first_byte_ns":9,"status":301,"outcome":"denied"}
{"sent_ns":7,"first_byte_ns":9,"status":429,"partition":null}
{"sent_ns":8,"first_byte_ns":9,"status":503}
{"sent_ns":9,"error":"timeout"}
{"sent_ns":9,"outcome":"allowed"}
{"sent_ns":9,"status":0}`
	got := mustRead(t, []byte(file))
	arrival := func(seq int, at time.Duration) Arrival {
		return Arrival{Seq: seq, At: at,
			Cost: 1}
	}
	same(t, got, &Timeline{Observations: []Observation{
		{Arrival: arrival(0, 5), Sent: 5, FirstByte: 9, Answered: true, Status: 204,
			Outcome: Allowed},
		{Arrival: arrival(1, 6), Sent: 6, FirstByte: 9, Answered: true, Status: 301,
			Outcome: Denied},
		{Arrival: arrival(2, 7), Sent: 7, FirstByte: 9, Answered: true, Status: 429,
			Outcome: Denied},
		{Arrival: arrival(3, 8), Sent: 8, FirstByte: 9, Answered: true, Status: 503,
			Outcome: Unknown},
		{Arrival: arrival(4, 9), Sent: 9, Error: "timeout", Outcome: Unknown},
		{Arrival: arrival(5, 9), Sent: 9, Outcome: Allowed},
		{Arrival: arrival(6, 9), Sent: 9, Outcome: Unknown},
	}})
}

func TestTheOutcomeOfAStatusIsAnOption(t *testing.T) {
	opts := ReadOptions{Outcome: func(status int) Outcome {
		return map[int]Outcome{200: Denied,
			503: Allowed}[status]
	}}
	got, err := Read(strings.NewReader(`{"sent_ns":1,"status":200}`+"\n"+`{"sent_ns":1,"status":503}`), "x",
		opts)
	if err != nil || got.Observations[0].Outcome != Denied ||
		got.Observations[1].Outcome != Allowed {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestStatusOutcome(t *testing.T) {
	for status, want := range map[int]Outcome{0: Unknown, 100: Unknown, 101: Allowed, 102: Unknown,
		199: Unknown, 200: Allowed,
		399: Allowed, 400: Unknown,
		428: Unknown, 429: Denied, 430: Unknown, 503: Unknown} {
		if got := StatusOutcome(status); got != want {
			t.Errorf("status %d is %v, want %v", status, got, want)
		}
	}
}

func TestFieldsBecomeCanonical(t *testing.T) {
	const file = `{"sent_ns":1,"status":429,"fields":{"x-b":"1","RETRY-after":"2","a":"3","X-B":"4","n":null,"bad name":"5"}}`
	want := Fields{{Name: "A", Value: "3"}, {Name: "Retry-After", Value: "2"}, {Name: "X-B",
		Value: "1, 4"}, {Name: "bad name", Value: "5"}}
	if got := mustRead(t, []byte(file)).Observations[0].Fields; !reflect.DeepEqual(got, want) {
		t.Errorf("slow: got %q, want %q", got, want)
	}
	fast := strings.Replace(file, `"n":null,`, "", 1)
	if got := mustRead(t, []byte(fast)).Observations[0].Fields; !reflect.DeepEqual(got, want) {
		t.Errorf("fast: got %q, want %q", got, want)
	}
}

func TestManyFieldsDoNotOverwriteThoseOfOthers(t *testing.T) {
	tl := &Timeline{}
	for i := range 100 {
		o := Observation{Arrival: Arrival{Seq: i, Cost: 1}, Outcome: Allowed}
		for k := range i {
			o.Fields = append(o.Fields, Field{Name: "X" + string(rune('a'+k/10)) +
				string(rune('a'+k%10)),
				Value: string(rune('a' + i%26))})
		}
		tl.Observations = append(tl.Observations, o)
	}
	got := mustRead(t, mustWrite(t, tl))
	for i := range got.Observations { // appending must not reach into the next observation
		got.Observations[i].Fields = append(got.Observations[i].Fields, Field{Name: "Z",
			Value: "z"})[:i:i]
		if i == 0 {
			got.Observations[i].Fields = nil
		}
	}
	same(t, got, tl)
}

// TestAProblemNamesTheMemberAsTheFileDoes: a value that cannot be read is shown with the name that the file
// has for its member.
func TestAProblemNamesTheMemberAsTheFileDoes(t *testing.T) {
	_, err := Read(strings.NewReader(`{"start":"x","status":200,"key":7}`), "f",
		ReadOptions{Columns: map[string]string{"sent_ns": "start", "partition": "key"}})
	const want = "f:1: start \"x\": a number is needed\nf:1: key 7: a string is needed"
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestATextIsNotTakenForAnotherOne: a text that was read before may be to the letter what another string,
// with its quotes and escapes, is in the file.
func TestATextIsNotTakenForAnotherOne(t *testing.T) {
	const file = `{"sent_ns":1,"status":200,"partition":"\"\\u0041\""}` + "\n" +
		`{"sent_ns":2,"status":200,"fields":{"X":"\u0041"}}`
	got := mustRead(t, []byte(file)).Observations
	if v, _ := got[1].Fields.Get("X"); got[0].Partition != `"\u0041"` || v != "A" {
		t.Errorf("got partition %s and field %s", got[0].Partition, v)
	}
}

func TestTheHeaderCanBeReadAtAnyTime(t *testing.T) {
	tl := benchTimeline(3)
	text := mustWrite(t, tl)
	for before := range 4 {
		r := NewReader(bytes.NewReader(text), "x", ReadOptions{})
		got := &Timeline{}
		var o Observation
		for i := range 3 {
			if i == before {
				r.Header()
			}
			if err := r.Next(&o); err != nil {
				t.Fatal(err)
			}
			got.Observations = append(got.Observations, o)
		}
		if err := r.Next(&o); err != io.EOF {
			t.Errorf("at the end: %v", err)
		}
		var err error
		if got.Header, err = r.Header(); err != nil {
			t.Error(err)
		}
		same(t, got, tl)
	}
	if h, err := NewReader(strings.NewReader(`{"sent_ns":1,"status":200}`), "x",
		ReadOptions{}).Header(); err != nil || !h.Started.IsZero() {
		t.Errorf("no header line: got %+v, %v", h, err)
	}
	if _, err := NewReader(strings.NewReader("x"), "x", ReadOptions{}).Header(); err == nil {
		t.Error("no error of a file that is no timeline")
	}
}

func TestTheStartMayBeInAnyZone(t *testing.T) {
	const file = `{"started":"2026-11-20T12:00:00.5+02:00","later":{"x":1},"rlcheck":"timeline/v1","notes":[]}` + "\n" + `{"sent_ns":1,"status":200}`
	want := Header{Started: time.Date(2026, 11, 20, 10, 0, 0, 500_000_000, time.UTC), Notes: []string{}}
	if got := mustRead(t, []byte(file)).Header; !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestAnEmptyRecordingIsAnOption(t *testing.T) {
	want := &Timeline{Header: Header{Interrupted: true}}
	got, err := Read(bytes.NewReader(mustWrite(t, want)), "x", ReadOptions{AllowEmpty: true})
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, want)
}

// TestLinesAreReadAsJSON changes lines at random. What is read is what encoding/json reads.
func TestLinesAreReadAsJSON(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	rng := rand.New(rand.NewPCG(*seed, 2))
	sound, broken := 0, 0
	for range 1500 {
		for _, line := range bytes.Split(bytes.TrimSpace(mustWrite(t, randomTimeline(rng))),
			[]byte("\n"))[1:] {
			for range rng.IntN(3) {
				line = mutate(rng, line)
			}
			if agree(t, line) {
				sound++
			} else {
				broken++
			}
		}
	}
	if sound < 1000 || broken < 500 {
		t.Errorf("%d lines were read, %d were not; want 1000 and 500", sound, broken)
	}
}

func mutate(rng *rand.Rand, line []byte) []byte {
	pieces := []string{`"`, `\`, `,`, `:`, `{`, `}`, `0`, `-`, `.5`, `e3`, ` `, "\t", `null`, `"seq":1,`,
		`"x":[1],`, `\u00e9`, `\ud83d\ude00`, "\xff", "\x01"}
	at := rng.IntN(len(line) + 1)
	end := min(at+rng.IntN(3), len(line))
	piece := ""
	if rng.IntN(3) > 0 {
		piece = pieces[rng.IntN(len(pieces))]
	}
	return append(append(append([]byte(nil), line[:at]...), piece...), line[end:]...)
}

// agree reads a line also with encoding/json, compares, and returns whether it is a sound observation.
func agree(t *testing.T, line []byte) bool {
	t.Helper()
	var got Observation
	r := newReader(nil, "x", ReadOptions{})
	sound := len(bytes.TrimSpace(line)) > 0 && r.readLine(line, &got)
	var all map[string]json.RawMessage
	isJSON := json.Unmarshal(line, &all) == nil && all != nil
	if form := r.problems.count > 0 && errors.Is(r.problems.list[0], ErrNotJSON); form && isJSON ||
		sound && !isJSON {
		t.Errorf("%q: JSON is %v, %v", line, isJSON, r.problems.list)
	}
	if !sound {
		return false
	}
	want := Observation{Answered: got.Answered, Fields: got.Fields}
	var fields map[string]*string
	var observer int64
	for i, to := range []any{&want.Seq, &want.At, &want.Sent, &want.FirstByte, &want.Done, &want.Status,
		&want.Cost, &observer, &want.Partition, &want.Phase, &want.Outcome, &want.Error, &want.Body,
		&fields, &want.Origin} {
		raw, has := all[memberNames[i]]
		if has = has && string(raw) != "null"; has != (r.seen&(1<<i) != 0) {
			t.Errorf("%q: %s is there: %v", line, memberNames[i], has)
		}
		if has && json.Unmarshal(raw, to) != nil {
			t.Errorf("%q: %s was read", line, raw)
		}
	}
	for name, value := range fields {
		v, _ := got.Fields.Get(textproto.CanonicalMIMEHeaderKey(name))
		if value != nil && !strings.Contains(v, *value) {
			t.Errorf("%q: field %s is %q", line, name, v)
		}
	}
	if want.Observer = int32(observer); int64(want.Observer) != observer {
		want.Observer = -1 // complete refuses it
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q: got %+v, want %+v", line, got, want)
	}
	return true
}

func TestReadingDoesNotAllocateForEachObservation(t *testing.T) {
	const n = 5000
	text := mustWrite(t, benchTimeline(n))
	allocs := testing.AllocsPerRun(3, func() {
		drain(t, NewReader(bytes.NewReader(text), "x", ReadOptions{}))
	})
	if allocs > n/20 {
		t.Errorf("%v allocations for %d observations", allocs, n)
	}
}

// endless is a file that repeats a text, until much more was read than any file needs.
type endless struct {
	text string
	left int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left -= len(p); e.left < 0 {
		return 0, io.EOF
	}
	for i := range p {
		p[i] = e.text[i%len(e.text)]
	}
	return len(p), nil
}

// TestWhatHasNoEndIsNotRead: a file of nothing but blank lines, or one line, is given up early, as a few
// kilobytes may unpack to gigabytes of it.
func TestWhatHasNoEndIsNotRead(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	for text, want := range map[string]string{"\n": "a million lines", " \n": "a million lines",
		"x": "a line is longer than 64 MiB"} {
		file := &endless{text, 256 << 20}
		_, err := Read(file, "x", ReadOptions{})
		if err == nil || !strings.Contains(err.Error(), want) || file.left < 0 {
			t.Errorf("%q: got %v, want %q before the end", text, err, want)
		}
	}
}
