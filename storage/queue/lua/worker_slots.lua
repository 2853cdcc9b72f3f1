-- ARGV: queue
-- -> ok + slots of the queue's workers
return answer('ok', worker_slots(ARGV[1]))
