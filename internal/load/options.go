package load

import "github.com/rlcheck/rlcheck/internal/load/options"

// What a recording is asked to do; package options says more of each.
type (
	Options   = options.Options
	Partition = options.Partition
	Progress  = options.Progress
	Share     = options.Share
)
