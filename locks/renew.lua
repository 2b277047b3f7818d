-- Prolongs the lock if it is still the caller's, in one step.
-- KEYS[1]: the lock; ARGV[1]: the caller's token; ARGV[2]: the TTL from now on, in ms.
-- Returns 1, or 0 when the key is someone else's or gone.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
