package accesslog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/check"
	"github.com/rlcheck/rlcheck/internal/result"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// msecOf finds the time of a line of nginx.
var msecOf = regexp.MustCompile(`msec=(\d+)\.(\d{3})`)

// setBack sets the clock of lines of nginx back.
func setBack(lines []string, by time.Duration) []string {
	out := slices.Clone(lines)
	for i, line := range out {
		out[i] = msecOf.ReplaceAllStringFunc(line, func(s string) string {
			n, _ := strconv.ParseInt(strings.NewReplacer("msec=", "", ".", "").Replace(s), 10, 64)
			n -= by.Milliseconds()
			return fmt.Sprintf("msec=%d.%03d", n/1000, n%1000)
		})
	}
	return out
}

func wrapEach(lines []string, with func(string) string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = with(line)
	}
	return out
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // a string always can be
	return string(b)
}

// harms are what happens to logs on their way, and what is said of it. Lossless ones leave the log its power.
var harms = []struct {
	name, says string
	lossless   bool
	do         func(lines []string, rng *rand.Rand) [][]string
}{
	{"nothing", "", true, func(l []string, _ *rand.Rand) [][]string { return [][]string{l} }},
	{"each line twice", "copies", false, func(l []string, _ *rand.Rand) [][]string {
		var out []string
		for _, line := range l {
			out = append(out, line, line)
		}
		return [][]string{out}
	}},
	{"the log twice", "copies", false, func(l []string, _ *rand.Rand) [][]string {
		return [][]string{l, l}
	}},
	{"a block twice", "copies", false, func(l []string, rng *rand.Rand) [][]string {
		k := 10 + rng.IntN(len(l)-40)
		return [][]string{slices.Insert(slices.Clone(l), k+20, l[k:k+20]...)}
	}},
	{"some lines twice", "copies", false, func(l []string, rng *rand.Rand) [][]string {
		out := slices.Clone(l)
		for range 40 {
			k := rng.IntN(len(out))
			out = slices.Insert(out, k, out[k])
		}
		return [][]string{out}
	}},
	{"zero bytes at the head", "line 1: 1 hole of", true, func(l []string, _ *rand.Rand) [][]string {
		return [][]string{append([]string{strings.Repeat("\x00", 4000) + l[0]}, l[1:]...)}
	}},
	{"one zero byte", "line 1: 1 hole of", true, func(l []string, _ *rand.Rand) [][]string {
		return [][]string{append([]string{"\x00" + l[0]}, l[1:]...)}
	}},
	{"megabytes of zero bytes", "line 1: 1 hole of", true, func(l []string, _ *rand.Rand) [][]string {
		return [][]string{append([]string{strings.Repeat("\x00", 5<<20) + l[0]}, l[1:]...)}
	}},
	{"zero bytes in the middle", "line 101: 1 hole of", false,
		func(l []string, _ *rand.Rand) [][]string {
			return [][]string{slices.Concat(l[:100], []string{strings.Repeat("\x00", 30) + l[100]}, l[101:])}
		}},
	{"a first line that is cut", "line 1: 1 line at the beginning or the end", true,
		func(l []string, _ *rand.Rand) [][]string {
			return [][]string{append([]string{l[0][25:]}, l[1:]...)}
		}},
	{"a last line that is cut", "1 line at the beginning or the end", true,
		func(l []string, _ *rand.Rand) [][]string {
			return [][]string{append(slices.Clone(l[:len(l)-1]), l[len(l)-1][:60])}
		}},
	{"a clock that is set back by 2 s", "the clock was set back", false,
		func(l []string, rng *rand.Rand) [][]string {
			k := 50 + rng.IntN(len(l)-100)
			return [][]string{append(slices.Clone(l[:k]), setBack(l[k:], 2*time.Second)...)}
		}},
	{"a clock that is set back twice", "", false, func(l []string, _ *rand.Rand) [][]string {
		return [][]string{slices.Concat(l[:100], setBack(l[100:200], 4*time.Second),
			setBack(l[200:], 10*time.Second))}
	}},
	{"a clock that is set back by 90 ms", "", false, func(l []string, _ *rand.Rand) [][]string {
		return [][]string{append(slices.Clone(l[:150]), setBack(l[150:], 90*time.Millisecond)...)}
	}},
	{"lines in any order", "out of order", false, func(l []string, rng *rand.Rand) [][]string {
		out := slices.Clone(l)
		rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		return [][]string{out}
	}},
	{"files", "", true, func(l []string, _ *rand.Rand) [][]string {
		return [][]string{l[:90], l[90:150], l[150:]}
	}},
	{"files that overlap", "copies", false, func(l []string, _ *rand.Rand) [][]string {
		return [][]string{l[:150], l[130:]}
	}},
	{"files in the wrong order", "the clock was set back", false, func(l []string, _ *rand.Rand) [][]string {
		return [][]string{l[150:], l[:150]}
	}},
	{"CRLF", "", true, func(l []string, _ *rand.Rand) [][]string {
		return [][]string{wrapEach(l, func(s string) string { return s + "\r" })}
	}},
	{"a byte order mark", "", true, func(l []string, _ *rand.Rand) [][]string {
		return [][]string{append([]string{"\ufeff" + l[0]}, l[1:]...)}
	}},
	{"CRI", "container runtime", true, func(l []string, _ *rand.Rand) [][]string {
		return [][]string{wrapEach(l, func(s string) string {
			return "2026-11-26T10:00:00.050000123Z stdout P " + s[:40] +
				"\n2026-11-26T10:00:00.050000123+01:00 stdout F " + s[40:]
		})}
	}},
	{"docker", "wrapped by JSON", true, func(l []string, _ *rand.Rand) [][]string {
		return [][]string{wrapEach(l, func(s string) string {
			return `{"log":` + quoted(s+"\n") + `,"stream":"stdout","time":"2026-11-26T10:00:00.05Z"}`
		})}
	}},
	{"journald in JSON", "wrapped by JSON", true, func(l []string, _ *rand.Rand) [][]string {
		return [][]string{wrapEach(l, func(s string) string {
			return `{"_PID":"7","MESSAGE":` + quoted(s) + `,"__REALTIME_TIMESTAMP":"1795687200050000"}`
		})}
	}},
	{"kubectl", "kubectl", true, func(l []string, _ *rand.Rand) [][]string {
		return [][]string{wrapEach(l, func(s string) string {
			return "[pod/ingress-7c/controller] 2026-11-26T10:00:00.050000123Z " + s
		})}
	}},
	{"syslog", "syslog", true, func(l []string, _ *rand.Rand) [][]string {
		return [][]string{wrapEach(l, func(s string) string {
			return "<190>Nov 26 10:00:00 web1 nginx: " + s
		})}
	}},
	{"journalctl", "syslog", true, func(l []string, _ *rand.Rand) [][]string {
		return [][]string{wrapEach(l, func(s string) string {
			return "Nov  6 10:00:00 web1 nginx[77]: " + s
		})}
	}},
	{"docker compose", "docker compose", true, func(l []string, _ *rand.Rand) [][]string {
		return [][]string{wrapEach(l, func(s string) string { return "web-1  | " + s })}
	}},
	{"a request without a duration", "", false, func(l []string, _ *rand.Rand) [][]string {
		out := slices.Clone(l)
		out[120] = strings.Replace(out[120], "request_time=", "rt=", 1)
		return [][]string{out}
	}},
	{"an address that is none", "", false, func(l []string, _ *rand.Rand) [][]string {
		out := slices.Clone(l)
		out[120] = "garbage " + out[120]
		return [][]string{out}
	}},
}

