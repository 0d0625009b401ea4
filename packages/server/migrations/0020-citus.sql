-- Functions that say the same of one server and of a Citus cluster.
-- The previous release survives this migration.

-- As before, for each of these rows, whether what is stored under its key has the same content; null when nothing is.
-- The rows are joined with those that are stored, and only then with all: Citus looks up no row by row.
create or replace function compare_stored(
  ordinals integer[], tenants text[], stores text[], times timestamptz[], event_ids text[], digests bigint[],
  kinds text[], sources text[], models text[], confidences text[], enrichments text[]
) returns table (ordinal integer, is_same boolean) language plpgsql stable as $$
#variable_conflict use_column
begin
  return query
  with found as materialized (
    select sent.ordinal,
      (stored.digest, stored.kind, stored.source, stored.model, stored.confidence, stored.enrichment::text)
      is not distinct from (sent.digest, sent.kind, sent.source, sent.model, sent.confidence, sent.enrichment)
      as is_same
    from unnest(ordinals, tenants, stores, times, event_ids, digests, kinds, sources, models, confidences, enrichments)
      as sent(ordinal, tenant, store, occurred_at, event_id, digest, kind, source, model, confidence, enrichment)
    join enrichment_records stored on stored.tenant = sent.tenant and stored.store = sent.store
      and stored.occurred_at = sent.occurred_at and stored.event_id = sent.event_id
  )
  select sent.ordinal, found.is_same from unnest(ordinals) as sent(ordinal) left join found using (ordinal);
end $$;

-- Whether the rows of a table lie on the workers of a cluster.
create function is_spread(name regclass) returns boolean language plpgsql stable as $$
begin
  if to_regclass('pg_catalog.pg_dist_partition') is null then
    return false;
  end if;
  return exists (select from pg_dist_partition where logicalrelid = name);
end $$;

-- The size of a table on the disk, with its indexes and large values.
create function table_bytes(name regclass) returns bigint language plpgsql stable as $$
begin
  if is_spread(name) then
    return citus_total_relation_size(name);
  end if;
  return pg_total_relation_size(name);
end $$;

-- The rows that were deleted and lie in the table still, and those that live, as far as the server has noticed.
create function table_rows(name regclass, out held bigint, out live bigint) language plpgsql stable as $$
begin
  if is_spread(name) then
    select sum(split_part(result, ' ', 1)::bigint), sum(split_part(result, ' ', 2)::bigint) into held, live
    from run_command_on_placements(name, $command$
      select pg_stat_get_dead_tuples(%1$L::regclass) || ' ' || pg_stat_get_live_tuples(%1$L::regclass)
    $command$);
  else
    held := pg_stat_get_dead_tuples(name);
    live := pg_stat_get_live_tuples(name);
  end if;
end $$;
