package wire

import (
	"strconv"
	"strings"
)

// keyPlaces says where commands have their first key: the index of the
// argument, or one of the special places. Commands that aren't listed have no
// key, or none that is known.
var keyPlaces = []struct {
	place int
	names string
}{
	{1, `GET SET SETNX SETEX PSETEX GETSET GETDEL GETEX MGET MSET MSETNX STRLEN APPEND GETRANGE SETRANGE SUBSTR
		INCR DECR INCRBY DECRBY INCRBYFLOAT LCS DIGEST
		DEL UNLINK DELEX DELIFEQ EXISTS TYPE TOUCH RENAME RENAMENX COPY MOVE DUMP RESTORE SORT SORT_RO
		EXPIRE PEXPIRE EXPIREAT PEXPIREAT TTL PTTL EXPIRETIME PEXPIRETIME PERSIST WATCH
		HGET HSET HSETNX HMSET HMGET HGETALL HDEL HEXISTS HINCRBY HINCRBYFLOAT HKEYS HVALS HLEN HSTRLEN HSCAN
		HRANDFIELD HEXPIRE HPEXPIRE HEXPIREAT HPEXPIREAT HTTL HPTTL HPERSIST HGETDEL HGETEX HSETEX
		LPUSH RPUSH LPUSHX RPUSHX LPOP RPOP LLEN LRANGE LINDEX LINSERT LSET LREM LTRIM LPOS LMOVE RPOPLPUSH
		BLPOP BRPOP BLMOVE BRPOPLPUSH BZPOPMIN BZPOPMAX
		SADD SREM SMEMBERS SISMEMBER SMISMEMBER SCARD SPOP SRANDMEMBER SMOVE SSCAN SINTER SUNION SDIFF
		SINTERSTORE SUNIONSTORE SDIFFSTORE
		ZADD ZREM ZSCORE ZMSCORE ZINCRBY ZCARD ZCOUNT ZLEXCOUNT ZRANGE ZRANGESTORE ZRANGEBYSCORE ZRANGEBYLEX
		ZREVRANGE ZREVRANGEBYSCORE ZREVRANGEBYLEX ZRANK ZREVRANK ZREMRANGEBYRANK ZREMRANGEBYSCORE
		ZREMRANGEBYLEX ZPOPMIN ZPOPMAX ZRANDMEMBER ZSCAN ZUNIONSTORE ZINTERSTORE ZDIFFSTORE
		XADD XLEN XRANGE XREVRANGE XDEL XTRIM XACK XCLAIM XAUTOCLAIM XPENDING XSETID
		PFADD PFCOUNT PFMERGE GETBIT SETBIT BITCOUNT BITPOS BITFIELD BITFIELD_RO
		GEOADD GEODIST GEOHASH GEOPOS GEORADIUS GEORADIUSBYMEMBER GEOSEARCH GEOSEARCHSTORE
		EXSET EXGET EXSETVER EXINCRBY EXCAS EXCAD EXAPPEND EXPREPEND CAS CAD`},
	{2, `BITOP OBJECT MEMORY XGROUP XINFO`},
	{afterCount1, `ZUNION ZINTER ZDIFF ZINTERCARD SINTERCARD LMPOP ZMPOP`},
	{afterCount2, `EVAL EVALSHA EVAL_RO EVALSHA_RO FCALL FCALL_RO BLMPOP BZMPOP`},
	{afterStreams, `XREAD XREADGROUP`},
	{noKey, `PING ECHO HELLO AUTH SELECT QUIT RESET CLIENT COMMAND CONFIG INFO SCRIPT FUNCTION
		MULTI EXEC DISCARD UNWATCH SUBSCRIBE UNSUBSCRIBE PSUBSCRIBE PUNSUBSCRIBE SSUBSCRIBE SUNSUBSCRIBE
		PUBLISH SPUBLISH PUBSUB MONITOR SCAN KEYS DBSIZE FLUSHALL FLUSHDB TIME WAIT WAITAOF ROLE REPLICAOF
		SENTINEL CLUSTER READONLY READWRITE DEBUG SHUTDOWN SLOWLOG LATENCY ACL FAILOVER`},
}

// Special places of the first key.
const (
	noKey        = -1 - iota
	afterCount1  // the number of keys is argument 1
	afterCount2  // the number of keys is argument 2
	afterStreams // behind the word STREAMS
)

var keyPlace = func() map[string]int {
	m := map[string]int{}
	for _, k := range keyPlaces {
		for name := range strings.FieldsSeq(k.names) {
			m[name] = k.place
		}
	}
	return m
}()

// firstKey returns a command's first key, "" when there is none or it isn't known.
func firstKey(name string, args []string) string {
	place, ok := keyPlace[name]
	switch {
	case !ok || place == noKey:
		return ""
	case place == afterCount1:
		return countedKey(args, 1)
	case place == afterCount2:
		return countedKey(args, 2)
	case place == afterStreams:
		for i, a := range args {
			if strings.EqualFold(a, "STREAMS") {
				return arg(args, i+1)
			}
		}
		return ""
	}
	return arg(args, place)
}

func countedKey(args []string, at int) string {
	if n, err := strconv.Atoi(arg(args, at)); err != nil || n < 1 {
		return ""
	}
	return arg(args, at+1)
}

// arg returns argument i, the name being 0, or "".
func arg(args []string, i int) string {
	if i < 0 || i >= len(args) {
		return ""
	}
	return args[i]
}