// TestHarmsAccuseNobody: whatever happens to the log of a right limiter on its way, it is not judged FAIL,
// also if it is said to be complete. What happened is said. A lossless harm leaves the log its power.
func TestHarmsAccuseNobody(t *testing.T) {
	rounds := 8
	if testing.Short() {
		rounds = 3
	}
	right := []string{"sliding-window-log,rate=20/2s", "token-bucket,rate=10/s,burst=20",
		"fixed-window,rate=20/2s"}
	wrong := mustParse(t, "sliding-window-log,rate=6/2s")
	for _, h := range harms {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			refuted := 0
			for seed := range rounds {
				rng := rand.New(rand.NewPCG(uint64(seed), 3))
				limit := mustParse(t, right[seed%len(right)])
				w := writers["nginx, milliseconds"]
				var lines []string
				for _, r := range traffic(t, rng, limit, 300, 50*time.Millisecond) {
					lines = append(lines, w.write(r, rng)+` id="`+strconv.Itoa(int(rng.Int32()))+`"`)
				}
				for _, complete := range []bool{false, true} {
					var files []File
					for _, part := range h.do(lines, rng) {
						files = append(files, File{"x", strings.NewReader(strings.Join(part, "\n") + "\n")})
					}
					o := w.o
					o.Complete = complete
					l, err := ReadAll(files, o)
					if err != nil {
						t.Fatal(err)
					}
					l.Header.Tick = time.Millisecond
					j, err := check.Judge(l.Timeline(), limit,
						check.Options{SkipMeasure: true, Shared: l.Lossy})
					if err != nil {
						t.Fatal(err)
					}
					if j.Verdict == result.Fail {
						t.Errorf("seed %d, complete %t: accused: %+v", seed, complete, j.Partitions)
					}
					if mustJudge(t, l, wrong).Verdict == result.Fail {
						refuted++
					}
					said := strings.Join(l.Flaws, "\n")
					if l.Copies > 0 {
						said += " copies"
					}
					if !strings.Contains(said, h.says) || h.says == "" && h.lossless && said != "" {
						t.Errorf("got %q, want %q", said, h.says)
					}
				}
			}
			if h.lossless && refuted < 2*rounds {
				t.Errorf("got %d of %d wrong limits refuted", refuted, 2*rounds)
			}
		})
	}
}

