package accesslog

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestZonesAreInTheBinary: zones are known also on a machine without a zone data base, such as a container
// with nothing but the binary. -update writes the zones of the Go in use.
func TestZonesAreInTheBinary(t *testing.T) {
	if *update {
		writeZones(t)
	}
	for name, hours := range map[string][2]float64{ // hours from UTC in January and in July
		"Europe/Berlin": {1, 2}, "America/New_York": {-5, -4}, "Asia/Kolkata": {5.5, 5.5}, "Zulu": {0, 0},
		"Africa/Abidjan": {0, 0}, "Australia/Lord_Howe": {11, 10.5},
	} {
		zone, err := keptZone(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, month := range []time.Month{time.January, time.July} {
			if _, got := time.Date(2024, month, 1, 0, 0, 0, 0, zone).Zone(); float64(got) != hours[i]*3600 {
				t.Errorf("%s in %s: got %d s, want %v h", name, month, got, hours[i])
			}
		}
	}
	for _, name := range []string{"Europe/Belrin", "", "Europe/"} {
		if zone, err := keptZone(name); err == nil {
			t.Errorf("%q: got %v, want an error", name, zone)
		}
	}
}

// writeZones writes the zones of a Go release.
func writeZones(t *testing.T) {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is valid
	for _, f := range z.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > 0 {
			fmt.Fprintf(w, "%s %d\n%s", f.Name, len(data), data)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("zones.gz", out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	zones = out.Bytes()
}
