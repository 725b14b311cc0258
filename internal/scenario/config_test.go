package scenario

import (
	"errors"
	"testing"
)

// FuzzParseConfig demands that nothing panics, and that every problem lies inside the file.
func FuzzParseConfig(f *testing.F) {
	for _, seed := range []string{
		"target: ${TARGET}\nlimit: token-bucket,rate=1/s,burst=2\npartition: query:key\nfail-on: fail\n",
		"slo: {allowed_p99: 5ms, errors: 0}\n",
		"limit: {algorithm: gcra, rate: 1/s, burst: 2}\nheader: {A: b}\npromises: [cost]\n",
		"taget: x\npartition: {header: X}\noutputs: []\n",
		"", "# nothing\n", "- a\n", "limit: concurrency,slots=1\nheader:\n",
		"header: [a]\n", "scenarios: [{}]\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 1<<14 {
			t.Skip("large inputs only take longer")
		}
		c, err := ParseConfig(src, "f.yaml", environment("TARGET=http://127.0.0.1/"))
		var problems Errors
		switch {
		case err == nil && c != nil:
		case !errors.As(err, &problems) || len(problems) == 0 || c != nil:
			t.Fatalf("got %v and a %T: %v, want Errors", c, err, err)
		}
		for i, p := range problems {
			checkPlace(t, src, p)
			if p.What == "" || p.Why == "" {
				t.Errorf("problem %d: %+v: got no what or no why", i, p)
			}
		}
	})
}
