package rlcheck_test

import (
	"os"
	"strconv"
	"testing"
)

// TestMain runs everything RLCHECK_SOAK times, in one process. -count runs examples once:
//
//	RLCHECK_SOAK=1000 go test -race -run '^Example' .
func TestMain(m *testing.M) {
	times, _ := strconv.Atoi(os.Getenv("RLCHECK_SOAK"))
	code := m.Run()
	for ; code == 0 && times > 1; times-- {
		code = m.Run()
	}
	os.Exit(code)
}
