-- Who made a token, which it expires and is revoked with; and acts that concern several tenants.
-- The previous release survives this migration: it knows none of the columns.

-- null: made on the machine that holds the database settings
alter table access_tokens add column creator_id text collate "C";
alter table access_tokens add constraint access_tokens_creator_fkey
  foreign key (creator_id) references access_tokens (id);
create index access_tokens_creator_idx on access_tokens (creator_id);
update access_tokens set creator_id = audit_log.token_id from audit_log
  where audit_log.action = 'token.create' and audit_log.target = access_tokens.id
    and exists (select from access_tokens made where made.id = audit_log.token_id);

-- set where an act concerns several tenants; then tenant is null
alter table audit_log add column tenants text[] collate "C";
update audit_log set tenants = array(
    select json_array_elements_text(coalesce(audit_log.after, audit_log.before) -> 'tenants'))
  where audit_log.action in ('token.create', 'token.revoke') and audit_log.tenant is null
    and json_typeof(coalesce(audit_log.after, audit_log.before) -> 'tenants') = 'array';
-- What was aimed at tenants beyond the actor's reach shows in the actor's own tenants instead.
update audit_log set tenant = null, tenants = made.tenants from access_tokens made
  where made.id = audit_log.token_id and audit_log.tenant <> all (made.tenants);
