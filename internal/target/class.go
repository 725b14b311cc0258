package target

import "strconv"

// Class is a kind of thing that real limiters got wrong: A lets too much through, B too little, C says the
// wrong thing.
type Class struct {
	// ID is a letter and a number.
	ID string
	// Title says what goes wrong, in lower case without a full stop.
	Title string
	// Unshown says why no endpoint can show it to a judge that accuses nobody wrongly; empty: Faults has at
	// least one of it.
	Unshown string
}

// Classes returns all classes, those of A, then of B, then of C, each ascending by number. A fault with a
// class of none of them is of a kind of its own.
func Classes() []Class {
	var all []Class
	add := func(letter byte, classes ...Class) {
		for i, c := range classes {
			c.ID = string(letter) + strconv.Itoa(i+1)
			all = append(all, c)
		}
	}
	add('A', tooMuch()...)
	add('B', tooLittle()...)
	add('C', wrongWords()...)
	return all
}

func tooMuch() []Class {
	return []Class{
		{Title: "reads, compares and writes without a lock around all three"},
		{Title: "takes the time outside of the lock, so that it goes back"},
		{Title: "a fixed window under another name: twice the quota around its edge"},
		{Title: "another algorithm, or another limit, than is declared"},
		{Title: "each process, worker or replica counts for itself"},
		{Title: "replicas tell each other late"},
		{Title: "clocks that differ, or run fast"},
		{Title: "one more, or one less"},
		{Title: "state is lost with a restart, a reload or a redeployment"},
		{Title: "a bounded table evicts clients that are out of quota"},
		{Title: "state expires before it may"},
		{Title: "count and expiry are not read together"},
		{Title: "a limit of nothing is taken for no limit"},
		{Title: "what happens without the store, and when it is back"},
		{Title: "the client chooses whom it is taken for"},
		{Title: "an address is taken for a client, where a client has a network"},
		{Title: "one resource, spelled or asked for otherwise, is another one"},
		{Title: "the cost of a request is charged wrongly"},
		{Title: "a timer for a long time ends at once"},
		{Title: "a number overflows after a long silence"},
		{Title: "an idle bucket fills beyond its burst"},
		{Title: "a client that was never seen starts wrongly"},
	}
}

func tooLittle() []Class {
	return []Class{
		{Title: "a client is locked out for ever"},
		{Title: "every request starts the window anew"},
		{Title: "denied requests are counted"},
		{Title: "what refills is rounded away, or comes too slowly"},
		{Title: "the clock is coarse"},
		{Title: "fractions are rounded in floating point",
			Unshown: "what it is wrong by, a billionth of a unit, is less than the time that a request is " +
				"under way; a judge that took it for a failure would accuse right limiters"},
		{Title: "one request is counted twice"},
		{Title: "what one limit denies is paid to the others"},
		{Title: "a timer that refills loses ticks under load"},
		{Title: "a denial bans for longer than the limit needs"},
		{Title: "a quota is divided among replicas and rounded down"},
		{Title: "the place of a request that is over is never given back"},
		{Title: "a new configuration does not reach clients that are known"},
		{Title: "clients without a key, or behind one proxy, are one client, or none"},
	}
}

func wrongWords() []Class {
	return []Class{
		{Title: "Retry-After is too early"},
		{Title: "Retry-After is in another unit"},
		{Title: "Retry-After is the whole window"},
		{Title: "Retry-After, or a reset, has passed"},
		{Title: "Retry-After is that of another question"},
		{Title: "a denial has no Retry-After"},
		{Title: "Retry-After breaks its syntax"},
		{Title: "Retry-After is a constant"},
		{Title: "Retry-After is a date by another clock than Date"},
		{Title: "a reset is in another unit, or counts from elsewhere"},
		{Title: "what remains is wrong"},
		{Title: "some answers lack the fields that others have"},
		{Title: "fields and decision are of different instants"},
		{Title: "a denial has a wrong status"},
		{Title: "a denial may be kept by caches"},
		{Title: "the limit that is told is on another scale"},
		{Title: "requests are delayed where they should be denied"},
	}
}
