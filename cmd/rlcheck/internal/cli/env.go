// Package cli is what all commands share: their access to the system, exit statuses and messages, the formats
// of -o, files that are written completely or not at all, and the progress display.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/rlcheck/rlcheck/internal/result"
	"github.com/rlcheck/rlcheck/internal/text"
	"github.com/rlcheck/rlcheck/internal/text/columns"
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

// Speaker prints everything that rlcheck says: results to stdout, everything else to stderr behind "rlcheck:
// ". Text from outside is never a format string.
type Speaker struct {
	Out, Err io.Writer
	Quiet    bool
	// Broken is the first error of writing a result.
	Broken error
}

// Write writes a result.
func (s *Speaker) Write(p []byte) (int, error) {
	n, err := s.Out.Write(p)
	if err != nil && s.Broken == nil {
		s.Broken = err
	}
	return n, err
}

// Lost returns why results could not be printed, or nil if they could. A reader that has seen enough (| head
// -1) is no error.
func (s *Speaker) Lost() error {
	if s.Broken == nil || errors.Is(s.Broken, syscall.EPIPE) || errors.Is(s.Broken, io.ErrClosedPipe) {
		return nil
	}
	return fmt.Errorf("standard output: results could not be printed: %w", Cause(s.Broken))
}

// Cause returns the error of the operating system without the operation and the path around it.
func Cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// Resultf prints a result.
func (s *Speaker) Resultf(format string, args ...any) { fmt.Fprintf(s, format, args...) }

// Notef prints a line on stderr, unless -q.
func (s *Speaker) Notef(format string, args ...any) {
	if !s.Quiet {
		s.Line(fmt.Sprintf(format, args...))
	}
}

// position matches the beginning of a line that says where in a file a mistake is.
var position = regexp.MustCompile(`^[^\s:]+:\d+(:\d+)?: `)

// Problem prints an error, which may have several lines. A line that begins with a position stays as it is,
// so that editors find it.
func (s *Speaker) Problem(err error) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if position.MatchString(line) {
			_, _ = io.WriteString(s.Err, Visible(line)+"\n") // there is nobody left to tell
			continue
		}
		s.Line(line)
	}
}

// Line prints a line on stderr, even with -q. A terminal would break its words.
func (s *Speaker) Line(text string) {
	lines := []string{"rlcheck: " + Visible(text)}
	if width := Terminal(s.Err); width > 0 && len(lines[0]) > width {
		lines = columns.Wrap(lines[0], width-2)
	}
	_, _ = io.WriteString(s.Err, strings.Join(lines, "\n  ")+"\n") // there is nobody left to tell
}

// Visible replaces characters that could steer a terminal: control characters and the marks of bidirectional
// text. It breaks the commands of CI runners.
func Visible(s string) string {
	s = text.Inert(s)
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t', r >= ' ' && r < 0x7f, r >= 0xa0 && !bidirectional(r):
			return r
		default:
			return '\uFFFD'
		}
	}, s)
}

func bidirectional(r rune) bool {
	return r >= 0x200e && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 ||
		r == 0x061c || r >= 0x2028 && r <= 0x2029
}

// The exit statuses. They are part of the interface.
const (
	ExitPass         = 0
	ExitFail         = 1
	ExitNothing      = 2 // nothing was judged: usage, an unreadable file, a crash
	ExitInconclusive = 3
	ExitInterrupted  = 130
)

// ExitStatus is an error that was already printed and only carries the exit status.
type ExitStatus int

func (s ExitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// StatusOf returns the exit status of an error. Exit statuses are set nowhere else.
func StatusOf(err error) int {
	var s ExitStatus
	switch {
	case err == nil:
		return ExitPass
	case errors.As(err, &s):
		return int(s)
	default:
		return ExitNothing
	}
}

// Ended returns the exit status of a command. If something that the user asked for could not be kept or
// printed, a FAIL and an interruption keep their status. Any other status says that nothing can be relied on.
func Ended(status error, whole bool) error {
	if n := StatusOf(status); whole || n == ExitFail || n == ExitInterrupted {
		return status
	}
	return ExitStatus(ExitNothing)
}

// StatusFor returns the exit status of a verdict. failOn is the flag --fail-on.
func StatusFor(v result.Verdict, interrupted bool, failOn string) error {
	switch {
	case interrupted:
		return ExitStatus(ExitInterrupted)
	case v == result.Fail:
		return ExitStatus(ExitFail)
	case v == result.Inconclusive && failOn == "inconclusive":
		return ExitStatus(ExitFail)
	case v == result.Inconclusive && failOn != "fail":
		return ExitStatus(ExitInconclusive)
	default:
		return nil
	}
}

// Usagef returns an error of the command line.
func Usagef(format string, args ...any) error { return fmt.Errorf(format, args...) }

// Mend returns a mend in parentheses to follow an error, or nothing for an empty one.
func Mend(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// FailOnKnown refuses an unknown word of --fail-on.
func FailOnKnown(word string) error {
	words := []string{"", "fail", "inconclusive"}
	if slices.Contains(words, word) {
		return nil
	}
	return Usagef("--fail-on %q: the values are fail and inconclusive%s",
		word, Mend(text.Suggest(word, words[1:])))
}

// NoArguments refuses every argument.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usagef("%s: %q: the command takes no arguments (%s --help lists the flags)", cmd.Name(),
			args[0], cmd.CommandPath())
	}
	return nil
}

// Needs demands from least to most arguments, or any number of them if most < 0. what says in words what they
// name.
func Needs(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return Usagef("%s: name %s", cmd.Name(), what)
		case most >= 0 && len(args) > most:
			return Usagef("%s: %q: one argument too many: name %s", cmd.Name(), args[most], what)
		}
		return nil
	}
}

// NotEmpty refuses flags with an empty value, as -t "$URL" gives if URL is not set. Otherwise the scenario's
// value would be judged, and the embedded target would pass for another one.
func NotEmpty(cmd *cobra.Command, flags ...string) error {
	var errs []error
	for _, name := range flags {
		if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
			errs = append(errs, Usagef("--%s \"\": the value is empty (write a value, or leave --%s "+
				"out to use the scenario's)", name, name))
		}
	}
	return errors.Join(errs...)
}
