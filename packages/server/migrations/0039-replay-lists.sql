-- The previous release survives this migration: it makes no replays.

-- One index has what a replay made: by status, to be counted and waited for, and within it in the order of the lists.
create index replayed_deliveries_idx on deliveries (replay_id, status, created_at, id) where replay_id is not null;
