package fleet

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Exchanger sends commands to a Redis, several in one exchange.
type Exchanger struct {
	RedisClient
	// Prefix begins every key. By it, keys are recognised among the words of a command.
	Prefix string
}

// Exchange sends commands, each a list of words, and returns their answers. An answer is int64, string, nil,
// []any, a map, or the error that the server answered. An error from Exchange means that the exchange failed;
// some commands may have run. Nothing is sent twice.
func (e Exchanger) Exchange(ctx context.Context, commands ...[]any) ([]any, error) {
	pipe := e.Pipeline()
	all := make([]*redis.Cmd, len(commands))
	for i, words := range commands {
		all[i] = redis.NewCmd(ctx, words...)
		all[i].SetFirstKeyPos(e.firstKey(words))
		_ = pipe.Process(ctx, all[i]) // Exec sends it
	}
	var answered redis.Error
	// Note: go-redis v9.19.0 sets no error on the commands if it cannot reach the server.
	if _, err := pipe.Exec(ctx); err != nil && !errors.As(err, &answered) {
		return nil, err
	}
	out := make([]any, len(all))
	for i, c := range all {
		v, err := c.Result()
		switch {
		case err == nil:
			out[i] = v
		case errors.Is(err, redis.Nil):
		case errors.As(err, &answered):
			out[i] = err
		default:
			return nil, err
		}
	}
	return out, nil
}

// firstKey returns the index of the first key among the words of a command; 0 for none.
func (e Exchanger) firstKey(words []any) int8 {
	for i, w := range words {
		if text, ok := w.(string); ok && i > 0 && strings.HasPrefix(text, e.Prefix) {
			return int8(min(i, 127))
		}
	}
	return 0
}
