package main

import (
	"debug/elf"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestReleaseHasWhatItPromises builds the archive for this machine as make dist does, and checks what is in
// it. It compiles all packages once more, so make dist runs it before it builds.
func TestReleaseHasWhatItPromises(t *testing.T) {
	if os.Getenv("RLCHECK_RELEASE") == "" || runtime.GOOS != "linux" {
		t.Skip("builds a release: RLCHECK_RELEASE=1")
	}
	dist := t.TempDir()
	cmd := exec.Command(filepath.Join("..", "..", ".ci", "dist"))
	cmd.Env = append(os.Environ(), "DIST_FOLDER="+dist, "DIST_PLATFORMS=linux/"+runtime.GOARCH)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	check := exec.Command("sha256sum", "--check", "SHA256SUMS")
	check.Dir = dist
	if out, err := check.CombinedOutput(); err != nil || strings.Count(string(out), "OK") != 2 {
		t.Errorf("checksums: %v\n%s", err, out)
	}
	unpack := exec.Command("bash", "-c", "tar -xzf *.tar.gz --strip-components 1")
	if unpack.Dir = dist; unpack.Run() != nil {
		t.Fatal("the archive cannot be read")
	}
	for _, name := range []string{"LICENSE", "README.md", "docs/limit.md", "man/rlcheck.1",
		"man/rlcheck-run.1",
		"completions/rlcheck.bash", "completions/rlcheck.zsh", "completions/rlcheck.fish",
		"completions/rlcheck.powershell"} {
		if info, err := os.Stat(filepath.Join(dist, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s is not in the archive: %v", name, err)
		}
	}
	binary := filepath.Join(dist, "rlcheck")
	head, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	told, err := exec.Command(binary, "version").Output()
	want := "commit " + strings.TrimSpace(string(head))
	if err != nil || !strings.Contains(string(told), want) {
		t.Errorf("rlcheck version prints %q (%v), want %q", told, err, want)
	}
	f, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if libraries, err := f.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("the binary needs %v (%v), want a static one", libraries, err)
	}
	bom, err := filepath.Glob(filepath.Join(dist, "*.cdx.json"))
	if err != nil || len(bom) != 1 {
		t.Fatalf("got the SBOMs %v, want one", bom)
	}
	if text, err := os.ReadFile(bom[0]); err != nil || !strings.Contains(string(text), `"CycloneDX"`) ||
		!strings.Contains(string(text), `"pkg:golang/github.com/spf13/cobra@v`) {
		t.Errorf("the SBOM lacks a module of the binary: %v", err)
	}
}

// TestVersionTellsTheCommit: the commit that the linker wrote into the binary takes precedence over the one
// that Go recorded.
func TestVersionTellsTheCommit(t *testing.T) {
	defer func(v, c string) { release, revision = v, c }(release, revision)
	release, revision = "v1.2.3", "0123456789abcdef"
	var out strings.Builder
	if code := run([]string{"version"}, nil, &out, io.Discard); code != 0 ||
		!strings.HasPrefix(out.String(), "rlcheck v1.2.3\ncommit 0123456789abcdef, go") {
		t.Errorf("got %d, %q", code, out.String())
	}
}

// TestReleaseConfiguration: goreleaser builds the platforms that make dist builds.
func TestReleaseConfiguration(t *testing.T) {
	var c struct {
		Builds []struct{ Goos, Goarch, Env []string }
		SBOMs  []struct{ Args []string } `yaml:"sboms"`
	}
	readYAML(t, ".goreleaser.yaml", &c)
	script, err := os.ReadFile(filepath.Join("..", "..", ".ci", "dist"))
	if err != nil || len(c.Builds) != 1 || len(c.SBOMs) != 1 {
		t.Fatalf("got %+v, want one build and one SBOM; %v", c, err)
	}
	var platforms []string
	for _, os := range c.Builds[0].Goos {
		for _, arch := range c.Builds[0].Goarch {
			platforms = append(platforms, os+"/"+arch)
		}
	}
	if want := "DIST_PLATFORMS:-" + strings.Join(platforms, " ") +
		"}"; !strings.Contains(string(script), want) {
		t.Errorf(".ci/dist has no %s", want)
	}
}
