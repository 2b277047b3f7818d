-- Writes the stock and one order.
-- KEYS: stock, token, orders, committed;
-- ARGV: the order's ID, the order, its token, units, 1 for the fence or 0.
-- Returns {1, the stock before}, {0} when the fence refuses, or {} when the
-- article is unknown. An order that was committed before gets the same answer
-- again, whatever was issued since: its writer only missed the reply.
local before = redis.call('GET', KEYS[1])
if not before then
  return {}
end
local answered = redis.call('HGET', KEYS[4], ARGV[1])
if answered then
  return {1, tonumber(answered)}
end
-- Compared as text, because a Lua number doesn't hold every 64-bit token.
if ARGV[5] == '1' and redis.call('GET', KEYS[2]) ~= ARGV[3] then
  return {0}
end
redis.call('SET', KEYS[1], ARGV[4])
redis.call('RPUSH', KEYS[3], ARGV[2])
redis.call('HSET', KEYS[4], ARGV[1], before)
return {1, tonumber(before)}
