package transport

import "testing"

// TestSourceAddresses: there are many addresses, none that a network reserves, and a partition that names an
// address gets it.
func TestSourceAddresses(t *testing.T) {
	seen := map[string]bool{}
	for k := range 70000 {
		a := source("name", firstNumber("name")+k)
		if last := a.As4()[3]; !a.IsLoopback() || last == 0 || last == 255 || a.As4()[1] == 0 {
			t.Fatalf("number %d: got %v", k, a)
		}
		seen[a.String()] = true
	}
	if len(seen) < 64000 {
		t.Errorf("got %d different addresses of 70000 numbers", len(seen))
	}
	if got := source("127.9.8.7", 3).String(); got != "127.9.8.7" {
		t.Errorf("got %s, want the address that the partition names", got)
	}
	if firstNumber("rlcheck-1") != firstNumber("rlcheck-20") {
		t.Error("partitions of one run have different first numbers")
	}
}
