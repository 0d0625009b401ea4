-- The previous release survives this migration: it only does not ask the index.

-- An event is found without its tenant, store and time by Bloom filters of some pages each, 1.7 bytes a record. The
-- filters of new pages are made by vacuum, so a record that is stored on them costs nothing; one that takes the place of
-- a record that was moved or erased changes a filter and writes some 700 bytes of log for it. Larger filters would be
-- fewer, but would write more.
create index enrichment_records_event_idx on enrichment_records
  using brin (hashtextextended(event_id, 0) int8_bloom_ops(n_distinct_per_range = 400, false_positive_rate = 0.005))
  with (pages_per_range = 8);

-- The hot records of an event, and of any other with the same hash. PostgreSQL takes a filter to hold half of everything:
-- it would rather read a month that it has not analyzed yet, or, if the id itself were asked for, all keys.
create function records_of_event(id text)
  returns setof enrichment_records language sql stable
  set enable_seqscan = off
  set max_parallel_workers_per_gather = 0
  as $$
    select * from enrichment_records where hashtextextended(event_id, 0) = hashtextextended(id, 0)
  $$;
