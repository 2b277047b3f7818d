package remote

import (
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Client reads the URL of a server, as --redis-url takes it, and makes a client
// that looks at it: one that doesn't try again. The password counts where the
// URL has none.
func Client(flag, url, password string) (*redis.Client, error) {
	o, err := options(flag, url, password)
	if err != nil {
		return nil, err
	}
	o.Protocol, o.DisableIdentity, o.MaxRetries, o.DialerRetries, o.PoolSize = 2, true, -1, 1, 2
	o.ContextTimeoutEnabled = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return redis.NewClient(o), nil
}

// Explain adds to an error on the way to a server what to do about it.
func Explain(err error) error { return explain(err) }
