package history

// Opening is the closed interval of instants at which a window may begin. To is MaxTime where no bound is
// known.
type Opening struct{ From, To int64 }

// Level bounds what is in use of a bucket at the instant At, after all surely earlier decisions. TAT is the
// latest theoretical arrival time, multiplied by N. The bucket gets a unit back every Per/N nanoseconds.
type Level struct{ At, TAT, N, Per int64 }

// Placement is what earlier decisions tell, at an instant, of fixed windows that requests place.
//
//	piece k     ..[ window )....[ window )..[ window )..          until
//	                                   since
//	piece k+1                          |.[ window )..[ window )...
type Placement struct {
	// Since is the instant. The history has every request that may have been decided from Since on.
	Since int64
	// Windows are the windows that may be open at Since or begin later, as far as they are known. Earlier
	// windows are over by Since.
	Windows []Opening
	// Units and Until are for windows that requests renew. Units bounds the units that came since the last
	// certain silence, were decided earlier and are not in the history. Until is the last End of the requests
	// that may have renewed the window.
	Units, Until int64
}
