package lab

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// node is a redis-server with a client of its own.
type node struct {
	*redis.Client
	addr, bus string
	stop      func()
}

// startNode starts a redis-server without persistence.
func startNode(t *testing.T, args ...string) node {
	t.Helper()
	addr, stop := startServer(t, append(args, "--save", "", "--appendonly", "no")...)
	return connectNode(t, addr, stop)
}

func connectNode(t *testing.T, addr string, stop func()) node {
	t.Helper()
	n := node{Client: redis.NewClient(&redis.Options{Addr: addr, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		MaxRetries:               -1,
		DialTimeout:              time.Minute, ReadTimeout: time.Minute, WriteTimeout: time.Minute,
		PoolTimeout: time.Minute}), addr: addr, stop: stop}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return n
}

// port returns the port of an address.
func port(t *testing.T, addr string) string {
	t.Helper()
	_, p, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// must runs a command on a node.
func (n node) must(t *testing.T, words ...any) string {
	t.Helper()
	v, err := n.Do(t.Context(), words...).Result()
	if err != nil {
		t.Fatalf("%v: %v", words, err)
	}
	return fmt.Sprint(v)
}

// tells runs a command on a node. It returns "" if the node hangs up, which it may do while it changes its
// role.
func (n node) tells(t *testing.T, words ...any) string {
	t.Helper()
	v, err := n.Do(t.Context(), words...).Result()
	if err != nil {
		return ""
	}
	return fmt.Sprint(v)
}

// eventually waits for something on which servers agree by themselves.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 2400 {
		if is() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s: not within two minutes", what)
}

// startCluster starts three nodes that share the slots. Each answers for its own slots even if another one is
// gone.
func startCluster(t *testing.T) []node {
	t.Helper()
	nodes := make([]node, 3)
	for i := range nodes {
		// a node that a busy machine keeps waiting must not count as gone
		nodes[i] = startNode(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "60000",
			"--cluster-port", busPort,
			"--cluster-require-full-coverage", "no")
		bus := nodes[i].ConfigGet(t.Context(), "cluster-port").Val()["cluster-port"]
		if bus == "" {
			t.Fatal("a node tells no port of its bus")
		}
		nodes[i].bus = bus
	}
	for i, n := range nodes {
		n.must(t, "cluster", "addslotsrange", i*16384/3, (i+1)*16384/3-1)
		nodes[0].must(t, "cluster", "meet", "127.0.0.1", port(t, n.addr), n.bus)
	}
	for _, n := range nodes {
		eventually(t, "the cluster", func() bool {
			info := n.tells(t, "cluster", "info")
			return strings.Contains(info, "cluster_state:ok") &&
				strings.Contains(info, "cluster_known_nodes:3") &&
				strings.Contains(info, "cluster_slots_ok:16384")
		})
	}
	return nodes
}

// TestStoreInCluster keeps limits in a cluster of three nodes:
//
//   - Rulings equal the reference, and the judge passes them.
//   - All nodes have some partitions, and every name of a partition stays on one node.
//   - A slot that has moved is followed without counting twice.
//   - If a node is gone, the others go on.
func TestStoreInCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("three servers agree for seconds")
	}
	nodes := startCluster(t)
	s, err := OpenStore("redis-cluster://" + nodes[0].addr + "," + nodes[1].addr)
	store := opened(t, s, err)
	for _, spec := range []string{redisSpecs[0], redisSpecs[len(redisSpecs)-2]} {
		limit := redisParse(t, spec)
		d, err := store.Decider(limit)
		if err != nil {
			t.Fatal(err)
		}
		equalsReference(t, d, limit, 8, 90)
		passes(t, d, limit, 8, 60)
	}
	d, err := store.Decider(redisParse(t,
		"sliding-window-log,rate=3/1d + fixed-window,rate=4/1d,align=first"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		admits(t, d, fmt.Sprint("many", i), 1, 1)
	}
	for _, key := range []string{"", "}", "a}b{c", "{", "\x00127.0.0.1"} {
		admits(t, d, key, 5, 3)
	}
	for i, n := range nodes {
		if size := n.must(t, "dbsize"); size == "0" {
			t.Errorf("node %d keeps nothing", i)
		}
	}
	t.Run("moved slot", func(t *testing.T) { moveSlot(t, nodes, d.(*decider)) })
	t.Run("node gone", func(t *testing.T) {
		nodes[2].stop()
		failed := 0
		for i := range 30 {
			if _, err := d.Decide(t.Context(), fmt.Sprint("gone", i), 1); err != nil {
				failed++
			}
		}
		if failed == 0 || failed == 30 {
			t.Errorf("%d of 30 failed, want those of one node of three", failed)
		}
	})
}

