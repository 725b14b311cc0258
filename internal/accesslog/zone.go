package accesslog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"time"
)

// zones is the data base of time zones of the Go release that wrote it (TestZonesAreInTheBinary -update). For
// each zone it has a line with its name and its length, and then so many bytes of RFC 9636. Package
// time/tzdata has the same in four times the bytes.
//
//go:embed zones.gz
var zones []byte

// Zone returns the time zone of a name: that of the machine or, if it has none, that of the data base in this
// package. A container with nothing but the binary has none.
func Zone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err == nil {
		return zone, nil
	}
	return keptZone(name)
}

// keptZone returns a zone of the data base in this package.
func keptZone(name string) (*time.Location, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(zones))
	if err != nil {
		return nil, fmt.Errorf("accesslog: zones: %w", err)
	}
	for in := bufio.NewReader(unzipped); ; {
		var own string
		var size int64
		if _, err := fmt.Fscanf(in, "%s %d\n", &own, &size); err != nil {
			return nil, fmt.Errorf("accesslog: no time zone %q", name)
		}
		if data := io.LimitReader(in, size); own != name {
			if _, err := io.Copy(io.Discard, data); err != nil {
				return nil, fmt.Errorf("accesslog: zones: %w", err)
			}
		} else if all, err := io.ReadAll(data); err != nil {
			return nil, fmt.Errorf("accesslog: zones: %w", err)
		} else {
			return time.LoadLocationFromTZData(name, all)
		}
	}
}