// TestOneClientHasManySpellings: spellings of one address are one client, and so is a network if asked.
func TestOneClientHasManySpellings(t *testing.T) {
	for _, c := range []struct {
		by   string
		want []string
		of   []string
	}{
		{"address", []string{"2001:db8::1"}, []string{"2001:DB8::1", "2001:db8:0:0::1", "2001:0db8::0001"}},
		{"address/64", []string{"2001:db8::/64", "192.0.2.7"},
			[]string{"2001:db8::1", "2001:db8::ffff:1", "192.0.2.7"}},
		{"address/24", []string{"2001:db8::1", "192.0.2.0/24"},
			[]string{"2001:db8::1", "192.0.2.7", "192.0.2.8"}},
		{"address/24/56", []string{"2001:db8::/56", "192.0.2.0/24"}, []string{"2001:db8::1", "192.0.2.7"}},
		{"address", []string{"::ffff:192.0.2.7", "192.0.2.7"}, []string{"::ffff:192.0.2.7", "192.0.2.7"}},
	} {
		var text strings.Builder
		for i, address := range c.of {
			fmt.Fprintf(&text, `%s - - [20/Nov/2026:10:00:0%d +0000] "GET / HTTP/1.1" 200 0 "-" "-" `+
				"request_time=0.001\n", address, i)
		}
		l, err := Read(strings.NewReader(text.String()), "x", Options{Format: Nginx, PartitionBy: c.by})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		if err := l.Each(func(o *timeline.Observation) bool {
			got = append(got, o.Partition)
			return true
		}); err != nil || !slices.Equal(slices.Compact(got), c.want) {
			t.Errorf("%s: got %v, %v, want %v", c.by, got, err, c.want)
		}
	}
}

// FuzzUnwrap: no line makes a wrapper or the joiner of records panic, and what is unwrapped is a part of it.
func FuzzUnwrap(f *testing.F) {
	for _, h := range harms {
		for _, part := range h.do(slices.Repeat([]string{combined}, 300), rand.New(rand.NewPCG(1, 1))) {
			f.Add([]byte(strings.Join(part[:2], "\n")), false)
		}
	}
	f.Add([]byte("[\n{\n\"a\": \"}\"\n},\n{\n}\n]"), true)
	f.Add([]byte(`{"log":"000 -00000T\b\b000\b\b0\b0"}`), false)
	f.Fuzz(func(t *testing.T, text []byte, isJSON bool) {
		var j joiner
		n := 0
		for line := range bytes.Lines(text) {
			n++
			outer := line
			for _, w := range unwrapped(bytes.TrimSpace(line), isJSON, nil) {
				if w.by == "JSON" {
					outer = w.line // without its escapes
				} else if !bytes.Contains(outer, w.line) {
					t.Fatalf("%q: got %q", line, w.line)
				}
			}
			otherLine(line)
			if record, first, _ := j.next(line, n); first < 1 || first > n || len(record) > len(text)+n {
				t.Fatalf("%q: got %q of line %d", line, record, first)
			}
			elements(line)
		}
		_, _ = Read(io.MultiReader(bytes.NewReader(text), strings.NewReader("\n")), "x",
			Options{Format: Kong, MaxDuration: time.Second})
	})
}
