package redisnode

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/oversell/oversell/cluster"
)

// Info is what INFO answers, by field.
type Info map[string]string

// ParseInfo reads the text of an INFO reply. Lines without a colon are skipped.
func ParseInfo(text string) Info {
	info := Info{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if field, value, ok := strings.Cut(line, ":"); ok {
			info[field] = value
		}
	}
	return info
}

// GetInfo asks n for the given section of INFO, "" for the default ones. A
// server that doesn't know the section answers with an error.
func GetInfo(ctx context.Context, n cluster.Node, section string) (Info, error) {
	args := []any{"INFO"}
	if section != "" {
		args = append(args, section)
	}
	reply, err := Do(ctx, n, args...)
	if err != nil {
		return nil, err
	}
	text, ok := reply.(string)
	if !ok {
		return nil, fmt.Errorf("ask %s for INFO: unexpected reply of type %T", n.Name(), reply)
	}
	return ParseInfo(text), nil
}

// Version is what the server says of itself, e.g. "Redis 7.0.15" or "Valkey 9.1.2".
func Version(ctx context.Context, n cluster.Node) (string, error) {
	info, err := GetInfo(ctx, n, "server")
	if err != nil {
		return "", err
	}
	v := info.Version()
	if v == "" {
		return "", fmt.Errorf("ask %s for its version: INFO server doesn't tell", n.Name())
	}
	return v, nil
}

// Version is the version told in INFO server, "" if there is none. Valkey also
// claims the version of Redis that it is compatible with.
func (i Info) Version() string {
	if v := i["valkey_version"]; v != "" {
		return "Valkey " + v
	}
	if v := i["redis_version"]; v != "" {
		return "Redis " + v
	}
	return ""
}

// Int is a field as a number; ok is false when it is absent or none.
func (i Info) Int(field string) (v int64, ok bool) {
	v, err := strconv.ParseInt(i[field], 10, 64)
	return v, err == nil
}

// Float is a field as a number; ok is false when it is absent or none.
func (i Info) Float(field string) (v float64, ok bool) {
	v, err := strconv.ParseFloat(i[field], 64)
	return v, err == nil
}

// serverFields are the whole numbers that ServerInfo copies from INFO.
var serverFields = []string{
	"uptime_in_seconds", "connected_clients", "blocked_clients", "used_memory", "used_memory_peak", "maxmemory",
	"total_connections_received", "total_commands_processed", "instantaneous_ops_per_sec",
	"rejected_connections", "expired_keys", "evicted_keys", "connected_slaves",
}

// ServerInfo returns what a dashboard shows of a server: INFO's own names for
// whole numbers (int64), "used_cpu" in seconds since the start (float64), and
// "slowlog_len" (int64). What the server doesn't tell is left out.
func ServerInfo(ctx context.Context, n cluster.Node) (map[string]any, error) {
	out := map[string]any{}
	err := With(ctx, n, func(ctx context.Context, c *redis.Client) error {
		text, err := c.Info(ctx).Result()
		if err != nil {
			return err
		}
		info := ParseInfo(text)
		for _, f := range serverFields {
			if v, ok := info.Int(f); ok {
				out[f] = v
			}
		}
		sys, okSys := info.Float("used_cpu_sys")
		user, okUser := info.Float("used_cpu_user")
		if okSys && okUser {
			out["used_cpu"] = sys + user
		}
		slow, err := c.Do(ctx, "SLOWLOG", "LEN").Int64()
		if err == nil {
			out["slowlog_len"] = slow
		} else if !Refused(err) {
			return err
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ask %s for its figures: %w", n.Name(), err)
	}
	return out, nil
}

// Refused reports whether err is the server's own answer, such as that it
// doesn't know a command, and not a broken connection.
func Refused(err error) bool {
	_, ok := errors.AsType[redis.Error](err)
	return ok
}
