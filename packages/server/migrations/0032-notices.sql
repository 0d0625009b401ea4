-- Notices: people are told of what is wrong and of what has ended, by webhook and by e-mail.
-- The previous release survives this migration: it tells nobody, and what its drainers attempt does not say since when an
-- endpoint fails.

-- Who is told, and of what.
create table notify_targets (
  id text collate "C" not null,
  -- webhook, email
  kind text not null,
  -- the URL, or the e-mail address
  address text not null,
  -- what notices are signed with, encrypted as the secrets of endpoints are; null for e-mail
  secret bytea,
  -- null = all
  kinds text[],
  -- info, warning, critical
  min_severity text not null,
  enabled boolean not null default true,
  created_by text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint notify_targets_pkey primary key (id)
);

-- Troubles, which begin and end, and events, which have ended when they are stored.
create table notices (
  id text collate "C" not null,
  kind text not null,
  -- the endpoint, job or target that it is about; '' when there is only one of its kind
  subject text collate "C" not null,
  -- the run or the verification that shows it; another one is told anew
  ref text collate "C" not null,
  severity text not null,
  tenant text collate "C",
  title text not null,
  advice text not null,
  -- where the console shows it
  place text not null,
  -- when it began, as far as is known
  since timestamptz not null,
  created_at timestamptz not null default now(),
  -- when it was told last; null while it is held back, because it may pass
  told_at timestamptz,
  -- since when a trouble is not found any more; it may only flap
  missing_since timestamptz,
  ended_at timestamptz,
  constraint notices_pkey primary key (id)
);
-- Whoever finds it a second time, tells nobody.
create unique index notices_open_idx on notices (kind, subject) where ended_at is null;
create unique index notices_event_idx on notices (kind, subject) where kind in ('export_done', 'export_failed');
-- From when on jobs that ended are looked for.
create index notices_event_since_idx on notices (since) where kind in ('export_done', 'export_failed');
create index notices_created_at_idx on notices (created_at, id);

-- What is sent to a target at once: a row of the queue, and then of the history.
create table notice_sends (
  id text collate "C" not null,
  target_id text collate "C" not null,
  -- what the notices said when they were told
  items json not null,
  -- how many more there were at that moment
  more integer not null default 0,
  is_test boolean not null default false,
  attempts integer not null default 0,
  -- null when it has ended; an attempt under way holds it back for longer than it can take
  next_attempt_at timestamptz,
  delivered boolean,
  -- of the last attempt
  error text,
  status integer,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  constraint notice_sends_pkey primary key (id)
);
create index notice_sends_due_idx on notice_sends (next_attempt_at) where next_attempt_at is not null;
create index notice_sends_target_idx on notice_sends (target_id, created_at, id);
create index notice_sends_created_at_idx on notice_sends (created_at, id);

-- When the failures in a row began; null after a success, and while none was noted.
alter table webhook_endpoints add column failing_since timestamptz;
-- The service disables it after failures for so many days; null = never.
alter table webhook_endpoints add column disable_after_days smallint;

-- Export jobs that ended lately.
create index exports_finished_at_idx on exports (finished_at) where finished_at is not null;
