package check

// ownModel counts what the model inside would admit, also where another limiter denies it.
type ownModel struct{ model }

func (o ownModel) traits() traits {
	t := o.model.traits()
	t.counted = true
	return t
}

func (o ownModel) scaled(k int64) model { return ownModel{o.model.scaled(k)} }

func (o ownModel) pass(m memoryState, a ask) []memoryState { return o.model.admit(m, a) }
