package timeline

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// csvOf writes tl with encoding/csv, as other programs do.
func csvOf(tb testing.TB, tl *Timeline) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write(memberNames[:])
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	for _, o := range tl.Observations {
		row := []string{strconv.Itoa(o.Seq), number(int64(o.At)), number(int64(o.Sent)), "", "", "",
			number(o.Cost), number(int64(o.Observer)), o.Partition,
			o.Phase, o.Outcome.String(), o.Error, o.Body, "", strconv.FormatBool(o.Origin)}
		if o.Answered {
			row[3] = number(int64(o.FirstByte))
		}
		if o.Done != 0 {
			row[4] = number(int64(o.Done))
		}
		if o.Status != 0 {
			row[5] = strconv.Itoa(o.Status)
		}
		if len(o.Fields) > 0 {
			fields := make(map[string]string)
			for _, f := range o.Fields {
				fields[f.Name] = f.Value
			}
			text, err := json.Marshal(fields)
			if err != nil {
				tb.Fatal(err)
			}
			row[13] = string(text)
		}
		w.Write(row)
	}
	w.Flush()
	if err := w.Error(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func TestColumnsCanHaveOtherNames(t *testing.T) {
	const file = "ip, start ,ttfb,code,note,Retry-After,\"x\"\"y\"\r\n" +
		"10.0.0.1,5,9,200,\"a,\"\"b\"\"\nc\",,1\r\n" +
		"\"10.0.0.2\",7,,429,,2,\n"
	columns := map[string]string{"partition": "ip", "sent_ns": "start", "first_byte_ns": "ttfb",
		"status": "code", "body": "note",
		"fields.retry-after": "Retry-After"}
	got, err := ReadCSV(strings.NewReader(file), "x", ReadOptions{Columns: columns})
	if err != nil {
		t.Fatal(err)
	}
	want := []Observation{
		{Arrival: Arrival{Partition: "10.0.0.1", At: 5, Cost: 1}, Sent: 5, FirstByte: 9,
			Answered: true,
			Status:   200, Outcome: Allowed,
			Body: "a,\"b\"\nc"},
		{Arrival: Arrival{Seq: 1, Partition: "10.0.0.2", At: 7, Cost: 1}, Sent: 7, Status: 429,
			Outcome: Denied,
			Fields:  Fields{{Name: "Retry-After", Value: "2"}}},
	}
	same(t, got, &Timeline{Observations: want})
}

func TestAMappedColumnHidesOneOfThatName(t *testing.T) {
	const file = "sent_ns,time,outcome\n99,1,allowed\n98,2,denied\n"
	got, err := ReadCSV(strings.NewReader(file), "x",
		ReadOptions{Columns: map[string]string{"sent_ns": "time"}})
	if err != nil || got.Observations[1].Sent != 2 {
		t.Errorf("got %+v, %v, want the times 1 and 2", got, err)
	}
}

func TestColumnsThatAreNotThere(t *testing.T) {
	columns := map[string]string{"sent_ns": "time", "sent": "x", "cost": "units"}
	_, err := ReadCSV(strings.NewReader("sent_ns,outcome\n1,allowed\n"), "x", ReadOptions{Columns: columns})
	const want = `x:1: column "sent": no such member: seq, at_ns, sent_ns, first_byte_ns, done_ns, status, cost, observer, partition, phase, outcome, error, body, fields, origin (did you mean "sent_ns"?)
x:1: column "time": the first row does not have it (expected from sent_ns)
x:1: column "units": the first row does not have it (expected from cost)
x:1: column "x": the first row does not have it (expected from sent)`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestAColumnOfEachFieldOrOneOfAll(t *testing.T) {
	const file = "sent_ns,outcome,fields.x-b,fields,fields.A\n" +
		`1,denied,2,"{ ""C"": ""3"", ""X-B"":""4"" }",1`
	got, err := ReadCSV(strings.NewReader(file), "x", ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if want := (Fields{{Name: "A", Value: "1"}, {Name: "C", Value: "3"},
		{Name: "X-B", Value: "2, 4"}}); !reflect.DeepEqual(got.Observations[0].Fields, want) {
		t.Errorf("got %q, want %q", got.Observations[0].Fields, want)
	}
}

func TestACellOverManyLinesCostsLinearTime(t *testing.T) {
	file := "sent_ns,outcome,body\n1,allowed,\"" + strings.Repeat("\n", MaxLine-100) + "\"\n2,denied,x\n"
	got, err := ReadCSV(strings.NewReader(file), "x", ReadOptions{}) // a quadratic reader takes hours
	if err != nil || len(got.Observations[0].Body) != MaxLine-100 || got.Observations[1].Body != "x" {
		t.Errorf("got %v", err)
	}
}

func TestMembersOfNDJSONCanHaveOtherNames(t *testing.T) {
	const file = `{"rlcheck":"timeline/v1"}
{"start":5,"end":9,"client":"a","code":200,"cost":7,"status":500}
{"start":7,"client":"b","code":429,"x":{}}
`
	columns := map[string]string{"sent_ns": "start", "first_byte_ns": "end", "partition": "client",
		"status": "code", "cost": ""}
	got, err := Read(strings.NewReader(file), "x", ReadOptions{Columns: columns})
	if err != nil {
		t.Fatal(err)
	}
	want := []Observation{
		{Arrival: Arrival{Partition: "a", At: 5, Cost: 7}, Sent: 5, FirstByte: 9, Answered: true,
			Status:  200,
			Outcome: Allowed},
		{Arrival: Arrival{Seq: 1, Partition: "b", At: 7, Cost: 1}, Sent: 7, Status: 429,
			Outcome: Denied},
	}
	if !reflect.DeepEqual(got.Observations, want) {
		t.Errorf("got %+v, want %+v", got.Observations, want)
	}
	columns["partition"], columns["beginning"] = "client_id", "x"
	_, err = Read(strings.NewReader(file), "x", ReadOptions{Columns: columns})
	const lacks = `x:1: column "beginning": no such member: seq, at_ns, sent_ns, first_byte_ns, done_ns, status, cost, observer, partition, phase, outcome, error, body, fields, origin
x:2: "client": a timeline has no such member, and without "partition" all requests would count as those of one client (write "partition", or --columns partition=client; if it means something else, write --columns partition=)
x:3: column "client_id": no line has it (expected from partition)`
	if err == nil || err.Error() != lacks {
		t.Errorf("got\n%v\nwant\n%s", err, lacks)
	}
}

// TestANameThatMeansSomethingElse: an empty name in Options.Columns says that the file has no other name for
// a member.
func TestANameThatMeansSomethingElse(t *testing.T) {
	columns := map[string]string{"partition": "", "cost": ""}
	for _, read := range []func() (*Timeline, error){
		func() (*Timeline, error) {
			return Read(strings.NewReader(`{"sent_ns":1,"outcome":"allowed","key":"x","weight":3}`), "x",
				ReadOptions{Columns: columns})
		},
		func() (*Timeline, error) {
			return ReadCSV(strings.NewReader("sent_ns,outcome,key,weight\n1,allowed,x,3\n"), "x",
				ReadOptions{Columns: columns})
		},
	} {
		got, err := read()
		if err != nil || got.Observations[0].Partition != "" || got.Observations[0].Cost != 1 {
			t.Errorf("got %+v, %v", got, err)
		}
	}
}

// TestANameForTwoMembers: a name given to two members would set only one of them, and the other would be
// lost.
func TestANameForTwoMembers(t *testing.T) {
	o := ReadOptions{Columns: map[string]string{"sent_ns": "t", "first_byte_ns": "t"}}
	_, ndjson := Read(strings.NewReader(`{"t":1,"outcome":"allowed"}`), "x", o)
	_, csv := ReadCSV(strings.NewReader("t,outcome\n1,allowed\n"), "x", o)
	const want = `x:1: column "t" twice: it is to be first_byte_ns and sent_ns, and a name means one member (write the value under two names`
	for _, err := range []error{ndjson, csv} {
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestCellsNotSeparatedByCommas(t *testing.T) {
	for _, by := range []string{";", "\t", "|"} {
		_, err := ReadCSV(strings.NewReader("sent_ns"+by+"outcome\n1"+by+"allowed\n"), "x", ReadOptions{})
		if err == nil || strings.Count(err.Error(), "(put commas between cells") != 2 {
			t.Errorf("%q: got %v", by, err)
		}
	}
}
