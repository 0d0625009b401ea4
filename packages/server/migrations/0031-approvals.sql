-- The previous release survives this migration, with one exception to mind: it knows nothing of SVC_FOUR_EYES, so a
-- process of that release does at once what this one would have somebody else confirm.

-- What somebody has asked for that somebody else must confirm.
create table approvals (
  id text collate "C",
  -- which acts of SVC_FOUR_EYES it is
  acts text[] not null,
  -- the call: the route by the id of its contract, and its input as it was checked; no body is kept of what has ended
  route text not null,
  params json not null,
  body json,
  -- what it would do, in words that name no person, and what must not have changed until it is confirmed
  says text not null,
  about json not null,
  -- null: it concerns all tenants
  tenant text collate "C",
  asker_id text collate "C" not null,
  asker_name text not null,
  -- who stands at the beginning of the chain of makers of the asker's token: a person, or a token that the machine made
  asker_root text collate "C" not null,
  request_id text not null,
  address text,
  user_agent text,
  asked_at timestamptz not null default now(),
  expires_at timestamptz not null default now() + interval '24 hours',
  state text not null default 'waiting',
  ended_at timestamptz,
  ended_by_id text collate "C",
  ended_by_name text,
  -- the request that confirmed it, and how the act went: done, or the code of its error
  run text,
  outcome text,
  constraint approvals_pkey primary key (id),
  constraint approvals_state_check check (state in ('waiting', 'confirmed', 'rejected', 'expired', 'void'))
);
create index approvals_waiting_idx on approvals (expires_at) where state = 'waiting';
