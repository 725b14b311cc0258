package history

// Opening is the closed interval in which a window begins.
type Opening struct{ From, To int64 }

// Level is the most that may be in use of a bucket at an instant, after all that was decided before for sure:
// the latest theoretical arrival time, scaled by n, of a bucket that gets a unit back every per/n
// nanoseconds.
type Level struct{ At, TAT, N, Per int64 }

// Placement is what is known at an instant, from what was decided before, of fixed windows that requests
// place.
//
//	piece k     ..[ window )....[ window )..[ window )..          until
//	                                   since
//	piece k+1                          |.[ window )..[ window )...
type Placement struct {
	// Since is the instant: every request that may have been decided since then is in the history.
	Since int64
	// Windows are those that may be open at that instant or begin after it, as far as they are known; the
	// ones before the first of them are over by then.
	Windows []Opening
	// Units are the most that may have come since the last certain silence, of what was decided before and is
	// not in the history, where requests start windows anew; until is the last end of those that may have
	// done so.
	Units, Until int64
}
