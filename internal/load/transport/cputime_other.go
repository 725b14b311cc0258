//go:build !unix

package transport

import "time"

// CPUTime returns 0: the processor time is not known on this system.
func CPUTime() time.Duration { return 0 }
