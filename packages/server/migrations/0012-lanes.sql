-- Who keeps each lane of deliveries.
-- The previous release survives this migration; while both run, its drainers are not kept from the lanes
-- that they have lost.

-- The lock of a lane (platform/postgres/locks.ts) tells who may work it now; this row tells who took it last,
-- so that whoever had it before and does not know yet claims nothing of it any more.
create table lanes (
  lane smallint not null,
  -- a drainer, as long as one session of it lives; null: nobody took the lane yet
  keeper bigint,
  -- the lane passes on when its keeper's session has said nothing for so long
  silence_seconds double precision,
  constraint lanes_pkey primary key (lane)
);
insert into lanes (lane) select generate_series(0, 63);
