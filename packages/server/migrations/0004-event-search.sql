-- The previous release survives this migration: it only does not ask the index.

-- An event is found without its tenant, store and time by Bloom filters of some pages each, 1.5 bytes a record. The
-- filters of new pages are made by vacuum, so a record that is stored on them costs nothing; one that takes the place of
-- a record that was moved or erased changes a filter and writes some 700 bytes of log for it. Larger filters would be
-- fewer, but would write more.
create index enrichment_records_event_idx on enrichment_records
  using brin (event_id text_bloom_ops(n_distinct_per_range = 400, false_positive_rate = 0.005))
  with (pages_per_range = 8);
