package accesslog

import "testing"

// TestNamesThatCollide: a name given by the user takes precedence over one of the format, every time. It then
// means one value only.
func TestNamesThatCollide(t *testing.T) {
	for range 50 {
		tab, err := newTable(nginxNames, map[string]string{"request_time": "msec"})
		if err != nil || tab.slots["msec"] != slotDuration {
			t.Fatalf("got %v, %v, want the duration", tab, err)
		}
	}
	_, err := newTable(nginxNames, map[string]string{"request_time": "t", "msec": "t"})
	const want = `column "t": two names (msec and request_time) cannot map to one value`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := newTable(nginxNames, map[string]string{"host": "h", "http_host": "h"}); err != nil {
		t.Errorf("two names of one value: got %v", err)
	}
}
