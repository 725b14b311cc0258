package main

import (
	"embed"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/headers"
)

// snippets are clients that honor Retry-After, one file for each language.
//
//go:embed snippet
var snippets embed.FS

// languages are the languages of the snippets.
var languages = []string{"curl", "go", "python", "javascript"}

// newRetryAfterCmd is the old form of `rlcheck explain retry-after VALUE`.
func newRetryAfterCmd(e *cli.Env) *cobra.Command {
	client := ""
	cmd := &cobra.Command{
		Use:    "retry-after VALUE",
		Short:  "Print what a Retry-After value means (the old form of explain retry-after VALUE)",
		Hidden: true,
		Args:   cli.Needs(1, 1, "one value, such as 120 or 'Fri, 20 Nov 2026 10:00:00 GMT'"),
		RunE:   func(_ *cobra.Command, args []string) error { return explainRetryAfter(e, args[0], client) },
	}
	addClient(cmd, &client)
	return cmd
}

// addClient adds the flag that asks for a client.
func addClient(cmd *cobra.Command, client *string) {
	cmd.Flags().StringVar(client, "client", "", "with retry-after VALUE: print a client that honours it: "+
		strings.Join(languages, ", "))
	_ = cmd.RegisterFlagCompletionFunc("client",
		cobra.FixedCompletions(languages, cobra.ShellCompDirectiveNoFileComp))
}

// explainRetryAfter says what a value of Retry-After means, and how a client in some language honours it.
func explainRetryAfter(e *cli.Env, value, client string) error {
	m, err := headers.Explain(value, time.Now())
	if err != nil {
		return err
	}
	e.Say.Resultf("%s\n", m.String())
	if _, offset := m.At.Local().Zone(); offset != 0 && m.Wait < math.MaxInt64 {
		e.Say.Resultf("here: %s\n", m.At.Local().Format("Mon, 02 Jan 2006 15:04:05 MST (-0700)"))
	}
	if client == "" {
		return nil
	}
	text, err := snippets.ReadFile("snippet/" + client + ".txt")
	if err != nil {
		return cli.Usagef("--client %q: the clients are %s", client, strings.Join(languages, ", "))
	}
	e.Say.Resultf("\n%s", text)
	return nil
}
