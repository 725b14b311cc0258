package timeline

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

func planExample() *Schedule {
	return &Schedule{Phases: []Phase{
		{Name: "burst", Shape: AtOnce, Arrivals: []Arrival{
			{Seq: 0, Partition: "k1", Phase: "burst", Cost: 1},
			{Seq: 1, Partition: "k2", Phase: "burst", Cost: 3, Origin: true}}},
		{Name: "rest", Shape: Silence, Duration: time.Second},
		{Name: "edge", Shape: Boundary, Aim: AimProbe, Window: time.Minute, Requests: 2,
			ProbeRequests: 5,
			Origin:        true, Arrivals: []Arrival{
				{Seq: 2, Phase: "edge", At: -time.Millisecond, Cost: 1, Origin: true},
				{Seq: 3, Phase: "", At: time.Millisecond, Cost: 1}}},
		{Name: "recover", Shape: HonorRetryAfter, Clients: 4, Partitions: []string{"k1", ""},
			Requests: 50,
			Cost:     1, Duration: 5 * time.Second,
			Forge: []string{"X-Forwarded-For"}},
	}}
}

const planText = `{"rlcheck":"schedule/v1"}
{"phase":"burst","shape":"at-once","arrivals":2}
{"seq":0,"partition":"k1","at_ns":0,"cost":1}
{"seq":1,"partition":"k2","origin":true,"at_ns":0,"cost":3}
{"phase":"rest","shape":"silence","duration_ns":1000000000}
{"phase":"edge","shape":"boundary","origin":true,"requests":2,"aim":"probe","window_ns":60000000000,"probe_requests":5,"arrivals":2}
{"seq":2,"at_ns":-1000000,"cost":1}
{"seq":3,"phase":"","origin":false,"at_ns":1000000,"cost":1}
{"phase":"recover","shape":"honor-retry-after","duration_ns":5000000000,"partitions":["k1",""],"clients":4,"requests":50,"cost":1,"forge":["X-Forwarded-For"]}
`

func TestSchedulesAreReadAsWritten(t *testing.T) {
	var b bytes.Buffer
	if err := WriteSchedule(&b, planExample()); err != nil {
		t.Fatal(err)
	}
	if b.String() != planText {
		t.Errorf("got\n%s\nwant\n%s", b.String(), planText)
	}
	full := &Schedule{}
	ndjsonFill(reflect.ValueOf(full).Elem())
	long := &Schedule{Phases: []Phase{{Shape: Constant}}}
	for i := range 10_000 {
		long.Phases[0].Arrivals = append(long.Phases[0].Arrivals,
			Arrival{Seq: i, At: time.Duration(i), Cost: 1})
	}
	for name, want := range map[string]*Schedule{"example": planExample(), "every member": full, "long": long,
		"empty": {}} {
		b.Reset()
		if err := WriteSchedule(&b, want); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := ReadSchedule(&b, "x")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

func TestSchedulesThatCouldNotBeReadAreNotWritten(t *testing.T) {
	for want, change := range map[string]func(s *Schedule){
		`phase "rest": partition "\xff": its name`:  func(s *Schedule) { s.Phases[1].Partitions = []string{"\xff"} },
		`phase "rest": 1048649 bytes: a line`:       func(s *Schedule) { s.Phases[1].Forge = []string{strings.Repeat("x", MaxLine)} },
		`phase "burst": partition "\xff": its name`: func(s *Schedule) { s.Phases[0].Arrivals[0].Partition = "\xff" },
	} {
		s := planExample()
		change(s)
		if err := WriteSchedule(&bytes.Buffer{}, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if err := WriteSchedule(&fullDisk{}, planExample()); !errors.Is(err, errDiskFull) {
		t.Errorf("got %v, want %v", err, errDiskFull)
	}
}

// TestAPlanThatIsNotListedHasANumber: for a phase that lists no arrivals, the file has their number.
func TestAPlanThatIsNotListedHasANumber(t *testing.T) {
	var b bytes.Buffer
	made := &Schedule{Phases: []Phase{{Name: "c", Shape: Constant, Requests: 9,
		Partitions: []string{"k"},
		Arrive: func(i int) Arrival {
			return Arrival{Seq: i, At: time.Duration(i),
				Cost: 1}
		}}}}
	if err := WriteSchedule(&b, made); err != nil {
		t.Fatal(err)
	}
	got, err := ReadSchedule(&b, "x")
	if err != nil {
		t.Fatal(err)
	}
	if p := &got.Phases[0]; p.Count() != 9 || p.Free() != 0 {
		t.Errorf("got %+v", p)
	}
}

// TestASpoiltScheduleIsNotRead: the file of a killed run may be cut, or be another one.
func TestASpoiltScheduleIsNotRead(t *testing.T) {
	for want, file := range map[string]string{
		"x:1: EOF": "",
		"x:6: EOF": strings.Join(strings.SplitAfter(planText, "\n")[:6], ""),
		"x:3: the phase before it has another number of arrivals": strings.Replace(planText,
			`{"seq":0,"partition":"k1","at_ns":0,"cost":1}`+"\n"+
				`{"seq":1,"partition":"k2","origin":true,"at_ns":0,"cost":3}`+"\n", "", 1),
		"x:4: the phase before it has another number of arrivals": strings.Replace(planText,
			`"arrivals":2`, `"arrivals":1`, 1),
		`x:1: rlcheck "timeline/v1": this version reads "schedule/v1"`: strings.Replace(planText, "schedule",
			"timeline", 1),
		"x:2: invalid character": strings.Replace(planText, `{"phase"`, "phase", 1),
	} {
		if _, err := ReadSchedule(strings.NewReader(file), "x"); err == nil ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
