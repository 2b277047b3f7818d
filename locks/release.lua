-- Removes the lock if it is still the caller's, in one step: between a GET and
-- a DEL of its own the key could expire and become someone else's.
-- KEYS[1]: the lock; ARGV[1]: the caller's token.
-- Returns 1, or 0 when the key is someone else's or gone.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
