package reference

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/rlcheck/rlcheck/internal/spec"
)

// TestGCRADecidesAsRedisRate compares with go-redis/redis_rate on a real server. The server reads its own
// clock, so each of its decisions lies between our times before and after the call. The reference is brought
// to both ends:
//
//	kind   every admission as early as it can have been: if it denies at the end, so must redis_rate
//	harsh  every admission as late as it can have been: if it admits at the beginning, so must redis_rate
//
// A slow machine may ask too seldom to be denied, or leave too much open. Then it asks again.
func TestGCRADecidesAsRedisRate(t *testing.T) {
	const tries = 20
	client := startRedis(t)
	var a rulings
	for n := range tries {
		if a = askRedisRate(t, client, "key"+strconv.Itoa(n)); a.allowed > 0 && a.denied > 0 &&
			a.decided >= a.all()/4 {
			break
		}
	}
	wantBoth(t, a.allowed, a.denied)
	if a.decided < a.all()/4 {
		t.Errorf("got %d of %d decisions that could have been wrong, want a quarter at least", a.decided,
			a.all())
	}
	t.Logf("%d allowed, %d denied; %d of %d decisions could have been wrong", a.allowed, a.denied, a.decided,
		a.all())
}

// rulings counts the answers of redis_rate. decided is how many of them the reference could have found wrong.
type rulings struct{ allowed, denied, decided int }

func (a rulings) all() int { return a.allowed + a.denied }

// askRedisRate sends requests of one key to redis_rate and compares each answer.
func askRedisRate(t *testing.T, client *redis.Client, key string) (a rulings) {
	t.Helper()
	p := spec.Policy{Algorithm: spec.GCRA, Rate: spec.Rate{N: 100, Per: time.Second}, Burst: 10}
	theirs := redis_rate.NewLimiter(client)
	their := redis_rate.Limit{Rate: int(p.Rate.N), Period: p.Rate.Per, Burst: int(p.Burst)}
	g := newGCRA(p)
	// The server counts in microseconds, in a floating point whose steps are 0.06 us at this size.
	const blur = 2 * time.Microsecond
	var kind, harsh cellState
	for i := range 300 {
		cost := int64(1 + i%7/6)
		before := time.Duration(time.Now().UnixNano()) - blur
		for before < harsh.last {
			before = time.Duration(time.Now().UnixNano()) - blur
		}
		result, err := theirs.AllowN(context.Background(), key, their, int(cost))
		after := time.Duration(time.Now().UnixNano()) + blur
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			kind, harsh = g.open(before), g.open(before)
		}
		must := g.wait(g.advance(harsh, before), cost) == 0
		may := g.wait(g.advance(kind, after), cost) == 0
		allow := result.Allowed > 0
		if allow && !may || !allow && must {
			t.Fatalf("request %d: redis_rate admits %v, the reference must %v, may %v", i, allow, must, may)
		}
		if must == may {
			a.decided++
		}
		count(Decision{Allow: allow}, &a.allowed, &a.denied)
		if allow {
			kind, _ = g.charge(g.advance(kind, before), cost, true)
			harsh, _ = g.charge(g.advance(harsh, after), cost, true)
		} else {
			low := g.wait(g.advance(kind, after), cost)
			high := g.wait(g.advance(harsh, before), cost)
			if result.RetryAfter < low-blur || result.RetryAfter > high+blur {
				t.Fatalf("request %d: redis_rate waits %v, the reference %v to %v", i, result.RetryAfter, low,
					high)
			}
		}
		if i%20 == 19 {
			time.Sleep(time.Duration(i%60) * time.Millisecond)
		}
	}
	return a
}

// startRedis starts a redis-server on a free loopback port, which ends with the test. Without a server the
// test is skipped, unless CI or RLCHECK_REQUIRE_SERVERS demands one.
func startRedis(t *testing.T) *redis.Client {
	t.Helper()
	required := os.Getenv("CI") == "true" || os.Getenv("RLCHECK_REQUIRE_SERVERS") == "1"
	if testing.Short() && !required {
		t.Skip("a short run starts no servers")
	}
	path, err := exec.LookPath("redis-server")
	switch {
	case err != nil && required:
		t.Fatalf("no redis-server: %v", err)
	case err != nil:
		t.Skip("no redis-server here")
	}
	for range 5 { // Somebody else may take the port between.
		client, err := tryRedis(t, path)
		if err == nil {
			return client
		}
		t.Log(err)
	}
	t.Fatal("redis-server did not start")
	return nil
}

// tryRedis starts a redis-server once.
func tryRedis(t *testing.T, path string) (*redis.Client, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := l.Addr().(*net.TCPAddr)
	if err := l.Close(); err != nil {
		return nil, err
	}
	server := exec.Command(path, "--bind", "127.0.0.1", "--port", strconv.Itoa(address.Port), "--save", "",
		"--appendonly", "no", "--dir", t.TempDir())
	if err := server.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	// a script that ran twice would count twice
	client := redis.NewClient(&redis.Options{Addr: address.String(), MaxRetries: -1,
		ReadTimeout: time.Minute, WriteTimeout: time.Minute})
	t.Cleanup(func() {
		_ = client.Close()
		_ = server.Process.Kill()
		<-ended
	})
	for range 3000 {
		select {
		case err := <-ended:
			ended <- err
			return nil, errors.Join(errors.New("redis-server ended"), err)
		case <-time.After(20 * time.Millisecond):
		}
		if info, err := client.Info(context.Background(), "server").Result(); err == nil &&
			owns(info, server.Process.Pid) {
			return client, nil
		}
	}
	return nil, errors.New("redis-server does not answer")
}

// owns tells whether the INFO text is that of the process.
func owns(info string, pid int) bool {
	return strings.Contains(info, "\nprocess_id:"+strconv.Itoa(pid)+"\r\n")
}
