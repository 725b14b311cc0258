package scenario

import "testing"

func TestMultiplesAreExactDecimals(t *testing.T) {
	for text, want := range map[string]multiple{
		"2": {2, 1}, "2.0": {2, 1}, "1.50": {15, 10}, "0.5": {5, 10},
		"999999.999999": {999999999999, 1000000}, "007": {7, 1},
	} {
		if got, ok := parseMultiple(text); !ok || got != want {
			t.Errorf("%s: got %v, %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", ".5", "5.", "-1", "+1", "1e3", "1_0", "1234567", "1.1234567", "1.2.3",
		" 1", "١"} {
		if got, ok := parseMultiple(text); ok {
			t.Errorf("%q: got %v, want a refusal", text, got)
		}
	}
}
