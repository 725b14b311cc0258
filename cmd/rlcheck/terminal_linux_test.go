package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// cmdTerminal runs a program on a terminal of so many columns and rows: terminal COLSxROWS[,COLSxROWS...] N
// [NAME=VALUE...] PROGRAM ARGS... It sends what appears on the terminal to stdout, and demands the exit
// status N. Each time something appears, the terminal is resized to the next size.
func cmdTerminal(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, neg || len(args) < 3, "terminal COLSxROWS[,COLSxROWS...] N [NAME=VALUE...] PROGRAM ARGS...")
	sizes := strings.Split(args[0], ",")
	control, tty, err := openTerminal(winsize(ts, sizes[0]))
	ts.Check(err)
	want, rest := number(ts, args[1]), args[2:]
	var vars []string
	for strings.Contains(rest[0], "=") {
		vars, rest = append(vars, rest[0]), rest[1:]
	}
	b := &background{cmd: command(ts, rest[0], rest[1:]), done: make(chan error, 1)}
	b.cmd.Env = append(b.cmd.Env, vars...)
	b.cmd.Stdin, b.cmd.Stdout, b.cmd.Stderr = tty, tty, tty
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	ts.Check(b.cmd.Start())
	ts.Check(tty.Close())
	var seen bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		part := make([]byte, 4096)
		for _, size := range sizes[1:] {
			n, _ := control.Read(part)
			seen.Write(part[:n])
			_ = unix.IoctlSetWinsize(int(control.Fd()), unix.TIOCSWINSZ, winsize(ts, size))
		}
		_, _ = io.Copy(&seen, control) // ends with EIO when the last writer has gone
	}()
	go func() { b.done <- b.cmd.Wait() }()
	b.wait(ts, want)
	select {
	case <-read:
	case <-time.After(patience):
		ts.Fatalf("the terminal stayed open")
	}
	ts.Check(control.Close())
	_, err = ts.Stdout().Write(bytes.ReplaceAll(seen.Bytes(), []byte("\r\n"), []byte("\n")))
	ts.Check(err)
}

func winsize(ts *testscript.TestScript, text string) *unix.Winsize {
	var size unix.Winsize
	_, err := fmt.Sscanf(text, "%dx%d", &size.Col, &size.Row)
	ts.Check(err)
	return &size
}

// openTerminal makes a pseudo-terminal.
func openTerminal(size *unix.Winsize) (control, tty *os.File, err error) {
	control, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	fd := int(control.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, err
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, size); err != nil {
		return nil, nil, err
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	return control, tty, err
}
