package load

import "github.com/rlcheck/rlcheck/internal/load/transport"

// Options, Partition, Progress and Share are the types of package transport, which describes them.
type (
	Options   = transport.Options
	Partition = transport.Partition
	Progress  = transport.Progress
	Share     = transport.Share
)
