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

// asideMode is the variable that makes the test binary do something else than test: watch or burn.
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
	go func() { // standard input ends when the parent does, at the latest
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

// most is how many tests run at the same time. They mostly wait, for windows to end and buckets to fill.
const most = 16

// garbage is the garbage collection target (GOGC), in percent of the live memory. Collecting more often took
// a sixth of the processor time.
const garbage = 800

// besideEachOther lets `most` tests run at a time, unless go test -parallel says otherwise.
func besideEachOther() {
	debug.SetGCPercent(garbage)
	flag.Parse()
	told := false
	flag.Visit(func(f *flag.Flag) { told = told || f.Name == "test.parallel" })
	if !told {
		_ = flag.Set("test.parallel", strconv.Itoa(most)) // a number that is above 0
	}
}

// aside starts the test binary in another mode. It ends when in is closed, at the latest with this process.
// Its output goes to out, which may be nil.
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
