// Command sbom writes the software bill of materials of a Go binary, as CycloneDX 1.5:
//
//	go run ./.ci/sbom BINARY FILE
//
// It lists what the binary itself says it was built from (go version -m), the modules with their checksums
// of go.sum.
package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

type hash struct {
	Alg     string `json:"alg"`
	Content string `json:"content"`
}

type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	PURL    string `json:"purl"`
	Hashes  []hash `json:"hashes,omitempty"`
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "sbom: name a binary and the file to write")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func write(binary, file string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	version := strings.TrimPrefix(info.GoVersion, "go")
	parts := []component{{Type: "library", Ref: "pkg:golang/std@" + version, Name: "std", Version: version,
		PURL: "pkg:golang/std@" + version}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		parts = append(parts, of(m, "library"))
	}
	text, err := json.MarshalIndent(map[string]any{"bomFormat": "CycloneDX", "specVersion": "1.5",
		"version":    1,
		"metadata":   map[string]any{"component": of(&info.Main, "application")},
		"components": parts}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// of is the component of a module. Its checksum is the h1 of go.sum, a SHA-256 of its files.
func of(m *debug.Module, kind string) component {
	c := component{Type: kind, Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path + "@" +
		m.Version}
	c.Ref = c.PURL
	if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil &&
		len(sum) > 0 {
		c.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum)}}
	}
	return c
}
