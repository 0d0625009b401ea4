-- The previous release survives this migration: it does not list what a replay made.

-- What a replay made is listed in the order of creation, page by page.
create index deliveries_of_replay_idx on deliveries (replay_id, created_at, id) where replay_id is not null;
