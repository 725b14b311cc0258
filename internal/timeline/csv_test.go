package timeline

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strconv"
	"testing"
)

// csvOf writes tl the way somebody else would, with encoding/csv.
func csvOf(tb testing.TB, tl *Timeline) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write(memberNames[:])
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	for _, o := range tl.Observations {
		row := []string{strconv.Itoa(o.Seq), number(int64(o.At)), number(int64(o.Sent)), "", "", "", number(o.Cost), o.Partition,
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
			row[12] = string(text)
		}
		w.Write(row)
	}
	w.Flush()
	if err := w.Error(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}
