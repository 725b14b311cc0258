package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rlcheck/rlcheck/cmd/rlcheck/internal/cli"
	"github.com/rlcheck/rlcheck/internal/result"
)

// ManifestName is the file that says which run a folder is for. The run holds a lock on it while it lives.
const ManifestName = "run.json"

// manifestSchema names the form of a manifest.
const manifestSchema = "rlcheck.run/v1"

// Manifest says what a run was asked to do: everything that is needed to judge what it leaves if it is
// killed. Secrets are redacted.
type Manifest struct {
	Schema  string    `json:"schema"`
	ID      string    `json:"id"`
	Version string    `json:"version"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Command []string  `json:"command"`
	Strict  bool      `json:"strict,omitempty"`
	// Scenarios are in the order in which they run.
	Scenarios []Planned `json:"scenarios"`
	// Target, Limit, Partition, Promises and Set are the flags that change scenarios. Env are the variables
	// that their files use.
	Target    string            `json:"target,omitempty"`
	Limit     string            `json:"limit,omitempty"`
	Partition string            `json:"partition,omitempty"`
	Promises  []result.Promise  `json:"promises,omitempty"`
	Set       []string          `json:"set,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
}

// Planned is a scenario of a manifest.
type Planned struct {
	ID   string `json:"id"`
	File string `json:"file"`
}

// errHeld is the error for a file on which another process has the lock.
var errHeld = errors.New("another process holds the lock")

// errNotOurs is the error for a manifest that no run wrote.
var errNotOurs = errors.New(
	"the file would be overwritten, and no run of rlcheck wrote it (choose another folder with --run-dir)")

// lockFolder takes the lock on a folder. The error says who holds it, or that the manifest is somebody else's
// file. On a file system without locks there is no error, and two runs are not kept apart.
func lockFolder(folder string) (*os.File, error) {
	path := filepath.Join(folder, ManifestName)
	// `rlcheck report` holds a lock for a moment to see whether a run holds it.
	const tries, pause = 5, 40 * time.Millisecond
	for n := 1; ; n++ {
		f, err := lockFile(path)
		switch {
		case errors.Is(err, errHeld) && n < tries:
			time.Sleep(pause)
			continue
		case errors.Is(err, errHeld):
			m, _ := readManifest(folder)
			return nil, m.holds(folder)
		case err != nil:
			return nil, err
		}
		if sameFile(f, path) {
			return f, notOurs(f, path)
		}
		_ = f.Close() // the holder removed it meanwhile
	}
}

// notOurs returns an error for a manifest that no run wrote, and closes it.
func notOurs(f *os.File, path string) error {
	text, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err == nil && len(bytes.TrimSpace(text)) > 0 && parseManifest(text) == nil {
		err = fmt.Errorf("%s: %w", path, errNotOurs)
	}
	if err != nil {
		_ = f.Close() // nothing was written
	}
	return err
}

// sameFile tells whether path still names the open file f.
func sameFile(f *os.File, path string) bool {
	a, err := f.Stat()
	b, err2 := os.Stat(path)
	return err == nil && err2 == nil && os.SameFile(a, b)
}

// holds returns the error that a run holds a folder. m may be nil if nothing is known of the run.
func (m *Manifest) holds(folder string) error {
	who := "another process"
	if m != nil {
		started := m.Started.UTC().Format(time.RFC3339)
		command := strings.Join(m.Command, " ")
		who = fmt.Sprintf("the run %s of process %d, started %s: %s", m.ID, m.PID, started, command)
	}
	const form = "%s: another run is writing to this folder: %s (let it end, or choose another folder " +
		"with --run-dir)"
	return fmt.Errorf(form, folder, who)
}

// readManifest reads the manifest of a folder. nil: there is none.
func readManifest(folder string) (*Manifest, error) {
	text, err := cli.ReadFile(filepath.Join(folder, ManifestName), cli.MostSmall)
	if err != nil {
		return nil, err
	}
	return parseManifest(text), nil
}

func parseManifest(text []byte) *Manifest {
	var m Manifest
	if json.Unmarshal(text, &m) != nil || !strings.HasPrefix(m.Schema, "rlcheck.run/") {
		return nil
	}
	return &m
}

// alive returns the run that is writing to a folder now, or nil.
func alive(folder string) *Manifest {
	if !isHeld(filepath.Join(folder, ManifestName)) {
		return nil
	}
	m, _ := readManifest(folder)
	return m
}

// write puts the manifest into the locked file. A new file in its place would not be locked.
func (m *Manifest) write(f *os.File) error {
	m.Schema = manifestSchema
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return cli.Cause(err)
	}
	_, err = f.WriteAt(append(text, '\n'), 0)
	return cli.Cause(err)
}

func (m *Manifest) ids() []string {
	var out []string
	for _, p := range m.Scenarios {
		out = append(out, p.ID)
	}
	return out
}

func (m *Manifest) has(id string) bool {
	return slices.ContainsFunc(m.Scenarios, func(p Planned) bool { return p.ID == id })
}
