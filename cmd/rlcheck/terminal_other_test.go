//go:build !linux

package main

import "github.com/rogpeppe/go-internal/testscript"

// cmdTerminal needs Linux; scripts that use it begin with [!linux] skip.
func cmdTerminal(ts *testscript.TestScript, _ bool, _ []string) { ts.Fatalf("no terminal here") }
