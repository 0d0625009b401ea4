-- The previous release survives this migration: it stores no receipts.

-- The receipts of erasures, for as long as the database. They tell what went, and neither whose it was nor event ids.
create table erasures (
  -- that of its move, or one of its own (ers_…) where no record was found
  id text collate "C",
  tenant text collate "C" not null,
  -- as it was planned, or as it ended without a move: how far a move has got stands in the journal
  receipt jsonb not null,
  constraint erasures_pkey primary key (id)
);
