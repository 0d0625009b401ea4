-- The previous release survives this migration: it only does not ask the indexes.

-- When each token had its last turn.
create index exports_turns_idx on exports (token_id, taken_at);

-- Jobs that are forgotten after 90 days: what schedules delivered is not among them, and there is ever more of it.
create index exports_prunable_idx on exports (created_at)
  where files_removed_at is not null and (delivered_to is null or rows_total = 0 or delivery is null);
