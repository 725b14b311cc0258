package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/scenario/tree"
	"github.com/rlcheck/rlcheck/internal/trial"
)

// curlFlag is the flag that takes a command of curl.
const curlFlag = "--from-curl"

// settingsOf returns the settings of a configuration, of --from-curl, and of the other flags. Later ones win.
// They do not replace a target that is given otherwise.
func settingsOf(e *cli.Env, f *requestFlags, target string) ([]tree.Setting, error) {
	if f.said != nil {
		return f.said, nil
	}
	curled, err := curlSettings(e, f, target)
	if err != nil {
		return nil, err
	}
	given, err := f.settings(e.In)
	f.said = slices.Concat(f.Config, curled, given)
	return f.said, err
}

// curlSettings reads --from-curl. Its certificates count if no flag gives others.
func curlSettings(e *cli.Env, f *requestFlags, target string) ([]tree.Setting, error) {
	if f.Curl == "" {
		return nil, nil
	}
	text, err := valueOf(f.Curl, e.In)
	if err != nil {
		return nil, cli.Usagef("%s: %w", curlFlag, err)
	}
	r, err := parseCurl(text, e.Getenv)
	if err != nil {
		return nil, cli.Usagef("%s: %w", curlFlag, err)
	}
	for _, note := range r.Notes {
		e.Say.Notef("%s: %s", curlFlag, note)
	}
	f.curled = true
	f.insecure = f.insecure || r.Insecure
	f.Cacert, f.Cert, f.Key = cmp.Or(f.Cacert, r.CACert), cmp.Or(f.Cert, r.Cert), cmp.Or(f.Key, r.Key)
	out := []tree.Setting{{Path: "target.method", Value: r.Method, Flag: curlFlag}}
	if target == "" {
		out = append(out, tree.Setting{Path: "target.url", Value: r.URL, Flag: curlFlag})
	}
	for _, field := range r.Header {
		if why := notSent[strings.ToLower(field.Name)]; why != "" {
			return nil, cli.Usagef("%s: %q: %s", curlFlag, field.Name, why)
		}
		out = append(out, tree.Setting{Path: headerPath, Field: field.Name, Value: field.Value,
			Flag: curlFlag, Secret: secretField(field.Name, "")})
	}
	if r.Body != "" {
		out = append(out, tree.Setting{Path: "target.body", Value: r.Body, Flag: curlFlag, Secret: true})
	}
	for i := range out {
		out[i].Value = tree.Verbatim(out[i].Value)
	}
	return out, nil
}

// withoutCurl returns the words of a command line without the command of --from-curl, as a secret in it may
// be written in many ways.
func withoutCurl(args []string) []string {
	out := append([]string(nil), args...)
	for i, word := range out {
		switch {
		case strings.HasPrefix(word, curlFlag+"=") && !strings.HasPrefix(word, curlFlag+"=@"):
			out[i] = curlFlag + "=" + trial.Redacted
		case i > 0 && args[i-1] == curlFlag && !strings.HasPrefix(word, "@"):
			out[i] = trial.Redacted
		}
	}
	return out
}
