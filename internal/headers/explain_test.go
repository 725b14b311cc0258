package headers

import (
	"strings"
	"testing"
)

func TestExplain(t *testing.T) {
	for _, test := range []struct{ value, want string }{
		{"60", "wait 1 min 0 s, until Fri, 20 Nov 2026 12:01:00 GMT"},
		{"7", "wait 7 s, until Fri, 20 Nov 2026 12:00:07 GMT"},
		{"5400", "wait 1 h 30 min, until Fri, 20 Nov 2026 13:30:00 GMT"},
		{"Fri, 20 Nov 2026 12:00:30 GMT", "wait 30 s, until Fri, 20 Nov 2026 12:00:30 GMT"},
		{"0", "wait 0 s, until Fri, 20 Nov 2026 12:00:00 GMT\nnote: 0 s says that the client may come back " +
			"at once"},
		{"60000", "wait 16 h 40 min, until Sat, 21 Nov 2026 04:40:00 GMT\nnote: if milliseconds were " +
			"meant, the wait is 1 min 0 s: write \"60\""},
		{"86400", "wait 1 d 0 h, until Sat, 21 Nov 2026 12:00:00 GMT"},
		{"86401", "wait 1 d 0 h, until Sat, 21 Nov 2026 12:00:01 GMT\nnote: if milliseconds were meant, " +
			"the wait is 1 min 26 s: write \"87\""},
		{"1795176060", "wait 20777 d 12 h, until Sun, 10 Oct 2083 00:01:00 GMT\nnote: as epoch-seconds " +
			"this would be Fri, 20 Nov 2026 12:01:00 GMT, but Retry-After counts seconds from now"},
		{"9223372036854775807",
			"wait more than 292 years\nnote: as epoch-nanoseconds this would be Fri, 11 Apr 2262 23:47:16 " +
				"GMT, but Retry-After counts seconds from now"},
		{"Fri, 20 Nov 2026 11:59:00 GMT",
			"wait 0 s, until Fri, 20 Nov 2026 11:59:00 GMT\nnote: the date is past by 1 min 0 s: a client " +
				"may come back at once"},
		{"Friday, 20-Nov-26 12:00:30 GMT",
			"wait 30 s, until Fri, 20 Nov 2026 12:00:30 GMT\nnote: this form of a date is obsolete, " +
				"and no sender may use it (write \"Fri, 20 Nov 2026 12:00:30 GMT\")"},
	} {
		m, err := Explain(test.value, noon)
		if err != nil || m.String() != test.want {
			t.Errorf("Explain(%q): got %s, %v, want %s", test.value, m, err, test.want)
		}
	}
	if m, err := Explain("1.5", noon); err == nil || !strings.Contains(err.Error(), "round up") {
		t.Errorf("Explain(1.5): got %s, %v, want an error with a mend", m, err)
	}
}
