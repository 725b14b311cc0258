// Package cli is what all commands share: their access to the system, exit statuses and messages, the formats
// of -o, files that are written completely or not at all, and the progress display.
package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/rlcheck/rlcheck/internal/result"
)

// Env is what a command may use of the world.
type Env struct {
	Args   []string
	In     io.Reader
	Say    *Speaker
	Getenv func(string) (string, bool)
	// Environ lists the variables as NAME=VALUE.
	Environ func() []string
	// Quiet and Verbose are -q and -v. Color and NoProgress say what is wanted of a terminal.
	Quiet, Verbose, NoProgress bool
	Color                      string
	// Version is the version of the program.
	Version string
	// Unspoken are the flags of the command that only the environment gave.
	Unspoken map[string]bool
}

// echo is how long a repeated signal counts as the same one. timeout and npm send one to the program and to
// its process group, which is two for the program.
const echo = 500 * time.Millisecond

// Interruptible returns a context that ends when the program is told to stop. A second signal ends the
// program at once, unless it is an echo of the first. Commands that do not call it end at the first signal.
func Interruptible() (ctx context.Context, stop func()) { return interruptible(echo) }

func interruptible(echo time.Duration) (ctx context.Context, stop func()) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop = signal.NotifyContext(context.Background(), signals...)
	context.AfterFunc(ctx, func() { time.AfterFunc(echo, stop) })
	return ctx, stop
}

// WantsColor tells whether the results go to a terminal and shall have colours.
func (e *Env) WantsColor() bool {
	if e.Color != "auto" {
		return e.Color == "always"
	}
	if v, set := e.Getenv("NO_COLOR"); set && v != "" {
		return false
	}
	if v, _ := e.Getenv("TERM"); v == "dumb" {
		return false
	}
	return Terminal(e.Say.Out) > 0
}

// Terminal returns the width of w in columns if it is a terminal, 0 otherwise.
func Terminal(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		width = 80
	}
	return width
}

// ThisHost returns the machine that generates the load, or judges.
func ThisHost() result.Host {
	return result.Host{
		GoVersion: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(),
	}
}
