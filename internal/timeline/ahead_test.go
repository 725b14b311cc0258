package timeline

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// TestEachIsNext: all observations come in their order, whether or not their number is a multiple of a batch.
func TestEachIsNext(t *testing.T) {
	for _, n := range []int{1, aheadSize - 1, aheadSize, aheadSize + 1, 7*aheadSize + 3} {
		want := benchTimeline(n)
		r := NewReader(bytes.NewReader(mustWrite(t, want)), "x", ReadOptions{})
		var got []Observation
		if err := r.Each(func(o *Observation, line int) bool {
			if got = append(got, *o); line != len(got)+1 {
				t.Errorf("observation %d: got line %d", len(got), line)
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want.Observations) {
			t.Errorf("%d observations: got %d, or others", n, len(got))
		}
	}
}

func TestEachStops(t *testing.T) {
	text := mustWrite(t, benchTimeline(20*aheadSize))
	for _, most := range []int{1, aheadSize, 3*aheadSize + 1} {
		n := 0
		err := NewReader(bytes.NewReader(text), "x",
			ReadOptions{}).Each(func(*Observation, int) bool { n++; return n < most })
		if err != nil || n != most {
			t.Errorf("got %d observations, %v, want %d", n, err, most)
		}
	}
}

// TestEachTellsWhatNextTells: the problems of the file are reported after the observations before them.
func TestEachTellsWhatNextTells(t *testing.T) {
	good := string(mustWrite(t, benchTimeline(aheadSize+9)))
	for _, bad := range []string{"{\n", `{"sent_ns":-1,"status":200}` + "\n{}\n"} {
		r := NewReader(strings.NewReader(good+bad), "x", ReadOptions{})
		n := 0
		err := r.Each(func(*Observation, int) bool { n++; return true })
		_, want := Read(strings.NewReader(good+bad), "x", ReadOptions{})
		if err == nil || want == nil || err.Error() != want.Error() || n != aheadSize+9 {
			t.Errorf("got %v after %d, want %v", err, n, want)
		}
	}
	if err := NewReader(strings.NewReader(""), "x", ReadOptions{}).Each(nil); err == nil {
		t.Error("got nothing of an empty file, want an error")
	}
}
