-- The audit log as a chain: each entry has a place, and a hash over its content and the hash of the entry before it.
-- The previous release survives this migration: the trigger links what it writes. What it prunes is told as removed.

create table audit_links (
  place bigint not null,
  -- of audit_log; no foreign key, because a link must outlive an entry that somebody removes
  entry_id bigint not null,
  hash bytea not null,
  constraint audit_links_pkey primary key (place)
);
create unique index audit_links_entry_idx on audit_links (entry_id);

-- Both ends of the chain, in one row: its newest entry, and the newest one that was pruned.
create table audit_chain (
  is_only boolean not null default true check (is_only),
  last_place bigint not null default 0,
  last_hash bytea not null default sha256(''),
  pruned_place bigint not null default 0,
  pruned_hash bytea not null default sha256(''),
  constraint audit_chain_pkey primary key (is_only)
);
insert into audit_chain default values;

-- What the hash of an entry is over: all that the entry tells. The text of before and after is kept as it was written.
create function audit_text(entry audit_log) returns text language sql stable as $$
  select json_build_array(
    entry.id, to_char(entry.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), entry.token_id,
    entry.token_name, entry.action, entry.target, entry.tenant, entry.tenants, entry.request_id,
    entry.address, entry.user_agent, entry.before, entry.after)::text
$$;

-- It runs when the transaction commits. The row of audit_chain is locked only from then on, so acts wait for one
-- another's commit alone, and none for an act that still works.
create function link_audit_entry() returns trigger language plpgsql as $$
begin
  with chain as (
    update audit_chain set last_place = last_place + 1,
      last_hash = sha256(last_hash || convert_to(audit_text(new), 'UTF8'))
    returning last_place, last_hash
  )
  insert into audit_links (place, entry_id, hash) select last_place, new.id, last_hash from chain;
  return null;
end
$$;

create constraint trigger audit_log_linked after insert on audit_log
  deferrable initially deferred for each row execute function link_audit_entry();

do $$
declare
  entry audit_log;
begin
  for entry in select * from audit_log order by at, id loop
    with chain as (
      update audit_chain set last_place = last_place + 1,
        last_hash = sha256(last_hash || convert_to(audit_text(entry), 'UTF8'))
      returning last_place, last_hash
    )
    insert into audit_links (place, entry_id, hash) select last_place, entry.id, last_hash from chain;
  end loop;
end
$$;
