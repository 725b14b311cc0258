package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rlcheck/rlcheck/internal/spec"
)

// sold is a product of a preset, configured for 10 requests in 600 ms, or in whole seconds.
type sold struct {
	// preset is the preset as a user writes it.
	preset string
	// pinned is the npm package or Go module whose version stands in testdata; "" for one from Debian.
	pinned string
	start  func(t testing.TB) (url string)
	// other is a SPEC that the product does not implement, as a load at its rate shows. It is empty if that
	// would take long: then several bursts are judged.
	other string
	// few are SPECs that a burst refutes; nil for one request more and one less.
	few []string
	// turns tells that a timer of the product ends its windows, or is its clock. A busy machine may delay it.
	turns bool
}

// A load at the rate distinguishes windows from buckets.
const (
	aBucket = "token-bucket,rate=10/600ms,burst=10"
	aWindow = "fixed-window,rate=10/600ms,align=first"
)

const (
	failsafe = "github.com/failsafe-go/failsafe-go"
	fiber    = "github.com/gofiber/fiber/v"
)

// market is what each preset is tested on, by the name of the preset.
var market = map[string][]sold{
	"express":        {npm("express-rate-limit", "express:windowMs=600,limit=10")},
	"hono":           {npm("hono-rate-limiter", "hono:windowMs=600,limit=10")},
	"fastify":        {npm("@fastify/rate-limit", "fastify:max=10,timeWindow=600")},
	"koa2-ratelimit": {npm("koa2-ratelimit", "koa2-ratelimit:interval=600,max=10")},
	"nest":           {npm("@nestjs/throttler", "nest:ttl=600,limit=10")},
	"moleculer":      {npm("moleculer-web", "moleculer:window=600,limit=10")},
	"rate-limiter-flexible": {{preset: "rate-limiter-flexible:points=10,duration=1",
		pinned: "rate-limiter-flexible", other: "token-bucket,rate=10/s,burst=10",
		start: func(t testing.TB) string { return node(t, "rate-limiter-flexible", 10, time.Second) }}},

	"x-time-rate": {module("x-time-rate", "golang.org/x/time", "x-time-rate:limit=10/600ms,burst=10")},
	"echo":        {module("echo", "github.com/labstack/echo/v4", "echo:rate=10/600ms,burst=10")},
	"tollbooth":   {module("tollbooth", "github.com/didip/tollbooth/v8", "tollbooth:max=10/600ms,burst=10")},
	"redis-rate": {module("redis-rate", "github.com/go-redis/redis_rate/v10",
		"redis-rate:rate=10/600ms,burst=10")},
	"throttled": {{preset: "throttled:MaxRate=10/600ms,MaxBurst=9", other: aWindow,
		pinned: "github.com/throttled/throttled/v2",
		start:  func(t testing.TB) string { return golang(t, "throttled", "600ms") }}},
	"httprate": {module("httprate", "github.com/go-chi/httprate", "httprate:10,600ms")},
	"ulule":    {module("ulule", "github.com/ulule/limiter/v3", "ulule:10/600ms")},
	"go-limiter": {module("go-limiter", "github.com/sethvargo/go-limiter",
		"go-limiter:Tokens=10,Interval=600ms")},
	"failsafe": {module("failsafe-bursty", failsafe, "failsafe:bursty=10/600ms"), smooth()},
	"fiber": {whole("fiber2", fiber+"2", "fiber:Max=10,Expiration=2s"),
		whole("fiber2-sliding", fiber+"2", "fiber:Max=10,Expiration=2s,SlidingWindow,version=2"),
		whole("fiber3", fiber+"3", "fiber:Max=10,Expiration=2s"),
		whole("fiber3-sliding", fiber+"3", "fiber:Max=10,Expiration=2s,SlidingWindow,version=3")},
	"gin-rate-limit": {whole("gin-rate-limit", "github.com/JGLTechnologies/gin-rate-limit",
		"gin-rate-limit:Rate=2s,Limit=10")},

	"flask": {flask("fixed-window", "token-bucket,rate=10/s,burst=10"),
		flask("moving-window", "token-bucket,rate=10/s,burst=10"), flask("fixed-window-elastic-expiry", "")},
	"drf": {{preset: "drf:10/s", other: "token-bucket,rate=10/s,burst=10",
		start: func(t testing.TB) string {
			return python(t, "rest_framework", "drf_app:app", "RATE=10/s")
		}}},
}

// npm returns a package of npm.
func npm(name, preset string) sold {
	return sold{preset: preset, pinned: name, other: aBucket, turns: true,
		start: func(t testing.TB) string { return node(t, name, 10, 600*time.Millisecond) }}
}

// module returns a Go module. product is its name in testdata/golang.
func module(product, path, preset string) sold {
	s := sold{preset: preset, pinned: path, other: aBucket,
		start: func(t testing.TB) string { return golang(t, product, "600ms") }}
	if strings.Contains(preset, "burst=") {
		s.other = aWindow
	}
	return s
}

