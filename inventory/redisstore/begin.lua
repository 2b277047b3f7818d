-- Issues the next fencing token and reads the stock.
-- KEYS: stock, token.
-- Returns {token, units}, or {} when the article is unknown.
local units = redis.call('GET', KEYS[1])
if not units then
  return {}
end
return {redis.call('INCR', KEYS[2]), tonumber(units)}
