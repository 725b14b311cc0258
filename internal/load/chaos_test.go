package load

import (
	"bufio"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/rlcheck/rlcheck/internal/timeline"
)

// TestNumbersAddUpUnderChaos: a target treats some requests in a random wrong way, and answers the others in
// various right ways. Each planned request is sent and has one outcome. RLCHECK_SEED selects what the target
// does. RLCHECK_SOAK asks for more rounds.
func TestNumbersAddUpUnderChaos(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if v := os.Getenv("RLCHECK_SEED"); v != "" {
		seed = must(strconv.ParseUint(v, 10, 64))
	}
	rounds := 2
	if os.Getenv("RLCHECK_SOAK") != "" {
		rounds = 200
	}
	for round := range rounds {
		for _, two := range []bool{false, true} {
			name := "HTTP1"
			if two {
				name = "HTTP2"
			}
			t.Run(name+"/"+strconv.Itoa(round), func(t *testing.T) {
				t.Parallel()
				t.Logf("RLCHECK_SEED=%d", seed)
				dice := rand.New(rand.NewPCG(seed, uint64(round)))
				chaos(t, two, dice.Uint64())
			})
		}
	}
}

// chaos records a mix of shapes from a target that is wrong at random.
func chaos(t *testing.T, two bool, seed uint64) {
	const burst, flow, clients = 60, 60, 200
	var conns atomic.Uint64
	u := loopback(t, func(c net.Conn) {
		dice := rand.New(rand.NewPCG(seed, conns.Add(1)))
		if two {
			chaosOfHTTP2(c, dice)
		} else {
			chaosOfHTTP1(c, dice)
		}
	})
	o := Options{URL: u, HTTP2: two, Timeout: 200 * time.Millisecond, MaxConnections: 32,
		Answers: Answers{KeepBody: 10}}
	tl := mustRecord(t, schedule(
		timeline.Phase{Name: "burst", Shape: timeline.AtOnce, Arrivals: each(burst, 0, "k", 0)},
		timeline.Phase{Name: "flow", Shape: timeline.Constant,
			Arrivals: each(flow, 200*time.Microsecond, "k", burst)},
		timeline.Phase{Name: "again", Shape: timeline.AtOnce,
			Arrivals: each(burst, 0, "k", burst+flow)},
		timeline.Phase{Name: "clients", Shape: timeline.Closed, Clients: 16, Partitions: []string{"k"},
			Requests: clients},
	), o)
	c := tl.Counts()
	// A machine that stands still may get no answer in time, which ends the run.
	if c.Planned != 2*burst+flow+clients || c.Sent+c.Unsent != c.Planned || c.Unsent > 0 && c.Allowed > 0 ||
		c.Allowed+c.Denied+c.Unknown != c.Sent {
		t.Errorf("got %+v; notes %q", c, tl.Header.Notes)
	}
}

// chaosOfHTTP1 answers requests correctly, or does something wrong and ends the connection.
func chaosOfHTTP1(c net.Conn, dice *rand.Rand) {
	wrong := faultsOfHTTP1()
	delete(wrong, "hangs")
	all := []func(net.Conn){func(net.Conn) { time.Sleep(time.Millisecond) }}
	for _, f := range wrong {
		all = append(all, f)
	}
	right := []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n2\r\nok\r\n0\r\nX-T: 1\r\n\r\n",
		"HTTP/1.1 429 No\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno",
		"HTTP/1.1 204 No Content\r\n\r\n",
	}
	br := bufio.NewReader(c)
	for {
		if _, err := http.ReadRequest(br); err != nil {
			return
		}
		if dice.IntN(8) == 0 {
			all[dice.IntN(len(all))](c)
			return
		}
		text := right[dice.IntN(len(right))]
		if dice.IntN(4) == 0 { // in two parts
			cut := 1 + dice.IntN(len(text)-1)
			io.WriteString(c, text[:cut])
			time.Sleep(time.Millisecond)
			text = text[cut:]
		}
		io.WriteString(c, text)
	}
}

// chaosOfHTTP2 is chaosOfHTTP1 with streams.
func chaosOfHTTP2(c net.Conn, dice *rand.Rand) {
	wrong := faultsOfHTTP2()
	delete(wrong, "a flood of settings")
	var all []func(*peer, uint32)
	for _, f := range wrong {
		all = append(all, f)
	}
	p := speak(c, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: uint32(1 + dice.IntN(100))})
	for id := uint32(1); id != 0; id = p.next() {
		if dice.IntN(12) == 0 {
			all[dice.IntN(len(all))](p, id)
		} else {
			p.answer(id, true)
		}
	}
}