// whole returns a Go module whose clock has whole seconds.
func whole(product, path, preset string) sold {
	return sold{preset: preset, pinned: path, turns: true,
		start: func(t testing.TB) string { return golang(t, product, "2s") }}
}

// smooth returns a product that admits one request in each 60 ms.
func smooth() sold {
	s := module("failsafe-smooth", failsafe, "failsafe:smooth=10/600ms")
	s.few = []string{"fixed-window,rate=3/60ms,align=unknown"}
	s.other = "fixed-window,rate=1/120ms,align=unknown"
	return s
}

// flask returns a strategy of Flask-Limiter.
func flask(strategy, other string) sold {
	return sold{preset: "flask:10 per 1 second,strategy=" + strategy, other: other,
		start: func(t testing.TB) string {
			return python(t, "flask_limiter", "flask_app:app", "LIMITS=10 per 1 second",
				"STRATEGY="+strategy)
		}}
}

// trials returns the scenarios that judge a product.
func (s sold) trials(t testing.TB, url string) map[string]trial {
	limit, err := spec.Parse(s.preset)
	if err != nil {
		t.Fatal(err)
	}
	few := s.few
	if few == nil {
		for _, n := range []string{"=9", "=11"} {
			few = append(few, strings.ReplaceAll(limit.String(), "=10", n))
		}
	}
	all := map[string]trial{"burst": {wrong: few}, "window-edge": {}}
	if s.other == "" {
		all["own-window"] = trial{}
	} else {
		all["sustained"] = trial{wrong: []string{s.other}}
	}
	for scenario, c := range all {
		c.scenario, c.url, c.right, c.turns, c.limitOnly = scenario, url, s.preset, s.turns, true
		c.sets = []string{"expect.resolution.burst=none"} // the trial demands it with the wrong SPECs instead
		all[scenario] = c
	}
	return all
}

// Every preset that says it was tested on a product is true of that product, here and now.
func TestPresetsAreTrueOfTheirProducts(t *testing.T) {
	t.Parallel()
	for _, all := range market {
		for _, s := range all {
			t.Run(s.preset, func(t *testing.T) {
				t.Parallel()
				for scenario, c := range s.trials(t, s.start(t)) {
					t.Run(scenario, func(t *testing.T) {
						t.Parallel()
						if why := read(t, c.scenario, c.url, c.right, c.sets...).Unmet(); why != "" {
							t.Skip(why)
						}
						c.judged(t)
					})
				}
			})
		}
	}
}

// built is the program of testdata/golang once it was built.
var built struct {
	sync.Once
	path string
	out  []byte
	err  error
}

// golang starts a product of testdata/golang with a limit of 10 per window and a burst of 10, and returns its
// URL.
func golang(t testing.TB, product, window string) string {
	t.Helper()
	built.Do(func() {
		dir, err := os.MkdirTemp("", "rlcheck-live-")
		if err != nil {
			built.err = err
			return
		}
		built.path = filepath.Join(dir, "golang")
		cmd := exec.Command("go", "build", "-tags", "nomsgpack", "-o", built.path, ".")
		cmd.Dir = filepath.Join("testdata", "golang")
		built.out, built.err = cmd.CombinedOutput()
	})
	if built.err != nil {
		missing(t, "go build in testdata/golang: %v (is there a network?)\n%s", built.err, built.out)
	}
	redis := ""
	if product == "redis-rate" {
		redis = start(t, program{binary: "redis-server", template: "redis.conf.tmpl",
			args: func(config string, _ int) []string { return []string{config} }})
	}
	return "http://" + start(t, program{binary: built.path, args: func(_ string, port int) []string {
		return []string{product, strconv.Itoa(port), "10", window, "10", redis}
	}}) + "/"
}

// python starts an application of testdata/python in one process with these variables, and returns its URL.
// It has one thread, since both products read and write their counts in two steps. The packages come with
// Debian's Python.
func python(t testing.TB, pkg, app string, env ...string) string {
	t.Helper()
	const debian = "/usr/bin/python3"
	find(t, debian)
	if err := exec.Command(debian, "-c", "import gunicorn, "+pkg).Run(); err != nil {
		missing(t, "gunicorn or %s of Debian's Python is not installed", pkg)
	}
	dir, err := filepath.Abs(filepath.Join("testdata", "python"))
	if err != nil {
		t.Fatal(err)
	}
	return "http://" + start(t, program{binary: debian, args: func(_ string, port int) []string {
		args := []string{"-B", "-m", "gunicorn", "--bind", "127.0.0.1:" + strconv.Itoa(port),
			"--worker-class", "gthread", "--threads", "1", "--chdir", dir}
		for _, e := range env {
			args = append(args, "--env", e)
		}
		return append(args, app)
	}}) + "/"
}
