package load

import "github.com/rlcheck/rlcheck/internal/load/options"

// Options, Partition, Progress and Share are the types of package options, which describes them.
type (
	Options   = options.Options
	Partition = options.Partition
	Progress  = options.Progress
	Share     = options.Share
)
