package text

import "testing"

func TestUnits(t *testing.T) {
	for _, c := range []struct {
		number, unit string
		want         int64
		ok           bool
	}{
		{"57", "", 57, true}, {"0", "", 0, true}, {" 12 ", "", 12, true}, {"1e3", "", 1000, true},
		{"0.00255", "0.00001", 255, true}, {"0.3", "0.1", 3, true}, {"12.0", "", 12, true},
		{"0.5", "", 0, false}, {"-1", "", 0, false}, {"", "", 0, false}, {"1e999999999", "", 0, false},
		{"null", "", 0, false}, {`"57"`, "", 0, false}, {"0x10", "", 0, false}, {"1/2", "", 0, false},
		{"1099511627776", "", 0, false}, {"1", "0", 0, false}, {"1", "x", 0, false},
	} {
		if got, ok := Units(c.number, c.unit); got != c.want || ok != c.ok {
			t.Errorf("%q of %q: got %d, %v, want %d, %v", c.number, c.unit, got, ok, c.want, c.ok)
		}
	}
}

func TestEvent(t *testing.T) {
	const stream = "data: {\"usage\":null}\n\ndata:{\"usage\":{\"total_tokens\":5}}\r\n\r\n: comment\n" +
		"data: {\"usage\":{\"total_tokens\":57}}\n\ndata: {\"choices\":[]}\n\ndata: [DONE]\n\n"
	if got, ok := Event([]byte(stream), "usage.total_tokens"); got != "57" || !ok {
		t.Errorf("got %q, %v, want the last one that has it, 57", got, ok)
	}
	if got, ok := Event([]byte("data: [DONE]\n\n"), "usage.total_tokens"); ok {
		t.Errorf("got %q of a stream without it", got)
	}
}
