package timeline

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestEightDigits: reading eight digits at a time gives the same number as one at a time. Anything but digits
// is refused.
func TestEightDigits(t *testing.T) {
	r := rand.New(rand.NewPCG(*seed, 9))
	for range 20_000 {
		text := []byte(strconv.FormatInt(r.Int64()>>r.IntN(63), 10))
		end := len(text)
		if r.IntN(2) == 0 {
			text = append(text, ",}\x2f\x3a \xb0\x00e"[r.IntN(8)])
			text = append(text, "0123456789"[:r.IntN(10)]...)
			end = min(end, len(text))
		}
		c := cursor{text: text}
		got, ok := c.integer()
		want, err := strconv.ParseInt(string(text[:end]), 10, 64)
		if wanted := err == nil && end <= 18; ok != wanted || ok && (got != want || c.at != end) {
			t.Fatalf("%q: got %d, %v at %d, want %d, %v at %d", text, got, ok, c.at, want, wanted, end)
		}
	}
}

// TestKeysThatChange: lines may have members in another order, fewer or more of them, spaces, or unknown
// ones. Each is read as it stands.
func TestKeysThatChange(t *testing.T) {
	r := newReader(nil, "x", ReadOptions{})
	for round := range 200 {
		text := fmt.Sprintf(`{"seq":%d,"sent_ns":5,"outcome":"denied"}`, round)
		want := Observation{Arrival: Arrival{Seq: round}, Sent: 5, Outcome: Denied}
		switch round % 7 {
		case 1:
			text = fmt.Sprintf(`{"sent_ns":5,"seq":%d,"outcome":"denied"}`, round)
		case 2:
			text = fmt.Sprintf(`{"sent_ns":5 , "seq" :%d,"outcome":"denied"}`, round)
		case 3:
			text = fmt.Sprintf(`{"sent_ns":5,"x":"seq","outcome":"denied","seq":%d}`, round)
		case 4:
			text = fmt.Sprintf(`{"seq":%d,"sent_ns":5,"cost":3}`, round)
			want.Outcome, want.Cost = Unknown, 3
		case 5:
			text = fmt.Sprintf(`{"sent_nsx":7,"sent_ns":5,"outcome":"denied","seq":%d}`, round)
		}
		var got Observation
		if !r.readLine([]byte(text), &got) || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Fatalf("%s: got %+v, want %+v", text, got, want)
		}
	}
	for _, text := range []string{`{"seq":1,"seq":2,"sent_ns":5}`, `{"seq":1,"sent_ns"`,
		`{"seq":1,"sent_ns":`, `{"seq":1,`, `{"se`} {
		if r.readLine([]byte(text), &Observation{}) {
			t.Errorf("%s was read", text)
		}
	}
}
