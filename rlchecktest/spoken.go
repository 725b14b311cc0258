package rlchecktest

import "regexp"

// spoken are texts of the command, and what they are in a test.
var spoken = []struct {
	command *regexp.Regexp
	test    string
}{
	{regexp.MustCompile(`try --partition address or none( \(a flag of run\))?`),
		`try Key("..."), Partition("address") or Partition("none")`},
	{regexp.MustCompile(` \(a flag of run\)`), ``},
	{regexp.MustCompile(`--partition ([\w:-]*\w)`), `Partition("$1")`},
	{regexp.MustCompile(`--set ([\w.-]+)=([^\s,;)]+)`), `Set("$1", "$2")`},
	{regexp.MustCompile(`\(--limit '([^']*)' has\)`), `($1 has)`},
	{regexp.MustCompile(`--limit ([a-z])`), `the limit $1`},
	{regexp.MustCompile(`(?s)run it alone with --api-keys FILE, .*, and example=false`),
		`name it in Only, with the tokens of one owner as Keys and Set("example", "false")`},
	{regexp.MustCompile(`--api-keys`), `Keys`},
	{regexp.MustCompile(`--allow-host ([^\s,;)]+)`), `Allow("$1")`},
	{regexp.MustCompile(` \(--retries 3\)`), ``},
	{regexp.MustCompile(`does count to the target, and .* \(write phases\.[\w-]+\.command\)`),
		`asks the limiter for its count (rlchecktest.Denials)`},
	{regexp.MustCompile(`does ([\w-]+) to the target, and .* \(write phases\.[\w-]+\.command\)`),
		`does $1 to the limiter (rlchecktest.On("$1", ...))`},
	{regexp.MustCompile(`set (phases\.[\w-]+)\.limit, and its .*, to what the target has, and example=false`),
		`Only("..."), Set("example", "false"), and Set("$1.limit", "...") and so on, as the handler has it`},
	{regexp.MustCompile(`, or set phases\.[\w-]+\.timeout`), ``},
	{regexp.MustCompile(`set target\.origin too`), `rlchecktest.Origin`},
	{regexp.MustCompile(`(and may take at most \w+) \(safety\.max_duration\)`),
		`$1 (Set("safety.max_duration", "1h"))`},
}

// inTest returns a text of the command with the options of a test for its flags.
func inTest(text string) string {
	for _, s := range spoken {
		text = s.command.ReplaceAllString(text, s.test)
	}
	return text
}
