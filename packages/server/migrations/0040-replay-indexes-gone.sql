-- The previous release survives this migration: it makes no replays, and knows neither of the two indexes that go.

-- A migration of their own: beside one that has locked the table against writes, to drop them would deadlock with writers.
drop index deliveries_of_replay_idx;
drop index deliveries_replay_idx;
