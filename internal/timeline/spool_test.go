package timeline

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"
)

// tempFile creates the files of spools.
func tempFile(t *testing.T) func() (Spill, error) {
	return func() (Spill, error) { return os.CreateTemp(t.TempDir(), "spool") }
}

// manyObservations returns n random observations, ascending by Sent.
func manyObservations(n int, random *rand.Rand) []Observation {
	sets := []Fields{nil, {{"Date", "today"}}, {{"Date", "today"}, {"X-Ratelimit-Remaining", "3"}}}
	out := make([]Observation, n)
	at := time.Duration(0)
	for i := range out {
		o := &out[i]
		at += time.Duration(random.IntN(1000))
		o.Arrival = Arrival{Seq: i, Partition: fmt.Sprint("k", random.IntN(6000)), Phase: "p",
			At: max(0, at-time.Duration(random.IntN(50))), Cost: 1, Origin: random.IntN(9) == 0}
		o.Sent, o.Outcome = at, Outcome(random.IntN(3))
		if random.IntN(8) == 0 {
			o.Cost, o.Error = int64(random.IntN(900)+2), "timeout"
			continue
		}
		o.Answered, o.Status, o.FirstByte = true, 200+random.IntN(300), at+time.Duration(random.IntN(1e9))
		if o.Fields = sets[random.IntN(3)]; random.IntN(4) == 0 {
			o.Done = o.FirstByte + time.Duration(random.IntN(100))
			o.Fields = Fields{{"Retry-After", fmt.Sprint(i)}}
			o.Body = fmt.Sprint("wait ", i%17)
		}
	}
	return out
}

// taken returns the observations of a spool.
func taken(s *Spool) (out []Observation) {
	s.Each(func(o *Observation) bool {
		out = append(out, *o)
		return true
	})
	return out
}

// TestASpoolKeepsWhatItWasGiven: a spool gives back what was put in, from its file and from memory, as often
// as it is asked.
func TestASpoolKeepsWhatItWasGiven(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 700, 15_000} {
		s, want := NewSpool(tempFile(t)), manyObservations(n, random)
		if n > 0 { // so that a member that is added to the type cannot be forgotten
			fill(t, &want[n-1])
		}
		for i := range want {
			s.Add(&want[i])
		}
		for range 2 {
			if got := taken(s); s.N != n || !slices.EqualFunc(got, want, sameObservation) {
				t.Fatalf("%d observations, N %d, came back as %d others", n, s.N, len(got))
			}
		}
		if n > 10_000 && s.shelf.size == 0 {
			t.Error("all of it is in memory")
		}
		s.Close()
	}
}

// fill sets every member to a value that is not zero.
func fill(t *testing.T, o *Observation) {
	v := reflect.ValueOf(o).Elem()
	for i, f := range reflect.VisibleFields(v.Type()) {
		if f.Anonymous {
			continue
		}
		switch x := v.FieldByIndex(f.Index); x.Kind() {
		case reflect.String:
			x.SetString(f.Name)
		case reflect.Bool:
			x.SetBool(true)
		case reflect.Int, reflect.Int32, reflect.Int64:
			x.SetInt(int64(i) + 2)
		case reflect.Uint8:
			x.SetUint(uint64(Denied))
		case reflect.Slice:
			x.Set(reflect.ValueOf(Fields{{"A", "1"}, {"B", "2"}}))
		default:
			t.Fatalf("%s: no value is known for a %v", f.Name, x.Kind())
		}
	}
}

func sameObservation(a, b Observation) bool {
	same := slices.Equal(a.Fields, b.Fields)
	a.Fields, b.Fields = nil, nil
	return same && fmt.Sprintf("%+v", a) == fmt.Sprintf("%+v", b)
}

// TestASorterOrders: however late some of them end, observations come out of a sorter in their order. Those
// without a number are numbered in that order.
func TestASorterOrders(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	for seed := range uint64(6) {
		random := rand.New(rand.NewPCG(seed, 3))
		all := manyObservations(5000, random)
		want := slices.Clone(all)
		for i := range all { // the odd ones have no number
			if all[i].Seq = i / 2; i%2 == 1 {
				all[i].Seq = -1
			}
		}
		slices.SortStableFunc(all, func(a, b Observation) int {
			return int(max(a.FirstByte, a.Sent) - max(b.FirstByte, b.Sent))
		})
		s := NewSorter(tempFile(t))
		s.window = []int{1, 7, 100, 4000, 4999, 9000}[seed]
		for i := range all {
			s.Add(&all[i])
		}
		sorted := s.Finish()
		left := map[string]int{}
		key := func(o *Observation) string { return fmt.Sprint(o.Sent, o.Partition, o.FirstByte) }
		for i := range want {
			left[key(&want[i])]++
		}
		prev, free := time.Duration(0), 10_000
		for _, o := range taken(sorted.From(10_000)) {
			if o.Sent < prev || o.Seq > free || o.Seq >= 10_000 && o.Seq != free {
				t.Fatalf("seed %d: #%d sent at %v, after one at %v; next number %d", seed, o.Seq, o.Sent,
					prev, free)
			}
			if prev = o.Sent; o.Seq == free {
				free++
			}
			if left[key(&o)]--; left[key(&o)] == 0 {
				delete(left, key(&o))
			}
		}
		if len(left) > 0 {
			t.Errorf("seed %d: %d are missing or there twice", seed, len(left))
		}
		sorted.Close()
	}
}

var errFull = errors.New("disk full")

// full is a file that accepts no write.
type full struct{ *os.File }

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestASpoolTellsThatItsFileIsFull: if the file cannot be written, that is an error and no shorter recording.
func TestASpoolTellsThatItsFileIsFull(t *testing.T) {
	s := NewSpool(func() (Spill, error) {
		f, err := os.CreateTemp(t.TempDir(), "spool")
		return full{f}, err
	})
	for _, o := range manyObservations(40_000, rand.New(rand.NewPCG(1, 1))) {
		s.Add(&o)
	}
	view := s.With(func(*Observation) {})
	if whole := taken(view); len(whole) == 40_000 || view.Err() == nil {
		t.Errorf("got %d observations, and no error", len(whole))
	}
	if part := taken(view); len(part) != 0 {
		t.Errorf("got %d observations that are not the recording", len(part))
	}
	if !errors.Is(view.Err(), errFull) {
		t.Errorf("got %v, want %v", view.Err(), errFull)
	}
	s.Close()
}
