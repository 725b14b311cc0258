package main

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/rlcheck/rlcheck/internal/lab"
)

// childEnds is how long a child may take to end by itself.
const childEnds = 3 * time.Second

// start starts a program that ends with this one. It returns the function that ends it, and a channel that is
// closed when it has ended. stop waits for grace before it kills. The child gets the signal by if this
// program is killed.
func start(c *exec.Cmd, grace time.Duration, by syscall.Signal) (stop func() error, ended chan struct{},
	err error) {
	endWithUs(c, by)
	begun := make(chan error)
	ended = make(chan struct{})
	go func() {
		// On Linux a child is told when the thread that started it ends.
		runtime.LockOSThread()
		err := c.Start()
		begun <- err
		if err == nil {
			_ = c.Wait() // how it ended says nothing: its part of the run does
		}
		close(ended)
	}()
	if err := <-begun; err != nil {
		return nil, ended, err
	}
	return sync.OnceValue(func() error {
		select {
		case <-ended:
			return nil
		case <-time.After(grace):
		}
		_ = c.Process.Kill() // it may have ended already
		<-ended
		return nil
	}), ended, nil
}

// itself returns this program with other arguments.
func itself(errw io.Writer, environ, args []string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := exec.Command(self, args...)
	c.Args[0] = "rlcheck" // whatever the file is called
	c.Env, c.Stderr = environ, errw
	return c, nil
}

// startSelf starts this program with other arguments.
func startSelf(errw io.Writer, environ []string, args ...string) (stop func() error, err error) {
	c, err := itself(errw, environ, args)
	if err != nil {
		return nil, err
	}
	// An agent that is told to end keeps its part of the recording first.
	stop, _, err = start(c, childEnds, syscall.SIGTERM)
	return stop, err
}

// Run runs this program with other arguments until it ends, or ctx does.
func Run(ctx context.Context, out, errw io.Writer, environ []string, args ...string) error {
	c, err := itself(errw, environ, args)
	if err != nil {
		return err
	}
	c.Stdout = out
	stop, ended, err := start(c, 0, syscall.SIGKILL)
	if err != nil {
		return err
	}
	select {
	case <-ended:
	case <-ctx.Done():
	}
	return stop()
}

// startRedis starts a redis-server on a loopback port if one is installed, or else a Redis server inside this
// process.
func startRedis() (url string, stop func() error, err error) {
	if program, err := exec.LookPath("redis-server"); err == nil {
		if url, stop, err := startInstalledRedis(program); err == nil {
			return url, stop, nil
		}
	}
	url, end, err := lab.EmbedRedis()
	return url, func() error { end(); return nil }, err
}

// startInstalledRedis starts a redis-server that keeps nothing on disk.
func startInstalledRedis(program string) (url string, stop func() error, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_ = l.Close() // the server takes the port
	c := exec.Command(program, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--daemonize", "no", "--loglevel", "warning")
	c.Dir = os.TempDir()
	stop, ended, err := start(c, 0, syscall.SIGKILL)
	if err != nil {
		return "", nil, err
	}
	url = "redis://127.0.0.1:" + port + "/0"
	ctx, cancel := context.WithTimeout(context.Background(), childEnds)
	defer cancel()
	for {
		if client, err := lab.OpenRedis(url); err == nil {
			_ = client.Close() // it has answered
			return url, stop, nil
		}
		select {
		case <-ended:
			return "", nil, errors.New("redis-server ended")
		case <-ctx.Done():
			return "", nil, errors.Join(ctx.Err(), stop())
		case <-time.After(20 * time.Millisecond):
		}
	}
}
