package timeline

import "time"

// Event is what happens to the target in a Hook phase.
type Event struct {
	// Action is what the embedded target does.
	Action Action `json:"action,omitempty"`
	// Limit is the limit that Reload declares, as a SPEC. Empty: the present limit.
	Limit string `json:"limit,omitempty"`
	// Command is given to a shell if the target is not the embedded one.
	Command string `json:"command,omitempty"`
	// Timeout bounds the command.
	Timeout time.Duration `json:"timeout_ns,omitempty"`
}

// Action is something that happens to a limiter.
type Action string

// The actions. Restart ends the process and starts it again. Reload makes it read its configuration again.
// StoreDown takes away the store of its state, StoreUp brings that store back as it was. Count asks it how
// many requests it has denied, by its own count.
const (
	Restart   Action = "restart"
	Reload    Action = "reload"
	StoreDown Action = "store-down"
	StoreUp   Action = "store-up"
	Count     Action = "count"
)

// Actions lists all actions.
func Actions() []Action { return []Action{Restart, Reload, StoreDown, StoreUp, Count} }
