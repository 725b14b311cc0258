package lab

import "testing"

// TestADeadServerIsAnError: an exchange that fails returns an error, not empty answers.
func TestADeadServerIsAnError(t *testing.T) {
	url, stop, err := EmbedRedis()
	if err != nil {
		t.Fatal(err)
	}
	client, err := OpenRedis(url)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	e := Exchanger{RedisClient: client, Prefix: "k"}
	set, get, none := []any{"set", "k", "v"}, []any{"get", "k"}, []any{"get", "k2"}
	out, err := e.Exchange(t.Context(), set, get, none)
	if err != nil || out[1] != "v" || out[2] != nil {
		t.Errorf("got %v, %v, want v and nothing", out, err)
	}
	stop()
	for range 3 { // the first connection is cut, later ones are refused
		if out, err = e.Exchange(t.Context(), get, get); err == nil {
			t.Errorf("got %v of a server that is gone, want an error", out)
		}
	}
}
