//go:build !unix

package audit

import "time"

// CPUTime is not known here.
func CPUTime() time.Duration { return 0 }
