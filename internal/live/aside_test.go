package live

import (
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// asideMode is the variable that makes the test binary do something else beside the tests: watch or burn.
const asideMode = "RLCHECK_LIVE_ASIDE"

func TestMain(m *testing.M) {
	mode := os.Getenv(asideMode)
	if mode == "" {
		besideEachOther()
		m.Run()
		if built.path != "" {
			_ = os.RemoveAll(filepath.Dir(built.path)) // a folder below that of temporary files
		}
		return
	}
	over := make(chan struct{})
	go func() { // standard input ends with the parent at the latest
		_, _ = os.Stdin.Read(make([]byte, 1))
		close(over)
	}()
	if mode == "burn" {
		defer burn(2)()
		<-over
	} else {
		sleep(over)
	}
}

// most is how many tests go on beside each other: they mostly wait, for windows to end and buckets to fill.
const most = 16

// garbage is how much may be kept, in percent of what is in use: to collect more often took a sixth of the
// time of the processors.
const garbage = 800

// besideEachOther lets most tests go on at a time, where go test -parallel says nothing else.
func besideEachOther() {
	debug.SetGCPercent(garbage)
	flag.Parse()
	told := false
	flag.Visit(func(f *flag.Flag) { told = told || f.Name == "test.parallel" })
	if !told {
		_ = flag.Set("test.parallel", strconv.Itoa(most)) // a number that is above 0
	}
}

// aside starts the test binary in a mode of its own. It ends when in is closed, at the latest with this
// process. What it prints goes to out; may be nil.
func aside(mode string, out io.Writer) (cmd *exec.Cmd, in io.Closer, err error) {
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asideMode+"="+mode)
	cmd.Stdout = out
	if in, err = cmd.StdinPipe(); err == nil {
		err = cmd.Start()
	}
	return cmd, in, err
}

// burn keeps n processors busy until the returned function is called.
func burn(n int) (stop func()) {
	var over atomic.Bool
	var burning sync.WaitGroup
	for range n {
		burning.Go(func() {
			for x := uint64(1); !over.Load(); {
				for range 1000 {
					x = x*6364136223846793005 + 1
				}
			}
		})
	}
	return func() {
		over.Store(true)
		burning.Wait()
	}
}
