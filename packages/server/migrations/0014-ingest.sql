-- What a statement that stores records needs so that a part takes one round trip.
-- The previous release survives this migration.

-- Fails with this SQLSTATE, which undoes all that the statement did.
create function refuse(code text) returns boolean
  language plpgsql as $$
begin
  raise exception using errcode = code, message = 'refused: ' || code;
end $$;

-- For each of these rows, whether what is stored under its key has the same content; null when nothing is. This is a
-- function because a statement that names the table locks all its partitions, whether or not it comes to read them. It
-- is stable, so that it sees what the calling statement sees.
create function compare_stored(
  ordinals integer[], tenants text[], stores text[], times timestamptz[], event_ids text[], digests bigint[],
  kinds text[], sources text[], models text[], confidences text[], enrichments text[]
) returns table (ordinal integer, is_same boolean) language plpgsql stable as $$
#variable_conflict use_column
begin
  return query
  select sent.ordinal, case when stored.event_id is not null then
      (stored.digest, stored.kind, stored.source, stored.model, stored.confidence, stored.enrichment::text)
      is not distinct from (sent.digest, sent.kind, sent.source, sent.model, sent.confidence, sent.enrichment)
    end
  from unnest(ordinals, tenants, stores, times, event_ids, digests, kinds, sources, models, confidences, enrichments)
    as sent(ordinal, tenant, store, occurred_at, event_id, digest, kind, source, model, confidence, enrichment)
  left join lateral (
    select * from enrichment_records stored
    where stored.tenant = sent.tenant and stored.store = sent.store
      and stored.occurred_at = sent.occurred_at and stored.event_id = sent.event_id
    limit 1
  ) stored on true;
end $$;
