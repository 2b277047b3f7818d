-- Sets the stock, and forgets the article's tokens and orders.
-- KEYS: stock, token, orders, committed; ARGV[1]: units.
redis.call('DEL', KEYS[2], KEYS[3], KEYS[4])
redis.call('SET', KEYS[1], ARGV[1])
return 1
