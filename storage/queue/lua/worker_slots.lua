-- ARGV: queue
-- -> ok + slots of the queue's workers
return answer('ok', fleet_slots(ARGV[1]))
