//go:build unix

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/reference"
	"github.com/rlcheck/rlcheck/internal/spec"
	"github.com/rlcheck/rlcheck/internal/text"
)

// TestCheckLarge pipes recordings into check that are too large to be held in memory. Right ones pass; the
// same ones against a tighter limit fail. RLCHECK_BENCH_LARGE=1 makes them of ten million observations. Time
// is logged, and memory has a bound.
func TestCheckLarge(t *testing.T) {
	n := 210_000 // recordings up to 200,000 are held
	if os.Getenv("RLCHECK_BENCH_LARGE") != "" {
		n = 10_000_000
	}
	for _, c := range []struct {
		made, tighter string
		partitions    int
	}{
		{"token-bucket,rate=1000/s,burst=100", "token-bucket,rate=990/s,burst=100", 1},
		{"sliding-window-log,rate=100/100ms", "sliding-window-log,rate=99/100ms", 1},
		{"fixed-window,rate=100/100ms,phase=30ms", "fixed-window,rate=99/100ms,phase=30ms", 1},
		{"sliding-window-counter,rate=100/100ms,phase=30ms",
			"sliding-window-counter,rate=97/100ms,phase=30ms", 1},
		{"token-bucket,rate=1/s,burst=5", "token-bucket,rate=1/s,burst=4", n / 100},
	} {
		t.Run(fmt.Sprintf("%s/%d", c.made, c.partitions), func(t *testing.T) {
			if testing.Short() {
				t.Skip("takes seconds")
			}
			r := checkMade(t, c.made, c.made, n, c.partitions)
			if r.code != 0 || !strings.HasPrefix(r.out, "PASS") {
				t.Errorf("got exit code %d, want 0: %.500s", r.code, r.out)
			}
			want := text.Plural(n, "request") + " in " + text.Plural(c.partitions, "partition")
			if !strings.Contains(r.out, want) {
				t.Errorf("got %.500s, want %s", r.out, want)
			}
			t.Logf("%d observations: %.1f s of CPU, %.2f million a second; %.1f s of wall time; %d MB at "+
				"most", n, r.cpu.Seconds(),
				float64(n)/r.cpu.Seconds()/1e6, r.wall.Seconds(), r.memory/1e6)
			if most := int64(300e6); r.memory > most {
				t.Errorf("took %d MB of memory, over %d", r.memory/1e6, most/1e6)
			}
			if r := checkMade(t, c.made, c.tighter, min(n, 1_000_000), min(c.partitions, 100)); r.code != 1 ||
				!strings.HasPrefix(r.out, "FAIL") {
				t.Errorf("against %s: got exit code %d, want 1: %.500s", c.tighter, r.code, r.out)
			}
		})
	}
}

// ran is the output and the cost of one run of check.
type ran struct {
	out       string
	code      int
	cpu, wall time.Duration
	memory    int64
}

// checkMade judges a recording made under one limit against another.
func checkMade(t testing.TB, made, declared string, n, partitions int) ran {
	t.Helper()
	cmd := program(t, "", "check", "-", "--limit", declared)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	wrote := writeMade(in, made, n, partitions)
	_ = in.Close() // the program reports what it missed
	_ = cmd.Wait() // the exit code tells
	if wrote != nil {
		t.Fatalf("%v: %s", wrote, out.String())
	}
	u := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return ran{out.String(), cmd.ProcessState.ExitCode(), cmd.ProcessState.UserTime() +
		cmd.ProcessState.SystemTime(),
		time.Since(began), u.Maxrss << 10}
}

// writeMade writes a recording of a limiter under twice its rate, or up to four times. Each decision comes
// about a millisecond after its request was sent, and each answer up to four later. Now and then an answer is
// lost.
func writeMade(w io.Writer, text string, n, partitions int) error {
	limit, err := spec.Parse(text)
	if err != nil {
		return err
	}
	lim, err := reference.NewLimit(limit)
	if err != nil {
		return err
	}
	states := make([]reference.State, partitions)
	for i := range states {
		states[i] = lim.Init()
	}
	r := rand.New(rand.NewPCG(7, uint64(n)))
	b := bufio.NewWriterSize(w, 1<<20)
	gap := int64(limit[0].Rate.Per) / limit[0].Rate.N / int64(partitions)
	var at int64
	var line []byte
	for i := range n {
		at += 1 + r.Int64N(max(gap, 1))
		k := r.IntN(partitions)
		next, d := lim.Step(states[k], time.Duration(at)+time.Millisecond, 1)
		states[k] = next
		outcome := "denied"
		if d.Allow {
			outcome = "allowed"
		}
		line = fmt.Appendf(line[:0],
			`{"seq":%d,"partition":"key-%d","at_ns":%d,"sent_ns":%d,"first_byte_ns":%d,"status":200,"outcome":"%s"}`+"\n",
			i, k, at, at, at+1_000_000+r.Int64N(3_000_000), outcome)
		if i%1_000_003 == 500_000 {
			line = fmt.Appendf(line[:0],
				`{"seq":%d,"partition":"key-%d","sent_ns":%d,"outcome":"unknown","error":"timeout"}`+"\n", i,
				k, at)
		}
		if _, err := b.Write(line); err != nil {
			return err
		}
	}
	return b.Flush()
}