// admits asks n times and checks how often it is admitted.
func admits(t *testing.T, d Decider, key string, n, want int) {
	t.Helper()
	got := 0
	for range n {
		r, err := d.Decide(t.Context(), key, 1)
		if err != nil {
			t.Fatalf("%q: %v", key, err)
		}
		if r.Allow {
			got++
		}
	}
	if got != want {
		t.Errorf("%q: got %d of %d admitted, want %d", key, got, n, want)
	}
}

// moveSlot gives the slot of a partition, which is empty, to another node. The client is not told.
func moveSlot(t *testing.T, nodes []node, d *decider) {
	const key = "moved"
	slot := nodes[0].must(t, "cluster", "keyslot", d.words(key, 1)[0])
	var at int
	if _, err := fmt.Sscan(slot, &at); err != nil {
		t.Fatal(err)
	}
	from := nodes[at*3/16384]
	to := nodes[(at*3/16384+1)%3]
	id := to.must(t, "cluster", "myid")
	to.must(t, "cluster", "setslot", slot, "node", id)
	from.must(t, "cluster", "setslot", slot, "node", id)
	admits(t, d, key, 5, 3)
}

// TestStoreBehindSentinel: a sentinel makes the replica of a master the new master. What was used up stays
// used up.
func TestStoreBehindSentinel(t *testing.T) {
	if testing.Short() {
		t.Skip("a sentinel watches for ten seconds")
	}
	master := startNode(t)
	replica := startNode(t, "--replicaof", "127.0.0.1", port(t, master.addr))
	file := filepath.Join(t.TempDir(), "sentinel.conf")
	config := fmt.Sprintf("sentinel monitor main 127.0.0.1 %s 1\nsentinel down-after-milliseconds main "+
		"60000\nsentinel failover-timeout main 5000\n",
		port(t, master.addr))
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	addr, stop := startServer(t, file, "--sentinel")
	sentinel := connectNode(t, addr, stop)
	eventually(t, "the replica", func() bool {
		return strings.Contains(replica.tells(t, "info", "replication"), "master_link_status:up") &&
			strings.Contains(sentinel.tells(t, "sentinel", "replicas", "main"), replica.addr)
	})
	s, err := OpenStore("redis-sentinel://" + sentinel.addr + "/main")
	store := opened(t, s, err)
	d, err := store.Decider(redisParse(t, "fixed-window,rate=5/1d,align=first"))
	if err != nil {
		t.Fatal(err)
	}
	admits(t, d, "k", 3, 3)
	eventually(t, "what the master has", func() bool { return master.tells(t, "wait", 1, 1000) == "1" })
	// A sentinel refuses until it has seen the replica for long enough.
	eventually(t, "the order to fail over",
		func() bool { return sentinel.Do(t.Context(), "sentinel", "failover", "main").Err() == nil })
	eventually(t, "the new master", func() bool {
		return strings.Contains(replica.tells(t, "info", "replication"), "role:master") &&
			strings.Contains(master.tells(t, "info", "replication"), "role:slave") &&
			strings.Contains(sentinel.tells(t, "sentinel", "get-master-addr-by-name", "main"),
				port(t, replica.addr))
	})
	eventually(t, "a decision", func() bool {
		r, err := d.Decide(t.Context(), "k", 1)
		return err == nil && r.Allow && r.Remaining == 1
	})
	admits(t, d, "k", 4, 1)
}
