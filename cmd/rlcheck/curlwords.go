package main

import (
	"errors"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// curlLookup finds a variable, as os.LookupEnv does.
type curlLookup func(name string) (value string, set bool)

// Get returns a variable.
func (l curlLookup) Get(name string) expand.Variable {
	if l == nil || name == "IFS" { // no word is split at the spaces of a variable
		return expand.Variable{Set: l != nil, Kind: expand.String}
	}
	value, set := l(name)
	return expand.Variable{Set: set, Kind: expand.String, Str: value}
}

// Each names no variable: only those in the command are asked for.
func (curlLookup) Each(func(string, expand.Variable) bool) {}

// split returns the words of one command, as bash reads it. It replaces variables, but runs nothing and
// expands no file patterns.
func split(text string, lookup curlLookup) (words []string, err error) {
	file, err := syntax.NewParser().Parse(strings.NewReader(strings.ReplaceAll(text, "\r\n", "\n")), "")
	var bad syntax.ParseError
	switch {
	case errors.As(err, &bad):
		return nil, problem("the command", bad.Text, "")
	case err != nil:
		return nil, problem("the command", err.Error(), "")
	case len(file.Stmts) == 0:
		return nil, nil
	}
	s := file.Stmts[0]
	call, simple := s.Cmd.(*syntax.CallExpr)
	if !simple || len(file.Stmts) > 1 || len(s.Redirs)+len(call.Assigns) > 0 || s.Background || s.Negated {
		return nil, problem("the command", "it is more than the curl command, and rlcheck runs no other",
			"put a URL with & or ; into quotes, and leave out everything after the command")
	}
	words, err = expand.Fields(&expand.Config{Env: lookup, NoUnset: true}, call.Args...)
	var unset expand.UnsetParameterError
	switch {
	case errors.As(err, &unset):
		err = problem("$"+unset.Node.Param.Value, "the variable is not set", "export it, or write its value")
	case errors.As(err, new(expand.UnexpectedCommandError)):
		err = problem("$", "a shell would run a command here, and rlcheck runs none",
			"write its output, or a variable")
	case err != nil:
		err = problem("$", err.Error(), "")
	}
	return words, err
}
