package trial

import (
	"context"
	"fmt"

	"github.com/rlcheck/rlcheck/internal/load"
	"github.com/rlcheck/rlcheck/internal/scenario"
)

// Sending returns the load options of a scenario for a caller that plans its own requests. driftPPM is how
// much the target's clock may drift from ours, in parts per million. stop ends the servers that were started.
func Sending(ctx context.Context, s *scenario.Scenario, o Options) (out load.Options, driftPPM int64,
	stop func(), err error) {
	ends, err := connect(s, o)
	if err != nil {
		return out, 0, nil, fmt.Errorf("target %s: %w", RedactURL(s.Target.URL), err)
	}
	if out, err = loadOptions(ctx, s, o, ends); err != nil {
		ends.close()
		return out, 0, nil, fmt.Errorf("target %s: %w", RedactURL(s.Target.URL), err)
	}
	if ends.assumed {
		out.WallError = otherClock
	}
	return out, ends.driftPPM, ends.close, nil
}
